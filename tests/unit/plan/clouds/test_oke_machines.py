"""Oracle's machines held against the catalog; what they are launched with is in rows/oke.yaml."""

from __future__ import annotations

from typing import Any

import pytest
from planned_fabrics import plan_of
from planned_oke import HOSTS, PLACEMENTS, resources_of

from gpu_fabric.catalog import catalog
from gpu_fabric.findings import ConfigurationError


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_a_pools_nodes_can_be_counted_by_a_label_that_they_come_up_with(placement: str) -> None:
    resources = resources_of(*PLACEMENTS[placement])
    (pool,) = resources.pools

    assert pool.node_labels == {"gpu-fabric/pool": "gpu"}
    assert pool.nodes == (36 if placement == "gpu-memory-cluster" else 4)
    said = str([record.arguments for record in pool.records])
    assert "gpu-fabric/pool=gpu" in said or "{'key': 'gpu-fabric/pool', 'value': 'gpu'}" in said


LARGEST = catalog().oke_clusters.flexible_machines
MACHINES = ("systemPool", "access.bastion", "access.operator")


def refused_machine(place: str, shape: str, ocpus: int, memory: int) -> list[str]:
    """What of a CPU machine's size the rules refuse."""
    size = {"shape": shape, "ocpus": ocpus, "memoryGib": memory}
    changes: dict[str, Any] = {"cluster.access": HOSTS, f"cluster.{place}": size}
    if place.startswith("access"):
        host = place.partition(".")[2]
        changes = {"cluster.access": {**HOSTS, host: {**HOSTS[host], **size}}}
    try:
        plan_of("oke-h100-26-4", changes)
    except ConfigurationError as error:
        return [finding.path.rpartition(".")[2] for finding in error.findings if finding.id == "OKE044"]
    return []


@pytest.mark.parametrize("place", MACHINES)
@pytest.mark.parametrize("shape", LARGEST)
def test_the_largest_machine_of_a_flexible_shape_is_planned_and_no_larger_one(shape: str, place: str) -> None:
    ocpus, memory = LARGEST[shape].most_ocpus, LARGEST[shape].most_gib

    assert refused_machine(place, shape, ocpus, memory) == []
    assert refused_machine(place, shape, ocpus, min(memory + 1, 2098)) == ["memoryGib"] * (memory < 2098)
    assert refused_machine(place, shape, min(ocpus + 1, 126), memory) == ["ocpus"] * (ocpus < 126)
    assert refused_machine(place, shape, 1, 65) == ["memoryGib"]
