"""The constructs that hold machines at Oracle, row by row; what single ones say is in rows/oke.yaml."""

from __future__ import annotations

from typing import Any

import pytest
from planned_oke import (
    FABRICS,
    PLACEMENTS,
    POOL,
    resources_of,
)

from gpu_fabric.plan.clouds.oke.resources import OkeResources
from gpu_fabric.plan.clouds.record import Record

RECORDS = {
    "cluster-network": {"configuration-gpu": "core.InstanceConfiguration", "pool-gpu": "core.ClusterNetwork"},
    "compute-cluster": {"compute-cluster-gpu": "core.ComputeCluster", "pool-gpu": "containerengine.NodePool"},
    "compute-cluster-instances": {
        "compute-cluster-gpu": "core.ComputeCluster",
        **{f"pool-gpu-{number}": "core.Instance" for number in range(4)},
    },
    "gpu-memory-cluster": {
        "compute-cluster-gpu": "core.ComputeCluster",
        "configuration-gpu": "core.InstanceConfiguration",
        "pool-gpu-0": "core.ComputeGpuMemoryCluster",
        "pool-gpu-1": "core.ComputeGpuMemoryCluster",
    },
}
SELF_MANAGED = ["cluster-network", "compute-cluster-instances", "gpu-memory-cluster"]


def pool_record(resources: OkeResources, number: int = -1) -> Record:
    """The record of the pool's machines; the last of them."""
    return resources.pools[0].records[number]


@pytest.mark.parametrize("placement", SELF_MANAGED)
def test_self_managed_machines_come_after_policy_and_system_pool(placement: str) -> None:
    resources = resources_of(*PLACEMENTS[placement])

    assert {"policy-join", "system-pool"} <= set(pool_record(resources).after)


@pytest.mark.parametrize("placement", RECORDS)
def test_making_machines_may_take_hours(placement: str) -> None:
    stack, changes = PLACEMENTS[placement]

    assert pool_record(resources_of(stack, changes)).create_timeout == "180m"
    assert pool_record(resources_of(stack, {**changes, "cluster.createMinutes": 60})).create_timeout == "60m"


def test_an_instance_more_changes_no_other_record() -> None:
    stack, changes = PLACEMENTS["compute-cluster-instances"]
    few, more = (resources_of(stack, {**changes, f"{POOL}.nodes": nodes}).pools[0].records for nodes in (4, 5))

    assert more[:-1] == few


def test_memory_clusters_share_the_nodes_evenly_and_grow_by_their_target() -> None:
    clusters = resources_of(*PLACEMENTS["gpu-memory-cluster"]).pools[0].records[2:]

    assert [record.arguments["gpu_memory_fabric_id"] for record in clusters] == FABRICS
    assert [record.arguments["size"] for record in clusters] == ["18", "18"]
    for record in clusters:
        assert record.ignore_changes == ("size",)
        scale: Any = record.arguments["gpu_memory_cluster_scale_config"]
        assert scale["target_size"] == "18"
