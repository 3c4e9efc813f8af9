"""The kinds of files: how each is recognised and read, and what to run for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gpu_fabric.base.grammar import shown
from gpu_fabric.discover import (
    cluster_objects,
    ip_link,
    launch_kit,
    look,
    lspci,
    nccl_dump,
    nic_tables,
    nvidia_smi,
    rdma_links,
    sysfs,
    verbs,
)
from gpu_fabric.discover.facts import DiscoveryError, Observation
from gpu_fabric.discover.text import Output


@dataclass(frozen=True)
class Source:
    """A kind of file by its name for `--as`; `command` writes it.

    A file with `groups` of nodes is read with the name of one, or None.
    """

    name: str
    command: str
    is_output: Callable[[Output], bool]
    read: Callable[..., Observation]
    groups: bool = False


# In the order in which a text is recognised: those first whose form is the most particular.
SOURCES = (
    Source("look", look.COMMAND, look.is_output, look.read),
    Source("nccl-dump", nccl_dump.COMMAND, nccl_dump.is_output, nccl_dump.read),
    Source("nvidia-smi-topo", nvidia_smi.TOPO_COMMAND, nvidia_smi.is_topo, nvidia_smi.read_topo),
    Source("nvidia-smi-gpus", nvidia_smi.GPUS_COMMAND, nvidia_smi.is_gpus, nvidia_smi.read_gpus),
    Source("ibdev2netdev", rdma_links.NETDEV_COMMAND, rdma_links.is_netdev, rdma_links.read_netdev),
    Source("rdma-link", rdma_links.LINK_COMMAND, rdma_links.is_link, rdma_links.read_link),
    Source("ip-link", ip_link.COMMAND, ip_link.is_output, ip_link.read),
    Source("ibstat", verbs.IBSTAT, verbs.is_ibstat, verbs.read_ibstat),
    Source("ibstatus", verbs.IBSTATUS, verbs.is_ibstatus, verbs.read_ibstatus),
    Source("show-gids", nic_tables.GIDS, nic_tables.is_gids, nic_tables.read_gids),
    Source("mst-status", nic_tables.MST, nic_tables.is_mst, nic_tables.read_mst),
    Source("lshw", nic_tables.LSHW, nic_tables.is_lshw, nic_tables.read_lshw),
    Source("ibv-devinfo", verbs.DEVINFO, verbs.is_devinfo, verbs.read_devinfo),
    Source("sysfs", sysfs.COMMAND, sysfs.is_output, sysfs.read),
    Source("lspci", lspci.COMMAND, lspci.is_output, lspci.read),
    Source("cluster-objects", cluster_objects.COMMAND, cluster_objects.is_output, cluster_objects.read, groups=True),
    Source("cluster-config", launch_kit.COMMAND, launch_kit.is_output, launch_kit.read, groups=True),
)


def source_named(name: str) -> Source:
    """The kind of this name.

    Raises:
        DiscoveryError: there is none.
    """
    found = next((source for source in SOURCES if source.name == name), None)
    if found is None:
        raise DiscoveryError(f"--as {name}: not a kind of file; allowed are {', '.join(each.name for each in SOURCES)}")
    return found


def recognised(output: Output) -> Source:
    """The kind of a file, by its content.

    Raises:
        DiscoveryError: it is none that is understood.
    """
    for source in SOURCES:
        if source.is_output(output):
            return source
    number, line = next(output.lines(), (1, ""))
    if line.lstrip().startswith(("-[", "+-", "|", "\\-")):
        output.refuse(number, "the tree of `lspci -t` is not read", f"give the output of `{sysfs.COMMAND}` instead")
    output.refuse(
        number,
        f"{shown(line.strip())} begins no output that is understood",
        f"give that of {'; '.join(f'`{each.command}`' for each in SOURCES)}, or say the kind with --as",
    )


def observed(output: Output, source: Source | None, group: str | None) -> Observation:
    """What a file states.

    Raises:
        DiscoveryError: it cannot be read, or states nothing.
    """
    kind = source or recognised(output)
    found = kind.read(output, group) if kind.groups else kind.read(output)
    if not found.statements:
        raise DiscoveryError(
            f"{output.file}: no GPU, NIC or RDMA device in this output of `{kind.command}`; run it on a GPU node"
        )
    return found
