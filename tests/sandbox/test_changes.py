"""A stack that is up and changes: what jobs request follows the stack file, although plug-ins read theirs only once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from doctoring import is_answered
from driver import DEFINITIONS, POLICY, Sandbox, until

GPU = "nvidia.com/gpu"
POOLS = "/apis/nv-ipam.nvidia.com/v1alpha1"
STATES = "/apis/sriovnetwork.openshift.io/v1/namespaces/nvidia-network-operator/sriovnetworknodestates"
CONFIG_MAPS = "/api/v1/namespaces/nvidia-network-operator/configmaps"


def everywhere(sandbox: Sandbox, resource: str, devices: int) -> bool:
    """Whether every GPU node, of which there are some, offers so many of a resource."""
    nodes = sandbox.allocatable(GPU).keys()
    return bool(nodes) and sandbox.allocatable(resource) == dict.fromkeys(nodes, str(devices))


def virtual_functions(sandbox: Sandbox) -> set[int]:
    """How many virtual functions NICs have that the SR-IOV operator manages."""
    nics = (nic for state in sandbox.items(STATES) for nic in state["status"]["interfaces"])
    return {nic["numVfs"] for nic in nics if "numVfs" in nic}


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
        ("sriov-operator", {"vfsPerNic": 4}, ("nvidia.com/rail_00", 8), ("nvidia.com/rail_00", 4), ("ip-pools",)),
    ],
    ids=["a resource's name", "virtual functions"],
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
    # The operator notices a changed policy late, and its `ready` says so even later: `up` has waited for neither.
    told = [entry.get("data", {}).get("config.json") for entry in sandbox.items(CONFIG_MAPS)]
    assert not any(told) or any(after[0].partition("/")[2] in text for text in told if text)
    # The SR-IOV operator changes a node's state at once; its daemon's `Succeeded` of before stands for a while.
    assert virtual_functions(sandbox) == ({after[1]} if stack == "sriov-operator" else set())
    until(lambda: everywhere(sandbox, *after), f"every node offers {after}")
    assert before[0] == after[0] or sandbox.allocatable(before[0]) == {}


def pools_defined(sandbox: Sandbox) -> set[str]:
    """The definitions of nv-ipam's pools."""
    found = {item["metadata"]["name"] for item in sandbox.items(DEFINITIONS)}
    return {name for name in found if name.endswith(".nv-ipam.nvidia.com")}


def pools(sandbox: Sandbox) -> dict[str, Any]:
    """nv-ipam's pools by name."""
    found = (item for kind in ("ippools", "cidrpools") for item in sandbox.items(f"{POOLS}/{kind}"))
    return {item["metadata"]["name"]: item["spec"] for item in found}


def test_a_deleted_policy_takes_nv_ipams_definitions_and_pools_and_the_next_up_brings_them_again(
    trying: Callable[[str], Sandbox],
) -> None:
    sandbox = trying("host-device")
    sandbox.up()
    before = pools(sandbox)
    assert before
    assert pools_defined(sandbox) == {"ippools.nv-ipam.nvidia.com", "cidrpools.nv-ipam.nvidia.com"}
    sandbox.api.delete(POLICY)
    until(lambda: pools_defined(sandbox) == set(), "the definitions are gone")
    sandbox.run("pulumi", "refresh", *sandbox.options)
    sandbox.up()
    # Right after their definition the API server may not be able to list them yet.
    until(lambda: is_answered(lambda: pools(sandbox)), "the API server lists pools")
    assert pools(sandbox) == before
    assert f"{sandbox.counted} unchanged" in sandbox.up()
    sandbox.run("pulumi", "destroy", *sandbox.options)
    until(lambda: pools_defined(sandbox) == set(), "the definitions are gone with the stack")
