"""A stack that is up and changes: what jobs request follows the stack file, although plug-ins read theirs only once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from driver import Sandbox, until

pytestmark = pytest.mark.sandbox

GPU = "nvidia.com/gpu"


def everywhere(sandbox: Sandbox, resource: str, devices: int) -> bool:
    """Whether every GPU node, of which there are some, offers so many of a resource."""
    nodes = sandbox.allocatable(GPU).keys()
    return bool(nodes) and sandbox.allocatable(resource) == dict.fromkeys(nodes, str(devices))


@pytest.mark.parametrize(
    ("stack", "change", "before", "after", "acknowledged"),
    [
        (
            "host-device",
            {"rails": [{"rail": 0, "resource": "left"}]},
            ("nvidia.com/rail_00", 1),
            ("nvidia.com/left", 1),
            (),
        ),
        # A node with more or fewer addresses moves those of the nodes after it: nobody's jobs are there to mind.
        ("roce-macvlan", {"podsPerNic": 9}, ("rdma/rail_00", 4), ("rdma/rail_00", 9), ("ip-pools",)),
        (
            "node-kinds",
            {"rails": [{"rail": 0, "resource": "left"}]},
            ("nvidia.com/rail_00", 1),
            ("nvidia.com/left", 1),
            (),
        ),
        ("sriov-operator", {"vfsPerNic": 4}, ("nvidia.com/rail_00", 8), ("nvidia.com/rail_00", 4), ("ip-pools",)),
    ],
    ids=["a resource's name", "pods per NIC", "of kinds of nodes", "virtual functions"],
)
def test_a_changed_stack_file_changes_what_the_nodes_offer(
    trying: Callable[[str], Sandbox],
    stack: str,
    change: dict[str, Any],
    before: tuple[str, int],
    after: tuple[str, int],
    acknowledged: tuple[str, ...],
) -> None:
    sandbox = trying(stack)
    sandbox.up()
    until(lambda: everywhere(sandbox, *before), f"every node offers {before}")
    sandbox.up_with(acknowledged, fabric=change)
    until(lambda: everywhere(sandbox, *after), f"every node offers {after}")
    assert before[0] == after[0] or sandbox.allocatable(before[0]) == {}
