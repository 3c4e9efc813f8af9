"""Addresses of stacks with several pools of nodes, and of nodes that several pods share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from planned_addresses import Json, answer

from gpu_fabric.plan import Plan
from gpu_fabric.plan.addresses import AddressPlan
from gpu_fabric.plan.ipam import node_pools

PlanWith = Callable[[Any], Plan]


def pinned_pools(plan_with: PlanWith, first_pool: int) -> Plan:
    """Two pools of named nodes with a prefix each; the second starts at share 32."""

    def pool(name: str, nodes: int, **more: Any) -> Json:
        names = [f"{name}-{node}" for node in range(nodes)]
        return {"name": name, "shape": "BM.GPU.H100.8", "nodes": nodes, "nodeNames": names, **more}

    pools = [pool("left", first_pool), pool("right", 3, firstShare=32)]
    section = {"layout": "per-node", "supernet": "192.168.0.0/16", "nodePrefixLength": 30}
    return plan_with({"cluster.pools": pools, "fabric.addressing": section})


def test_a_pool_with_a_share_of_its_own_to_start_from_stays_when_another_grows(plan_with: PlanWith) -> None:
    def prefixes(plan: Plan) -> dict[str, str]:
        allocations = plan.applied("ip-pools")[0].object.manifest()["spec"]["staticAllocations"]
        return {entry["nodeName"]: entry["prefix"] for entry in allocations}

    small, large = prefixes(pinned_pools(plan_with, 2)), prefixes(pinned_pools(plan_with, 30))

    assert small["right-0"] == "192.168.0.128/30"
    assert {name: large[name] for name in small} == small


def test_the_shares_between_two_pools_count_as_taken(plan_with: PlanWith) -> None:
    plan = pinned_pools(plan_with, 2)

    assert plan.addresses.with_shares().pools[0].shares[1:3] == ("192.168.0.4/30", "192.168.0.128/30")
    assert plan.addresses.proof.growth.steps == 1024 - 35


def test_the_addresses_of_a_nodes_nics_lie_in_the_share_that_its_pool_starts_from(plan_with: PlanWith) -> None:
    assert str(pinned_pools(plan_with, 2).addresses.nic_address(2, 0)) == "192.168.0.129"


def test_a_pool_without_a_first_share_comes_after_the_furthest_of_those_before_it(plan_with: PlanWith) -> None:
    shares = {"far": 32, "near": 0, "rest": None}
    pools = [
        {"name": name, "shape": "BM.GPU.H100.8", "nodes": 2, "nodeNames": [f"{name}-0", f"{name}-1"]}
        | ({} if first is None else {"firstShare": first})
        for name, first in shares.items()
    ]
    section = {"layout": "per-node", "supernet": "192.168.0.0/16", "nodePrefixLength": 30}
    plan = plan_with({"cluster.pools": pools, "fabric.addressing": section})

    assert [number for number, _ in plan.addresses.numbered_nodes] == [32, 33, 0, 1, 34, 35]


def test_where_one_pool_names_no_nodes_no_prefix_is_bound_to_a_name(plan_with: PlanWith) -> None:
    pools = [{"name": name, "shape": "BM.GPU.H100.8", "nodes": 2} for name in ("named", "unnamed")]
    pools[0]["nodeNames"] = ["gpu-a", "gpu-b"]
    plan = plan_with({"cluster.pools": pools, "fabric.addressing.layout": "per-node"})

    assert {"staticAllocations"} & set(plan.applied("ip-pools")[0].object.manifest()["spec"]) == set()


@pytest.mark.parametrize(
    ("changes", "block"),
    [
        ({"fabric.vfsPerNic": 4}, 4),
        ({"fabric.model": "host-device", "fabric.vfsPerNic": 0}, 1),
        ({"fabric.model": "macvlan"}, 1),
        ({"fabric.model": "macvlan", "fabric.podsPerNic": 3}, 3),
    ],
)
def test_a_nodes_share_holds_an_address_for_every_pod_that_a_nic_can_serve(
    plan_with: PlanWith, changes: Json, block: int
) -> None:
    assert plan_with(changes).addresses.pools[0].addresses_per_node == block


def of_spiderpool(section: Json, **demand: Any) -> list[Json]:
    """Spiderpool's pools of the first rail, one a node."""
    plan = answer(section, {"layout": "per-node", "ipam": "spiderpool", **demand})
    assert isinstance(plan, AddressPlan), plan
    return [entry.object.manifest() for entry in node_pools(plan)[0][1]]


def test_the_first_pool_is_that_of_the_share_that_the_nodes_start_from() -> None:
    section = {"supernet": "172.17.0.0/20", "nodePrefixLength": 27, "gateway": "first"}
    first, second, _ = of_spiderpool(section, rails=1, nodes=3, node_names=("a", "b", "c"), node_numbers=(4, 5, 6))

    assert (first["metadata"]["name"], first["spec"]["subnet"], first["spec"]["gateway"], first["spec"]["ips"]) == (
        "rail-00-node-0004",
        "172.17.0.128/27",
        "172.17.0.129",
        ["172.17.0.130-172.17.0.158"],
    )
    assert first["spec"]["nodeName"] == ["a"]
    assert (second["spec"]["subnet"], second["spec"]["gateway"]) == ("172.17.0.160/27", "172.17.0.161")


def test_pools_of_unnamed_nodes_are_bound_to_none_and_numbered_in_text_order() -> None:
    pools = of_spiderpool({"supernet": "172.16.0.0/12"}, nodes=120)
    names = [pool["metadata"]["name"] for pool in pools]

    assert names == sorted(names)
    assert (names[0], names[-1]) == ("rail-00-node-0000", "rail-00-node-0119")
    assert not any("nodeName" in pool["spec"] for pool in pools)
