"""The check of the rails as planned: where it runs, what it holds, and what it expects of every rail."""

from __future__ import annotations

from typing import Any

import pytest
from changes import Changes
from planned_fabrics import example, plan_of

from gpu_fabric.plan import Plan

# So that a job's pod and the check's fit on a node.
SEVERAL: Changes = {"fabric.vfsPerNic": 4}


def checked(stack: str, changes: Changes | None = None) -> Plan:
    """A stack of tests/stacks with the check of its rails."""
    return plan_of(stack, {"fabric.check": {}, **(changes or {})})


def daemon(plan: Plan) -> dict[str, Any]:
    (found,) = (entry.object.manifest() for entry in plan.applied("check") if entry.object.kind == "DaemonSet")
    return found


def container(plan: Plan) -> dict[str, Any]:
    (only,) = daemon(plan)["spec"]["template"]["spec"]["containers"]
    found: dict[str, Any] = only
    return found


def told(plan: Plan) -> dict[str, str]:
    return {entry["name"]: entry.get("value", "") for entry in container(plan)["env"]}


def rails(plan: Plan) -> list[str]:
    """A line a rail: number, interface, network, addresses, router, device, link layer, MTU."""
    return told(plan)["RAILS"].splitlines()


def test_without_being_asked_there_is_no_check() -> None:
    assert plan_of("spiderpool-macvlan").applied("check") == ()


@pytest.mark.parametrize(
    ("stack", "changes", "last"),
    [
        ("spiderpool-macvlan", {}, "7 net8 rail-07 172.16.7.0/24 172.16.7.254 shared ether 9000"),
        ("spiderpool-ipoib", {}, "7 net8 rail-07 172.17.112.0/20 - - infiniband -"),
        # All rails of such a fabric lie in one subnet.
        ("spiderpool-ib", {}, "7 net8 rail-07 172.17.0.0/16 - own infiniband -"),
        ("roce-macvlan", {}, "7 net8 rail-07 192.168.112.0/20 - shared ether 4220"),
        ("oke-h100-26-4", SEVERAL, "15 net16 rail-15 192.168.240.0/20 - own ether 4220"),
        # The pool for all rails serves whichever NIC comes.
        (
            "oke-h100-26-4",
            {**SEVERAL, "fabric.addressing.layout": "flat"},
            "15 net16 rdma-fabric 192.168.0.0/16 - own ether 4220",
        ),
    ],
)
def test_a_rail_is_expected_as_its_model_makes_it(stack: str, changes: Changes, last: str) -> None:
    assert last in rails(checked(stack, changes))[-1]


def test_every_rail_has_a_line_in_the_order_of_the_pods_interfaces() -> None:
    plan = checked("spiderpool-macvlan")

    assert [line.split()[:3] for line in rails(plan)] == [
        [str(place), network.interface, network.network] for place, network in enumerate(plan.workload.networks)
    ]


def test_with_prefixes_of_their_own_nodes_hold_addresses_of_the_rails_range_and_routers_of_their_own() -> None:
    assert rails(example("spiderpool-sriov"))[7] == "7 net8 rail-07 172.17.7.0/24 - own ether 4200"


def test_on_infiniband_no_router_is_asked_for() -> None:
    plan = checked("spiderpool-ib", {"fabric.addressing.gateway": "first"})

    assert {line.split()[4] for line in rails(plan)} == {"-"}


@pytest.mark.parametrize(
    ("stack", "changes", "routes"),
    [
        ("spiderpool-macvlan", {}, "yes"),
        ("oke-h100-26-4", SEVERAL, "yes"),
        ("spiderpool-ib", {}, "no"),
    ],
)
def test_routes_by_source_are_looked_for_where_something_makes_them(stack: str, changes: Changes, routes: str) -> None:
    assert told(checked(stack, changes))["ROUTES"] == routes


def test_its_pods_attach_like_a_jobs_and_take_one_device_of_every_rail_but_no_gpu() -> None:
    plan = checked("spiderpool-macvlan")
    job, template = plan.workload, daemon(plan)["spec"]["template"]

    devices = {f"spidernet.io/rail_{rail:02d}": "1" for rail in range(8)}
    assert template["metadata"]["annotations"] == job.annotations
    assert container(plan)["resources"] == {"requests": devices, "limits": devices}
    assert job.resources == {"nvidia.com/gpu": "8", **devices}


def test_where_no_device_is_advertised_it_asks_for_none() -> None:
    assert "resources" not in container(checked("spiderpool-ipoib"))


def test_it_runs_on_the_nodes_of_jobs_in_spite_of_their_taints_and_unprivileged() -> None:
    plan = checked("oke-h100-26-4", SEVERAL)
    template = daemon(plan)["spec"]["template"]["spec"]

    assert template["nodeSelector"] == plan.workload.node_selector
    assert [entry["key"] for entry in template["tolerations"]] == ["nvidia.com/gpu"]
    assert "hostNetwork" not in template
    assert container(plan)["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_where_no_label_tells_the_gpu_nodes_those_with_nvidias_nics_are_checked() -> None:
    template = daemon(checked("spiderpool-macvlan"))["spec"]["template"]["spec"]

    assert template["nodeSelector"] == {"feature.node.kubernetes.io/pci-15b3.present": "true"}


def test_it_lies_in_the_first_namespace_that_the_fabric_is_offered_in() -> None:
    plan = checked("spiderpool-macvlan", {"fabric.namespaces": ["jobs", "more"]})

    assert {entry.object.metadata.namespace for entry in plan.applied("check")} == {"jobs"}


def test_its_image_is_the_lines_or_the_stacks_own() -> None:
    own = checked("spiderpool-macvlan", {"fabric.check": {"image": "mirror.example/rdma-tools:1"}})

    assert container(checked("spiderpool-macvlan"))["image"] == "ghcr.io/spidernet-io/rdma-tools:light-v12.5.8"
    assert container(own)["image"] == "mirror.example/rdma-tools:1"


def test_its_script_comes_whole_in_a_config_map_that_its_pods_mount_and_is_its_readiness() -> None:
    plan = checked("spiderpool-macvlan")
    files = plan.applied("check")[0].object.manifest()
    (volume,) = daemon(plan)["spec"]["template"]["spec"]["volumes"]

    assert volume["configMap"]["name"] == files["metadata"]["name"]
    assert files["data"]["fabric_check.sh"].startswith("#!/bin/sh\n")
    assert container(plan)["command"] == ["/bin/sh", "/script/fabric_check.sh", "watch"]
    assert container(plan)["readinessProbe"]["exec"]["command"] == ["/bin/sh", "/script/fabric_check.sh", "check"]
