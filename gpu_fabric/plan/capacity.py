"""The gate before jobs: every node offers its rails' devices."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from gpu_fabric.plan.case import Case, has_lasting_nodes
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.rail import Rail
from gpu_fabric.plan.records import PlannedCapacity

# DigitalOcean's plug-in looks for NICs once a minute.
_SECONDS = 900


# The GPU Operator's own label of nodes in which Node Feature Discovery has found a GPU.
_WITH_GPU = {"nvidia.com/gpu.present": "true"}


def plan_gpu_capacity(case: Case, values: Mapping[str, JsonValue], timeout: int) -> PlannedCapacity | None:
    """The GPUs that the operator's device plug-in must offer before anything relies on its operands.

    Its ClusterPolicy is `ready` before any GPU node is known, and again for a moment after. None where the plug-in is
    not the operator's, or offers other resources than whole GPUs.
    """
    plugin, mig = values.get("devicePlugin"), values.get("mig")
    settings = plugin if isinstance(plugin, dict) else {}
    parts = mig if isinstance(mig, dict) else {}
    if settings.get("enabled") is False or settings.get("config") or parts.get("strategy") == "mixed":
        return None
    return PlannedCapacity(
        nodes={**case.node_labels, **_WITH_GPU},
        count=int(has_lasting_nodes(case)),
        resources={case.shape.gpus.resource: None},
        timeout=timeout,
    )


def plan_capacity(case: Case, rails: tuple[Rail, ...]) -> PlannedCapacity | None:
    """What nodes must offer where the cloud advertises it; the operators of a stack report their own states.

    A pool that scales counts with its fewest nodes.
    """
    resources: dict[str, int | None] = {
        rail.resource_name: rail.index for rail in rails if rail.resource_name is not None
    }
    if manager_of(case).devices_advertised_by is None or not resources:
        return None
    pools = case.spec.cluster.pools
    fewest = sum(bounds.min_nodes if (bounds := getattr(pool, "auto_scale", None)) else pool.nodes for pool in pools)
    return PlannedCapacity(nodes=case.node_labels, count=fewest, resources=resources, timeout=_SECONDS)
