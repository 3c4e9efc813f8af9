"""Every subject's drift of one stack and its cluster."""

from __future__ import annotations

from gpu_fabric.live.addresses import address_drift, state_drift
from gpu_fabric.live.changed_objects import is_up, object_drift
from gpu_fabric.live.cluster import Cluster
from gpu_fabric.live.devices import device_differences
from gpu_fabric.live.difference import Difference, Seen, difference
from gpu_fabric.live.network import network_differences
from gpu_fabric.live.offers import node_drift
from gpu_fabric.live.permissions import unread
from gpu_fabric.live.pool_nodes import node_differences
from gpu_fabric.live.ranges import range_differences
from gpu_fabric.live.release_contents import release_drift
from gpu_fabric.live.stack import Stack
from gpu_fabric.live.versions import version_differences
from gpu_fabric.plan import Plan
from gpu_fabric.spec.stack import StackSpec

# The first are those of this folder; the others compare what was there before `up` as well.
_SUBJECTS = (
    object_drift,
    release_drift,
    address_drift,
    node_drift,
    version_differences,
    node_differences,
    device_differences,
    range_differences,
    network_differences,
)


def drift(spec: StackSpec, plan: Plan, cluster: Cluster, overdue: str) -> tuple[Difference, ...]:
    """What differs between a stack that was up and its cluster, by subject; nothing where all is as `up` left it.

    What software keeps for a while, until a time at or after `overdue`, is a note.
    """
    stack = Stack(spec, plan)
    if not is_up(stack, cluster):
        found = [
            difference(
                "DRI009",
                Seen(object="objects of the plan", field="", value="none exists"),
                ("cluster", "provider"),
            )
        ]
    else:
        found = [entry for subject in _SUBJECTS for entry in subject(stack, cluster)]
        found += state_drift(stack, cluster, overdue)
    return (*found, *unread(cluster))
