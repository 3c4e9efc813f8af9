"""Spiderpool's webhook for pods: which networks and resources one annotation brings."""

from __future__ import annotations

from typing import Any

import pytest
from played_objects import Object

from sandbox.hardware.spider_checks import RefusedError
from sandbox.hardware.spider_defaults import with_defaults
from sandbox.hardware.spider_injection import injected

GROUP = "cni.spidernet.io/rdma-resource-inject"
ANY_GROUP = "cni.spidernet.io/network-resource-inject"
NETWORKS = "k8s.v1.cni.cncf.io/networks"


def network(
    name: str, kind: str = "macvlan", namespace: str = "spiderpool", key: str = GROUP, **section: Any
) -> Object:
    resource = "rdmaResourceName" if kind == "macvlan" else "resourceName"
    whole = {} if kind == "ipoib" else {resource: f"spidernet.io/{name}"}
    master = {"macvlan": {"master": [name]}, "ipoib": {"master": name}}.get(kind, {})
    metadata = {"name": name, "namespace": namespace, "annotations": {key: "fabric"}}
    spec = {"cniType": kind, kind.replace("-", ""): {**master, **whole, **section}}
    return with_defaults({"kind": "SpiderMultusConfig", "metadata": metadata, "spec": spec})


def pod(*containers: Object, **annotations: str) -> Object:
    keys = {"group": GROUP, "any_group": ANY_GROUP, "networks": NETWORKS}
    metadata = {"annotations": {keys[key]: value for key, value in annotations.items()}}
    return {"metadata": metadata, "spec": {"containers": list(containers or ({"name": "c"},))}}


def attached(made: Object) -> str:
    return str(made["metadata"]["annotations"][NETWORKS])


def limits(made: Object) -> list[Object]:
    return [container.get("resources", {}).get("limits", {}) for container in made["spec"]["containers"]]


def test_a_pod_gets_every_network_of_its_group_from_all_namespaces() -> None:
    made = injected(pod(group="fabric"), {}, [network("rail-1", namespace="b"), network("rail-0", namespace="c")])
    assert attached(made) == "c/rail-0,b/rail-1"


def test_networks_are_sorted_by_interface_as_text_so_ten_comes_before_two() -> None:
    made = injected(pod(group="fabric"), {}, [network("gpu2"), network("gpu10"), network("gpu1")])
    assert attached(made) == "spiderpool/gpu1,spiderpool/gpu10,spiderpool/gpu2"


def test_a_bonds_name_and_a_functions_resource_count_and_infiniband_goes_by_its_own_name() -> None:
    bonded = network("zz", bond={"name": "a-bond", "mode": 1})
    functions = [network("m", "sriov"), network("b", "sriov", resourceName="a/0")]
    named = [network("q", "ib-sriov", resourceName="a/1"), network("p", "ipoib", master="z9")]
    made = injected(pod(group="fabric"), {}, [*named, *functions, bonded])
    assert attached(made) == "spiderpool/zz,spiderpool/b,spiderpool/m,spiderpool/p,spiderpool/q"


def test_the_first_container_gets_one_of_each_resource() -> None:
    made = injected(pod({"name": "a"}, {"name": "b"}, group="fabric"), {}, [network("gpu1"), network("gpu2")])
    assert limits(made) == [{"spidernet.io/gpu1": "1", "spidernet.io/gpu2": "1"}, {}]


def test_a_resource_that_any_container_limits_is_not_added_and_other_limits_stay() -> None:
    first = {"name": "a", "resources": {"limits": {"nvidia.com/gpu": "8"}}}
    second = {"name": "b", "resources": {"limits": {"spidernet.io/gpu1": "2"}}}
    made = injected(pod(first, second, group="fabric"), {}, [network("gpu1"), network("gpu2")])
    assert limits(made) == [{"nvidia.com/gpu": "8", "spidernet.io/gpu2": "1"}, {"spidernet.io/gpu1": "2"}]


def test_ipoib_brings_a_network_and_no_resource() -> None:
    made = injected(pod(group="fabric"), {}, [network("ib0", "ipoib")])
    assert (attached(made), limits(made)) == ("spiderpool/ib0", [{}])


def test_networks_that_the_pod_names_itself_are_overwritten() -> None:
    assert attached(injected(pod(group="fabric", networks="own"), {}, [network("gpu1")])) == "spiderpool/gpu1"


def test_a_pod_whose_group_has_no_network_is_refused() -> None:
    with pytest.raises(RefusedError, match="no SpiderMultusConfig"):
        injected(pod(group="other"), {}, [network("gpu1")])


def test_the_group_with_resources_is_looked_at_before_the_other_and_the_pod_before_its_namespace() -> None:
    networks = [network("gpu1"), network("gpu2", key=ANY_GROUP)]
    assert attached(injected(pod(group="fabric", any_group="fabric"), {}, networks)) == "spiderpool/gpu1"
    assert attached(injected(pod(any_group="fabric"), {GROUP: "fabric"}, networks)) == "spiderpool/gpu2"
    assert attached(injected(pod(), {ANY_GROUP: "fabric"}, networks)) == "spiderpool/gpu2"


def test_a_pod_that_asks_for_nothing_stays_as_it_is() -> None:
    plain = pod(networks="own")
    assert injected(plain, {}, [network("gpu1")]) == plain
