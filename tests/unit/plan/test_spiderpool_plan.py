"""The Spiderpool guides' clusters as planned, and what a node more or another node in its place changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from planned_fabrics import example

from gpu_fabric.plan import Plan
from gpu_fabric.plan.records import PlannedGroup, PlannedWait
from gpu_fabric.resources import resources

Json = dict[str, Any]


@pytest.fixture(scope="module")
def macvlan() -> Plan:
    return example("spiderpool-macvlan")


@pytest.fixture(scope="module")
def sriov() -> Plan:
    return example("spiderpool-sriov")


def specs(plan: Plan, kind: str) -> dict[str, Json]:
    return {entry.name: entry.object.manifest()["spec"] for entry in plan.objects if entry.object.kind == kind}


def table(plan: Plan, rail: int) -> dict[str, str]:
    """What the hosts are told of a rail, by their names."""
    name = f"host-addresses-{plan.addresses.pools[rail].name}"
    (found,) = (entry.object.manifest()["data"] for entry in plan.objects if entry.name == name)
    lines: dict[str, str] = found
    return lines


def test_the_macvlan_guides_resources_are_eight_with_a_hundred_each(macvlan: Plan) -> None:
    assert macvlan.release("spiderpool") is not None
    values: Any = macvlan.release("spiderpool").values
    plugin = values["rdma"]["rdmaSharedDevicePlugin"]
    names = [f"shared_cx5_gpu{number}" for number in range(1, 9)]

    assert plugin["install"] is True
    assert [
        (row["resourcePrefix"], row["resourceName"], row["rdmaHcaMax"]) for row in plugin["deviceConfig"]["configList"]
    ] == [("spidernet.io", name, 100) for name in names]
    assert macvlan.workload.resources == {"nvidia.com/gpu": "8"} | {f"spidernet.io/{name}": "1" for name in names}


def test_the_macvlan_guides_pools_have_the_first_two_hundred_addresses_and_the_router_at_the_end(macvlan: Plan) -> None:
    assert list(specs(macvlan, "SpiderIPPool").values()) == [
        {
            "subnet": f"172.16.{part}.0/24",
            "ipVersion": 4,
            "ips": [f"172.16.{part}.1-172.16.{part}.200"],
            "gateway": f"172.16.{part}.254",
        }
        for part in range(11, 19)
    ]


def test_the_macvlan_guides_networks_each_have_their_master_pool_and_resource(macvlan: Plan) -> None:
    found = specs(macvlan, "SpiderMultusConfig")

    assert list(found) == [f"gpu{number}-macvlan" for number in range(1, 9)]
    assert found["gpu8-macvlan"] == {
        "cniType": "macvlan",
        "macvlan": {
            "master": ["enp18s0f0np0"],
            "mtu": 4200,
            "rdmaResourceName": "spidernet.io/shared_cx5_gpu8",
            "ippools": {"ipv4": ["gpu8-macvlan"]},
        },
    }


def test_the_macvlan_guides_hosts_hold_addresses_that_no_pod_gets(macvlan: Plan) -> None:
    assert table(macvlan, 0) == {
        "worker1": "enp11s0f0np0 172.16.11.201/24 172.16.11.254",
        "worker2": "enp11s0f0np0 172.16.11.202/24 172.16.11.254",
    }
    assert specs(macvlan, "SpiderReservedIP")["gpu1-macvlan"]["ips"] == ["172.16.11.201-172.16.11.254"]


def test_the_exclusive_guides_64_pools_are_its_prefixes_with_28_addresses_each(sriov: Plan) -> None:
    pools = specs(sriov, "SpiderIPPool")

    assert len(pools) == 64
    assert {
        name: pools[name]["subnet"] for name in ("rail-00-node-0000", "rail-00-node-0007", "rail-07-node-0007")
    } == {
        "rail-00-node-0000": "172.17.0.0/27",
        "rail-00-node-0007": "172.17.0.224/27",
        "rail-07-node-0007": "172.17.7.224/27",
    }
    last = pools["rail-07-node-0007"]
    assert (last["ips"], last["gateway"], last["nodeName"]) == (
        ["172.17.7.227-172.17.7.254"],
        "172.17.7.225",
        ["node8"],
    )


def test_the_exclusive_guides_nodes_reach_all_rails_by_the_gateway_of_the_first_alone(sriov: Plan) -> None:
    routes = {name: pool["routes"] for name, pool in specs(sriov, "SpiderIPPool").items() if "routes" in pool}

    assert routes == {
        f"rail-00-node-{number:04d}": [{"dst": "172.17.0.0/21", "gw": f"172.17.0.{32 * number + 1}"}]
        for number in range(8)
    }


def test_the_exclusive_guides_hosts_hold_the_second_address_of_their_prefix(sriov: Plan) -> None:
    interface = sriov.rails[0].interface

    assert table(sriov, 0)["node1"] == f"{interface} 172.17.0.2/27 172.17.0.1"
    assert table(sriov, 7)["node8"] == f"{sriov.rails[7].interface} 172.17.7.226/27 172.17.7.225"


def test_the_exclusive_guides_pods_find_their_prefix_by_the_hosts_address(sriov: Plan) -> None:
    assert specs(sriov, "SpiderMultusConfig")["rail-07"] == {
        "cniType": "sriov",
        "sriov": {
            "resourceName": "spidernet.io/rail_07",
            "mtu": 4200,
            "rdmaIsolation": True,
            "ippools": {"ipv4": ["rail-07-node-*"], "matchMasterSubnet": True},
        },
    }


def test_virtual_functions_are_made_by_the_sr_iov_operator_of_spiderpools_own_chart(sriov: Plan) -> None:
    policies = [entry.object.manifest() for entry in sriov.applied("sriov-pool", "sriov-policies")]
    assert sriov.release("spiderpool") is not None
    operator: Any = sriov.release("spiderpool").values["sriov"]

    assert operator["install"] is True
    assert {policy["metadata"]["namespace"] for policy in policies} == {"spiderpool"}
    # This operator knows no RDMA mode; the nodes are prepared for it.
    assert "rdmaMode" not in policies[0]["spec"]
    assert [(policy["spec"]["resourceName"], policy["spec"]["numVfs"]) for policy in policies[1:]] == [
        (f"rail_{rail:02d}", 12) for rail in range(8)
    ]
    assert sriov.record(PlannedWait, "sriov-discovered") is not None
    assert sriov.record(PlannedWait, "sriov-discovered").namespace == "spiderpool"


def test_the_operators_webhook_is_off_where_no_node_could_run_it() -> None:
    fabric = {"manager": "spiderpool", "model": "sriov", "addressing": {"supernet": "172.16.0.0/16"}}
    plan = example("oke-h100", {"fabric": fabric, "software.releaseLine": "26.4"})
    assert plan.release("spiderpool") is not None
    operator: Any = plan.release("spiderpool").values["sriov"]

    assert operator["operatorConfig"]["enableOperatorWebhook"] is False
    assert plan.record(PlannedWait, "sriov-discovered") is not None
    assert plan.record(PlannedWait, "sriov-discovered").served_by is None


@pytest.mark.parametrize(("written", "served_by"), [({}, "operator-webhook"), ({"enableOperatorWebhook": False}, None)])
def test_policies_wait_for_a_pod_of_the_operators_webhook_where_it_is_on(
    written: dict[str, bool], served_by: str | None
) -> None:
    values = {"sriov": {"operatorConfig": written}}
    plan = example("spiderpool-sriov", {"software.spiderpool.values": values} if written else {})

    waits = (plan.record(PlannedWait, "sriov-discovered"), plan.record(PlannedWait, "sriov"))
    assert [wait and wait.served_by for wait in waits] == [served_by, None]


def test_functions_that_the_cloud_makes_are_advertised_without_draining_any_node() -> None:
    plan = example("spiderpool-sriov", {"fabric.virtualFunctions": "externally-managed"})
    assert plan.release("spiderpool") is not None
    operator: Any = plan.release("spiderpool").values["sriov"]
    policies = [entry.object.manifest()["spec"] for entry in plan.applied("sriov-pool", "sriov-policies")[1:]]

    assert operator["operatorConfig"]["disableDrain"] is True
    assert {policy["externallyManaged"] for policy in policies} == {True}


def test_the_infiniband_guides_rails_have_one_subnet_and_disjoint_addresses() -> None:
    pools = specs(example("spiderpool-ib"), "SpiderIPPool").values()

    assert [(pool["subnet"], pool["ips"]) for pool in pools] == [
        ("172.17.0.0/16", [f"172.17.{16 * rail}.1-172.17.{16 * rail + 15}.254"]) for rail in range(8)
    ]


def exclusive(names: list[str]) -> Plan:
    """Exclusive subnets for named nodes, with room for 128."""
    return example(
        "spiderpool-sriov",
        {
            "cluster.pools[0].nodes": len(names),
            "cluster.pools[0].nodeNames": names,
            "fabric.addressing.supernet": "172.16.0.0/15",
            "fabric.addressing.prefixLength": 20,
        },
    )


NAMES = [f"gpu-{number}" for number in range(32)]


@pytest.fixture(scope="module")
def of_32() -> Plan:
    return exclusive(NAMES)


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every value inside a value, with the path to it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{path}/{key}")
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from leaves(inner, f"{path}/{place}")
    else:
        yield path, value


def changes_of(before: Plan, after: Plan) -> dict[str, dict[str, Any]]:
    """What differs in the objects of each rail: by path the new value, or None where there is none."""
    assert [group.cut for group in before.records(PlannedGroup, "node-pools")] == [
        group.cut for group in after.records(PlannedGroup, "node-pools")
    ]
    old, new = (
        {group.name: dict(leaves(group.manifests)) for group in plan.records(PlannedGroup, "node-pools")}
        for plan in (before, after)
    )
    assert old.keys() == new.keys()
    return {
        name: {
            path: new[name].get(path)
            for path in {**old[name], **new[name]}
            if old[name].get(path) != new[name].get(path)
        }
        for name in old
    }


def everything_else(plan: Plan) -> list[Any]:
    grouped = {id(entry) for entry in plan.applied("ip-pools", "node-pools")}
    objects = [entry.model_dump(mode="json") for entry in plan.objects if id(entry) not in grouped]
    return [objects, [release.model_dump(mode="json") for release in plan.releases]]


def test_a_node_of_another_name_keeps_its_place_and_changes_nothing_but_the_name_it_is_bound_to(of_32: Plan) -> None:
    replaced = exclusive([*NAMES[:3], "repaired", *NAMES[4:]])

    for rail, changes in enumerate(changes_of(of_32, replaced).values()):
        pool, hosts = (
            f"/SpiderIPPool/rail-{rail:02d}-node-0003",
            f"/ConfigMap/host-addresses-rail-{rail:02d}",
        )
        line = table(of_32, rail)["gpu-3"]
        assert changes == {
            f"{pool}/spec/nodeName/0": "repaired",
            f"{hosts}/data/gpu-3": None,
            f"{hosts}/data/repaired": line,
        }
    assert everything_else(replaced) == everything_else(of_32)


def test_a_node_more_is_one_pool_and_one_line_more_a_rail_and_changes_nothing_else(of_32: Plan) -> None:
    larger = exclusive([*NAMES, "gpu-32"])

    for rail, changes in enumerate(changes_of(of_32, larger).values()):
        assert {path.split("/")[2] for path in changes} == {
            f"rail-{rail:02d}-node-0032",
            f"host-addresses-rail-{rail:02d}",
        }
        assert [path for path in changes if "ConfigMap" in path] == [
            f"/ConfigMap/host-addresses-rail-{rail:02d}/data/gpu-32"
        ]
    assert everything_else(larger) == everything_else(of_32)
    assert (of_32.workload.nodes, larger.workload.nodes) == (32, 33)
    assert larger.workload.model_copy(update={"nodes": 32}) == of_32.workload


def test_every_rail_says_how_its_prefixes_are_cut_since_no_pool_may_change_its_subnet(of_32: Plan) -> None:
    cut = example("spiderpool-sriov")

    assert [group.cut for group in of_32.records(PlannedGroup, "node-pools")[:2]] == [
        "172.16.0.0/20 /27",
        "172.16.16.0/20 /27",
    ]
    assert [group.cut for group in cut.records(PlannedGroup, "node-pools")[:2]] == [
        "172.17.0.0/24 /27",
        "172.17.1.0/24 /27",
    ]


def test_a_reservation_is_deleted_in_the_background_and_nothing_else_is(macvlan: Plan) -> None:
    """Spiderpool's webhook lets no finalizer be taken from it, as foreground deletion would have to."""
    policy = "pulumi.com/deletionPropagationPolicy"
    said = {
        resource.properties["kind"]: resource.properties["metadata"].get("annotations", {}).get(policy)
        for resource in resources(macvlan)
        if resource.type.startswith("kubernetes:") and "kind" in resource.properties
    }
    assert {kind for kind, value in said.items() if value is not None} == {"SpiderReservedIP"}
    assert said["SpiderReservedIP"] == "background"
