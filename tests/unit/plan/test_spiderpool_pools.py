"""An address plan in Spiderpool's words: pools of rails and of nodes, how networks name them, and what is reserved."""

from __future__ import annotations

from typing import Any

from planned_addresses import Json, answer, pinned_27, planned

from gpu_fabric.plan.addresses import AddressPlan
from gpu_fabric.plan.ipam import node_pools, reserved_objects

NAMES = ("gpu-a", "gpu-b", "gpu-c")


def by_spiderpool(layout: str, section: Json, **demand: Any) -> AddressPlan:
    """A plan for three nodes with twelve rails and one pod a NIC, unless `demand` says otherwise."""
    return planned(section, layout=layout, ipam="spiderpool", **{"rails": 12, "nodes": 3, **demand})


def of_nodes(plan: AddressPlan, rail: int = 0) -> list[Json]:
    """The pools that a rail has for every node."""
    return [entry.object.manifest() for entry in node_pools(plan)[rail][1]]


def reserved(plan: AddressPlan) -> dict[str, list[str]]:
    manifests = [entry.object.manifest() for entry in reserved_objects(plan)]
    return {manifest["metadata"]["name"]: manifest["spec"]["ips"] for manifest in manifests}


def test_every_node_reaches_the_other_nodes_rails_by_the_gateway_of_its_first_rail_alone() -> None:
    plan = pinned_27()

    assert [pool["spec"]["routes"] for pool in of_nodes(plan, rail=0)][:2] == [
        [{"dst": "172.17.0.0/21", "gw": "172.17.0.1"}],
        [{"dst": "172.17.0.0/21", "gw": "172.17.0.33"}],
    ]
    others = [pool["spec"] for rail in range(1, 8) for pool in of_nodes(plan, rail)]
    assert [spec for spec in others if "routes" in spec] == []


def test_the_first_pool_is_that_of_the_share_that_the_nodes_start_from() -> None:
    section = {"supernet": "172.17.0.0/20", "nodePrefixLength": 27, "gateway": "first"}
    demand = {"layout": "per-node", "ipam": "spiderpool", "rails": 1, "nodes": 3}
    first, second, _ = of_nodes(_unchecked(section, **demand, node_names=NAMES, node_numbers=(4, 5, 6)))

    assert (first["metadata"]["name"], first["spec"]["subnet"], first["spec"]["gateway"], first["spec"]["ips"]) == (
        "rail-00-node-0004",
        "172.17.0.128/27",
        "172.17.0.129",
        ["172.17.0.130-172.17.0.158"],
    )
    assert first["spec"]["nodeName"] == ["gpu-a"]
    assert (second["spec"]["subnet"], second["spec"]["gateway"]) == ("172.17.0.160/27", "172.17.0.161")


def _unchecked(section: Json, **demand: Any) -> AddressPlan:
    """A plan whose shares do not begin with the first, which the checker would look for."""
    plan = answer(section, demand)
    assert isinstance(plan, AddressPlan), plan
    return plan


def test_pools_of_unnamed_nodes_are_bound_to_none_and_numbered_in_text_order() -> None:
    pools = of_nodes(by_spiderpool("per-node", {"supernet": "172.16.0.0/12"}, nodes=120))
    names = [pool["metadata"]["name"] for pool in pools]

    assert names == sorted(names)
    assert (names[0], names[-1]) == ("rail-00-node-0000", "rail-00-node-0119")
    assert not any("nodeName" in pool["spec"] for pool in pools)
