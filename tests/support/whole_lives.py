"""Committed stacks that a sandbox test brings up whole, and what of a plan the engine then has on record."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gpu_fabric.plan import Plan
from gpu_fabric.plan.records import PlannedGroup, PlannedReadiness, PlannedRollout

# Each with the resource of its first rail, and how many of it every node offers.
MODELS = {
    "roce-macvlan": ("rdma/rail_00", 4),
    "sriov-operator": ("nvidia.com/rail_00", 8),
    "sriov-dpdk": ("nvidia.com/rail_00", 8),
    "host-device": ("nvidia.com/rail_00", 1),
    "ib-sriov": ("nvidia.com/rail_00", 1),
    "ib-sriov-pkey": ("nvidia.com/rail_00", 1),
    "ipoib": ("rdma/rail_00", 4),
    "externally-managed": ("nvidia.com/rail_00", 1),
    "node-kinds": ("nvidia.com/rail_00", 1),
    "whereabouts": ("rdma/rail_00", 4),
    "mi300x-host-device": ("nvidia.com/rail_00", 1),
    "mi355x-pollara": ("amd.com/nic", 8),
    "spiderpool-macvlan": ("spidernet.io/shared_cx5_gpu1", 100),
    "spiderpool-sriov": ("spidernet.io/rail_00", 12),
    "mi300x-macvlan": ("spidernet.io/rail_00", 1),
}
# Brought up as the models are, without networks.
HOST_NETWORK = "host-network"


def assert_just_what_is_planned(resources: Iterable[dict[str, Any]], plan: Plan) -> None:
    """The engine makes the plan's objects, releases, waits and groups in the cluster, and nothing else there.

    `resources` are those of a state, or the new ones of a preview's steps.
    """
    made = list(resources)
    names = {
        entry["inputs"].get("name") or entry["inputs"]["metadata"]["name"]
        for entry in made
        if "kubernetes:" in entry["type"] and not entry["type"].startswith("pulumi:providers")
    }
    assert names == planned_names(plan)
    groups = [entry["inputs"]["objects"] for entry in made if entry["type"].endswith(":KeptObjects")]
    planned = [group.manifests for group in plan.records(PlannedGroup, "node-pools")]
    assert sorted(groups, key=str) == sorted(planned, key=str)


def planned_names(plan: Plan) -> set[str]:
    """Names under which the cluster knows what the plan makes, waits for and rolls."""
    waited = (plan.record(PlannedReadiness, "gpu-operator-ready"), plan.record(PlannedReadiness, "nic-policies"))
    grouped = [entry for group in plan.records(PlannedGroup, "node-pools") for entry in group.objects]
    return {
        *(release.name for release in plan.releases),
        *(entry.name for entry in plan.objects if entry not in grouped),
        *(readiness.name for readiness in waited if readiness is not None),
        *(rollout.daemon_set for rollout in plan.records(PlannedRollout)),
    }
