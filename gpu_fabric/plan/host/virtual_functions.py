"""Virtual functions made by a DaemonSet of ours: one per kind of nodes, with the script that does it."""

from __future__ import annotations

from gpu_fabric.plan.case import Case, NodeGroup
from gpu_fabric.plan.host.script_daemon import script_daemon, script_files
from gpu_fabric.plan.host.scripts import script
from gpu_fabric.plan.operators.releases import namespace_of
from gpu_fabric.plan.rails import group_rails
from gpu_fabric.plan.records import PlannedObject

VIRTUAL_FUNCTIONS = "virtual-functions"
"""The value of the label `gpu-fabric/component` on the DaemonSet's pods."""

# Seconds: a NIC that resets takes a minute or two; the whole DaemonSet twice that for every NIC and the retries.
_WAIT_SECONDS, _TIMEOUT = 300, 1800


def virtual_functions_script() -> str:
    """The Bash script that makes a node's SR-IOV virtual functions; its head names its modes and environment."""
    return script("virtual_functions")


def virtual_functions(case: Case) -> tuple[PlannedObject, ...]:
    """The script and a DaemonSet per kind of nodes, ready where every NIC has its functions; none by other makers."""
    if case.choices.virtual_functions != "daemon-set":
        return ()
    files = script_files(case, VIRTUAL_FUNCTIONS)
    daemons = (
        script_daemon(case, VIRTUAL_FUNCTIONS, group, files, _environment(case, group), timeout=_TIMEOUT)
        for group in case.groups
    )
    return (files, *daemons)


def _environment(case: Case, group: NodeGroup) -> dict[str, str]:
    plugin = case.line.plugin_daemon_sets["sriovDevicePlugin"]
    return {
        "PCI_ADDRESSES": " ".join(rail.pci for rail in group_rails(case, group) if rail.pci),
        "VFS_PER_NIC": str(max(1, group.shape.vfs_per_nic)),
        "MTU": "" if case.mtu is None or case.choices.link_type != "ether" else str(case.mtu),
        "RDMA_MODE": case.choices.rdma_mode,
        "WAIT_SECONDS": str(_WAIT_SECONDS),
        "PLUGIN_POD": f"{namespace_of(case)}/{plugin}",
    }
