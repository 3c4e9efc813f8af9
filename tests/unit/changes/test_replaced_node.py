"""A node is replaced by one of another name: what the stack file's new name changes, and what it must not."""

import pytest
from changes import Changes
from diff_edits import plan_of

from gpu_fabric.changes.dangers import dangers
from gpu_fabric.changes.plan_diff import plan_diff

NODES = ["a", "b", "c", "d"]
AFTER = ["a", "b", "e", "d"]
POOL = "cluster.pools[0]"
PER_NODE: Changes = {"fabric.addressing": {"layout": "per-node", "supernet": "172.16.0.0/16", "nodePrefixLength": 28}}
HOSTS: Changes = {
    "fabric.addressing.reservedLast": 54,
    "fabric.addressing.gateway": "last",
    "fabric.hostPreparation": {"addresses": True},
}
STACKS: dict[str, tuple[str, Changes]] = {
    "static allocations of nv-ipam": ("roce-macvlan", PER_NODE),
    "addresses of the hosts": ("roce-macvlan", HOSTS),
    "pools of Spiderpool": ("spiderpool-sriov-per-node", {"fabric.vfsPerNic": 8}),
}


def named(changes: Changes, names: list[str]) -> Changes:
    return {**changes, f"{POOL}.nodes": len(names), f"{POOL}.nodeNames": names}


@pytest.mark.parametrize("case", STACKS)
def test_the_new_name_in_the_old_ones_place_loses_nothing_and_needs_no_acknowledgement(case: str) -> None:
    stack, changes = STACKS[case]
    before, after = plan_of(stack, named(changes, NODES)), plan_of(stack, named(changes, AFTER))

    found = plan_diff(before, after)

    assert dangers(found) == ()
    assert found.resources
    # Pulumi replaces a ConfigMap whose data change; what it sets on the hosts stays.
    replaced = [entry.name for entry in found.resources if entry.verdict != "changed"]
    assert all(name.startswith("nic-addresses-host-addresses-") for name in replaced)
