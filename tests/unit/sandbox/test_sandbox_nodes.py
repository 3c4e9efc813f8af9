"""Simulated nodes follow the stack's pools, and nothing but them."""

from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

from gpu_fabric.catalog import catalog
from gpu_fabric.spec.load import load_stack
from gpu_fabric.spec.stack import StackSpec
from sandbox.hardware.inventory import devices_of
from sandbox.kubernetes_api import Api, ApiError
from sandbox.simulated_nodes import CLIQUE_ANNOTATION, RDMA_MODE_ANNOTATION, desired_nodes, reconcile_nodes

POOL = {"name": "gpu", "shape": "BM.GPU.H100.8", "nodes": 2, "labels": {"team": "a"}}


class FakeApi(Api):
    """Keeps nodes and pods by path, as the API server would."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.writes: list[str] = []

    def request(self, method: str, path: str, body: Any = None, kind: str = "") -> dict[str, Any]:
        place = urlsplit(path)
        if method == "GET":
            items = [value for key, value in self.objects.items() if key.startswith(f"{place.path}/")]
            if "fieldSelector" in parse_qs(place.query):
                node = parse_qs(place.query)["fieldSelector"][0].partition("=")[2]
                items = [value for key, value in self.objects.items() if "/pods/" in key and value["node"] == node]
            return {"items": items}
        self.writes.append(f"{method} {place.path}")
        if method == "DELETE":
            if place.path not in self.objects:
                raise ApiError(404, "not found")
            del self.objects[place.path]
            return {}
        target = self.objects.setdefault(place.path.removesuffix("/status"), {})
        target.update({key: value for key, value in body.items() if key != "metadata" or "labels" in value})
        return target


def _spec(
    tmp_path: Path, *pools: dict[str, Any], shapes: dict[str, Any] | None = None, fabric: dict[str, Any] | None = None
) -> StackSpec:
    cluster = {"provider": "existing", "kubeconfig": "k", "shapes": shapes or {}, "pools": list(pools)}
    config: dict[str, dict[str, Any]] = {
        "gpu-fabric:cluster": cluster,
        "gpu-fabric:fabric": {"model": "sriov", "manager": "network-operator", **(fabric or {})},
        "gpu-fabric:software": {"releaseLine": "26.4"},
    }
    config["gpu-fabric:fabric"]["addressing"] = {"layout": "per-rail", "supernet": "192.168.0.0/16"}
    (tmp_path / "Pulumi.try.yaml").write_text(yaml.safe_dump({"config": config}))
    return load_stack("try", tmp_path)


@pytest.fixture
def api() -> FakeApi:
    return FakeApi()


def test_a_node_has_the_gpus_taints_and_pages_of_the_machine_that_it_plays(tmp_path: Path) -> None:
    for shape, vendor in (("BM.GPU.H100.8", "nvidia"), ("BM.GPU.MI300X.8", "amd")):
        node = desired_nodes(_spec(tmp_path, {**POOL, "shape": shape}))[1]
        assert node["spec"]["taints"] == [{"key": f"{vendor}.com/gpu", "value": "present", "effect": "NoSchedule"}]
        # No fabric's resource by itself, and pages for pods with DPDK.
        found = {name: amount for name, amount in node["status"]["capacity"].items() if "/" in name}
        assert found == {f"{vendor}.com/gpu": "8"}
        assert {"hugepages-1Gi", "hugepages-2Mi"} <= set(node["status"]["capacity"])


@pytest.mark.parametrize(
    ("shape", "link", "names"),
    [
        ("server.dgx-h100.8", "infiniband", ["ibp24s0", "ibp64s0"]),
        ("server.dgx-h100.8", "ether", ["enp24s0np0", "enp64s0np0"]),
        ("server.dgx-a100.8", "infiniband", ["ibp12s0", "ibp18s0"]),
        ("server.dgx-a100.8", "ether", ["sim0", "sim1"]),
    ],
)
def test_a_nodes_ports_are_of_the_stacks_link_type_and_named_by_it(
    tmp_path: Path, shape: str, link: str, names: list[str]
) -> None:
    node = desired_nodes(_spec(tmp_path, {**POOL, "shape": shape}, fabric={"model": "host-device", "linkType": link}))
    devices = devices_of(node[1]["metadata"]["annotations"])
    rails = [nic for nic in devices if nic.pci in {entry.pci for entry in catalog().shapes[shape].nics}]

    assert [nic.interface for nic in rails[:2]] == names
    assert {nic.link_type for nic in rails} == {link}


def test_a_shape_of_ones_own_is_simulated_as_it_is_written(tmp_path: Path) -> None:
    nic = {"pci": "0000:81:00.0", "interface": "ib0", "rdmaDevice": "mlx5_0"}
    own = {"gpus": {"vendor": "nvidia", "count": 2}, "nicModel": {"linkType": "infiniband"}, "nics": [nic]}

    node = desired_nodes(_spec(tmp_path, {**POOL, "shape": "mine"}, shapes={"mine": own}))[1]

    assert node["status"]["capacity"]["nvidia.com/gpu"] == "2"
    assert [device.pci for device in devices_of(node["metadata"]["annotations"])] == ["ffff:00:00.0", "0000:81:00.0"]


def test_the_nodes_of_a_rack_are_of_one_clique_and_others_of_none(tmp_path: Path) -> None:
    racks = [{"name": name, "shape": "BM.GPU.GB300.4", "nodes": 20} for name in ("a", "b")]
    nodes = desired_nodes(_spec(tmp_path, *racks, POOL))
    cliques = Counter(node["metadata"]["annotations"].get(CLIQUE_ANNOTATION) for node in nodes)
    # two nodes of the pool `gpu`, and the CPU node
    assert cliques.pop(None) == 3
    assert sorted(cliques.values()) == [2, 2, 18, 18]
    assert len({clique.partition(".")[0] for clique in cliques if clique}) == 2


SPIDERPOOL = {"manager": "spiderpool"}
MODE = {"hostPreparation": {"rdmaMode": True}}


@pytest.mark.parametrize(
    ("fabric", "at_start"),
    [
        ({"virtualFunctions": "node-image"}, (16, "exclusive")),
        ({"virtualFunctions": "externally-managed"}, (16, "exclusive")),
        ({"virtualFunctions": "sriov-operator"}, (0, "shared")),
        ({"virtualFunctions": "daemon-set"}, (0, "shared")),
        (SPIDERPOOL, (0, "exclusive")),
        ({**SPIDERPOOL, **MODE}, (0, "shared")),
        ({**SPIDERPOOL, "virtualFunctions": "externally-managed"}, (16, "exclusive")),
        ({**SPIDERPOOL, **MODE, "virtualFunctions": "externally-managed"}, (16, "shared")),
    ],
)
def test_a_node_joins_with_what_its_image_makes_and_nothing_that_the_stack_makes(
    tmp_path: Path, fabric: dict[str, Any], at_start: tuple[int, str]
) -> None:
    node = desired_nodes(_spec(tmp_path, POOL, fabric={"rdmaMode": "exclusive", **fabric}))[1]
    annotations = node["metadata"]["annotations"]
    virtual = [device for device in devices_of(annotations) if device.is_vf]
    assert (len(virtual), annotations[RDMA_MODE_ANNOTATION]) == at_start


def test_a_node_that_another_stack_has_configured_starts_anew(tmp_path: Path) -> None:
    first, second = (
        desired_nodes(_spec(tmp_path, POOL, fabric={"virtualFunctions": made_by}))[1]["metadata"]["annotations"]
        for made_by in ("daemon-set", "sriov-operator")
    )

    assert first["sandbox.gpu-fabric/definition"] != second["sandbox.gpu-fabric/definition"]


def test_a_pool_called_system_keeps_its_node_names(tmp_path: Path) -> None:
    names = [node["metadata"]["name"] for node in desired_nodes(_spec(tmp_path, {**POOL, "name": "system"}))]

    assert names == ["system-cpu", "system-0", "system-1"]


def test_nodes_come_change_and_go_with_the_pools_and_their_pods_and_taints_of_kubernetes_stay(
    api: FakeApi, tmp_path: Path
) -> None:
    nodes = desired_nodes(_spec(tmp_path, POOL))
    assert str(reconcile_nodes(api, nodes)) == "3 added"
    api.writes.clear()
    assert not reconcile_nodes(api, nodes)
    assert api.writes == []
    api.objects["/api/v1/namespaces/a/pods/b"] = {"metadata": {"namespace": "a", "name": "b"}, "node": "gpu-1"}
    unreachable = {"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}
    api.objects["/api/v1/nodes/gpu-0"]["spec"]["taints"].append(unreachable)

    changes = reconcile_nodes(api, desired_nodes(_spec(tmp_path, {**POOL, "nodes": 1, "labels": {"team": "b"}})))

    assert (changes.added, changes.updated, changes.removed) == ((), ("gpu-0",), ("gpu-1",))
    assert set(api.objects) == {"/api/v1/nodes/system-0", "/api/v1/nodes/gpu-0"}
    taints = api.objects["/api/v1/nodes/gpu-0"]["spec"]["taints"]
    assert [taint["key"] for taint in taints] == ["nvidia.com/gpu", "node.kubernetes.io/unreachable"]
