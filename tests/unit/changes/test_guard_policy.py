"""nv-ipam's pools are deleted with the NicClusterPolicy: no edit takes the policy or its section and passes."""

from __future__ import annotations

import pytest
from changes import Changes
from diff_edits import prepared
from test_guard_footprint import by_outputs, by_plans

from gpu_fabric.k8s.mellanox import NicClusterPolicy
from gpu_fabric.plan import Plan
from gpu_fabric.plan.records import HelmRelease

LINE, IPAM = "software.releaseLine", "fabric.addressing.ipam"
# What brings nv-ipam's definitions is deleted, made by another, or loses its section.
EDITS: dict[str, tuple[str, Changes, Changes]] = {
    "to the line whose policy the stack makes": ("oke-guide", {}, {LINE: "26.4"}),
    "to the line whose policy the chart makes": ("oke-guide", {LINE: "26.4"}, {LINE: "23.10"}),
    "to other addressing": ("roce-macvlan", {}, {IPAM: "whereabouts"}),
    "to other addressing on the older line": ("oke-guide", {}, {IPAM: "whereabouts"}),
    "to another manager": ("roce-macvlan", {}, {"fabric.manager": "spiderpool"}),
}


def brings_pools(plan: Plan) -> list[str]:
    """The policies, and the releases that make one, with which nv-ipam's definitions come."""
    policies = [
        item.name
        for item in plan.objects
        if isinstance(item.object, NicClusterPolicy) and item.object.spec.nv_ipam is not None
    ]
    releases = [
        release.namespace for release in plan.records(HelmRelease) if release.values.get("nvIpam") == {"deploy": True}
    ]
    return [*policies, *releases]


@pytest.mark.parametrize(("stack", "before", "after"), EDITS.values(), ids=EDITS)
def test_an_edit_that_takes_the_policy_is_stopped_for_the_addresses_of_all_pools(
    stack: str, before: Changes, after: Changes
) -> None:
    old, new = prepared(stack, before), prepared(stack, {**before, **after})
    lost = sum(pool.needed for pool in old.addresses.pools)
    assert brings_pools(old)
    assert brings_pools(old) != brings_pools(new)
    for found in (by_plans, by_outputs):
        stopped = [danger for danger in found(stack, before, {**before, **after}) if danger.component == "ip-pools"]
        assert sum(danger.lost.addresses for danger in stopped) == lost
        assert {danger.effect for danger in stopped} <= {"deleted", "replaced"}
