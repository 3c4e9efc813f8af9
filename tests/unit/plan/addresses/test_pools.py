"""An address plan as pools of each IPAM, a row of `pools.yaml` each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from planned_addresses import planned
from planned_values import differs

from gpu_fabric.plan.ipam import cni_ipam, node_pools, pool_objects, reserved_objects

ROWS = yaml.safe_load(Path(__file__).with_name("pools.yaml").read_text(encoding="utf-8"))


def in_short(value: Any) -> Any:
    """A manifest with its ranges as `first-last`."""
    if isinstance(value, dict):
        if value.keys() == {"startIP", "endIP"}:
            return value["startIP"] if value["startIP"] == value["endIP"] else "-".join(value.values())
        return {key: in_short(inner) for key, inner in value.items()}
    return [in_short(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("row", [pytest.param(row, id=name) for name, row in ROWS.items()])
def test_pools_say(row: dict[str, Any]) -> None:
    layout, ipam = row["plan"]
    demand = {"rails": 12, "nodes": 3, **row.get("demand", {})}
    plan = planned(row["section"], layout=layout, ipam=ipam, **demand)
    namespace = "nvidia-network-operator" if ipam == "nv-ipam" else "spiderpool"
    sections = [cni_ipam(plan, plan.pool_of(rail)) for rail in range(demand["rails"])]
    said = {
        "rails": [in_short(entry.object.manifest()) for entry in pool_objects(plan, namespace)],
        "nodes": [[entry.object.manifest() for entry in pools] for _, pools in node_pools(plan)],
        "networks": [section and section.to_dict() for section in sections],
        "reserved": {entry.name: entry.object.manifest()["spec"]["ips"] for entry in reserved_objects(plan)},
    }

    values = {place: value for place, value in row.items() if place not in ("plan", "section", "demand")}
    assert values
    assert [found for place, value in values.items() if (found := differs(said, place, value))] == []
