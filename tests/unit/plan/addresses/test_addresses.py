"""Who gets which addresses, how far a plan grows, and its pools in the words of each IPAM, a row each."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from planned_addresses import answer, planned
from planned_values import differs

from gpu_fabric.plan.addresses import AddressDemand, AddressPlan, plan_addresses
from gpu_fabric.plan.ipam import cni_ipam, node_pools, pool_objects, reserved_objects
from gpu_fabric.spec.addressing import AddressingSpec
from gpu_fabric.spec.cluster import AddressRangesSpec

# What is asked for where a row does not say otherwise, by the file of the row.
DEMANDS = {"addresses": {"rails": 8, "nodes": 8}, "pools": {"rails": 12, "nodes": 3}}
ROWS = {
    f"{file}: {name}": {**row, "demand": {**demand, **row.get("demand", {})}}
    for file, demand in DEMANDS.items()
    for name, row in yaml.safe_load(Path(__file__).with_name(f"{file}.yaml").read_text(encoding="utf-8")).items()
}


def in_short(value: Any) -> Any:
    """A manifest with its ranges as `first-last`."""
    if isinstance(value, dict):
        if value.keys() == {"startIP", "endIP"}:
            return value["startIP"] if value["startIP"] == value["endIP"] else "-".join(value.values())
        return {key: in_short(inner) for key, inner in value.items()}
    return [in_short(inner) for inner in value] if isinstance(value, list) else value


def in_text(value: Any) -> str | None:
    return None if value is None else str(value)


@pytest.mark.parametrize("row", [pytest.param(row, id=name) for name, row in ROWS.items()])
def test_pools_say(row: dict[str, Any]) -> None:
    (layout, ipam), demand = row["plan"], row["demand"]
    plan = planned(row["section"], layout=layout, ipam=ipam, **demand)
    namespace = "nvidia-network-operator" if ipam == "nv-ipam" else "spiderpool"
    nodes, rails = range(demand["nodes"]), range(demand["rails"])
    sections = [cni_ipam(plan, plan.pool_of(rail)) for rail in rails]
    said = {
        **plan.model_dump(mode="json", by_alias=True),
        "gateways": [[in_text(pool.gateway_of(node)) for node in nodes] for pool in plan.pools],
        "hosts": [[in_text(pool.host_address(node)) for node in nodes] for pool in plan.pools],
        "nics": [[in_text(plan.nic_address(node, rail)) for rail in rails] for node in nodes],
        "rails": [in_short(entry.object.manifest()) for entry in pool_objects(plan, namespace)],
        "nodes": [[entry.object.manifest() for entry in pools] for _, pools in node_pools(plan)],
        "networks": [section and section.to_dict() for section in sections],
        "reserved": {entry.name: entry.object.manifest()["spec"]["ips"] for entry in reserved_objects(plan)},
    }

    values = {place: value for place, value in row.items() if place not in ("plan", "section", "demand")}
    assert values
    assert [found for place, value in values.items() if (found := differs(said, place, value))] == []


def test_the_layout_none_has_no_pools_and_no_room_to_run_out_of() -> None:
    plan = answer({}, {"layout": "none", "ipam": "host"})

    assert isinstance(plan, AddressPlan)
    assert (plan.pools, plan.ipam, plan.supernet, plan.nic_address(0, 0)) == ((), None, None, None)
    assert plan.proof.needed_per_node == 0


def test_the_proof_names_every_range_that_it_was_held_against_and_those_that_it_was_not() -> None:
    ranges = AddressRangesSpec.model_validate(
        {"pods": "10.1.0.0/16", "nodes": "10.2.0.0/16", "reserved": ["10.3.0.0/16"]}
    )
    demand = AddressDemand(layout="flat", ipam="nv-ipam", rails=8, addresses_per_nic=1, nodes=8)
    plan = plan_addresses(AddressingSpec.model_validate({"supernet": "192.168.0.0/16"}), ranges, demand)

    assert isinstance(plan, AddressPlan)
    assert {entry.name: str(entry.range) for entry in plan.proof.disjoint_from} == {
        "pods": "10.1.0.0/16",
        "nodes": "10.2.0.0/16",
        "reserved[0]": "10.3.0.0/16",
    }
    assert plan.proof.not_stated == ("services",)
