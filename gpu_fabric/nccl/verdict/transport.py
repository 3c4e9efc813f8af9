"""Check NCCL's log (NCCL_DEBUG=INFO, NCCL_DEBUG_SUBSYS=INIT,NET) for RDMA on every node and rail, and GPUDirect.

Lines of other programs are ignored. Source of the lines: NCCL's source at its releases 2.18 to 2.30, src/debug.cc
(the beginning of a line), src/transport/net.cc and net_ib, and src/misc/ibvwrap.cc.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from gpu_fabric.nccl.verdict.report import Reason, finding, printable
from gpu_fabric.nccl.verdict.result import Expectation, NcclResult

# Host, process and thread, GPU. A warning also has its source location, and since 2.26 a timestamp before everything.
_LINE = re.compile(r"([A-Za-z0-9._-]+):\d+(?::\d+)? \[-?\d+\] (?:(\S+):\d+ )?NCCL (INFO|WARN) (.*)")
# Source files whose warnings are always about the network.
_NETWORK_FILE = re.compile(r"net_ib|ibvwrap|mlx5dvwrap")
# Warnings about a device that NCCL then ignores; an ignored rail is a finding of its own.
_LEFT_OUT = re.compile(r"Unable to (?:open|query) (?:device|port)|ibv_(?:open_device|query_device|query_port)")
_USING = re.compile(r"NET/IB\w* ?: Using (.*)")
_NIC = re.compile(r"\[(\d+)\](?:=\{([^}]*)\}|([A-Za-z0-9_.-]+:\d+))")
_PORT = re.compile(r"([A-Za-z0-9_.-]+):\d+")
_RDMA = re.compile(r"IB\w*|NCCL RDMA Plugin\b.*")
_PEERS = re.compile(r"Channel \S+ ?: (\d+)(?:\[\w*\])? -> (\d+)(?:\[\w*\])? .*via (NET/([^/]+)/(\d+)\S*)")


class _Line(NamedTuple):
    """A line of NCCL's log: the host that wrote it, whether it is a warning about RDMA, and its text."""

    node: str
    warns_of_network: bool
    text: str


@dataclass
class _Node:
    """The log's facts about one node: its devices by NCCL's number, and those with a connection over RDMA.

    NCCL may merge the two ports of a NIC into one, which then has two devices.
    """

    nics: dict[int, tuple[str, ...]] = field(default_factory=dict)
    carrying: set[int] = field(default_factory=set)
    rdma: bool = False
    sockets: bool = False

    @property
    def devices(self) -> list[str]:
        """The RDMA device of each port."""
        return [device for devices in self.nics.values() for device in devices]


def check_transport(result: NcclResult, log: bytes | None, expected: Expectation) -> Iterator[Reason]:
    """Reasons against the transport; without a log a remark that it is not proven."""
    if log is None:
        message = "no log was given: that RDMA and GPUDirect were used follows from the bandwidth alone"
        remedy = "measure with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,NET, and give the output with --log"
        yield finding("VER021", "run", message, remedy)
        return
    nodes: defaultdict[str, _Node] = defaultdict(_Node)
    found: dict[tuple[str, str], Reason] = {}
    hosts = {device.rank: device.hostname for device in result.config.devices}
    for line in _lines(log):
        for reason in _judge_line(line, nodes[line.node], hosts, expected):
            # NCCL repeats its messages for each channel and process.
            found.setdefault((reason.id, reason.where), reason)
    yield from found.values()
    yield from _each_node(result, nodes, expected)


def _lines(log: bytes) -> Iterator[_Line]:
    for line in log.decode("utf-8", "replace").splitlines():
        if (match := _LINE.search(line)) is not None:
            host, source, level, text = match.groups()
            about_network = "NET/IB" in text or _NETWORK_FILE.search(source or "") is not None
            warns = level == "WARN" and about_network and _LEFT_OUT.search(text) is None
            yield _Line(host.partition(".")[0], warns, text.strip())


def _judge_line(line: _Line, node: _Node, hosts: dict[int, str], expected: Expectation) -> Iterator[Reason]:
    name, text = line.node, line.text
    if (using := _USING.match(text)) is not None:
        for number, ports, port in _NIC.findall(using[1]):
            node.nics[int(number)] = tuple(_PORT.findall(ports or port))
    elif line.warns_of_network:
        message = f"NCCL warns: {printable(text)}"
        yield finding("VER026", f"node {printable(name)}", message, "look at the port's counters and link on that node")
    elif "NET/Socket" in text or text.startswith("Using network Socket"):
        node.sockets = True
        message = f"NCCL uses sockets: {printable(text)}"
        remedy = "the pods lack RDMA devices, networks or IPC_LOCK there, or NCCL_IB_HCA names other NICs"
        yield finding("VER022", f"node {printable(name)}", message, remedy)
    elif (peers := _PEERS.search(text)) is not None:
        if _RDMA.fullmatch(peers[4]) is not None:
            node.rdma = True
            node.carrying.add(int(peers[5]))
        if "GDRDMA" not in peers[3]:
            ends = " -> ".join(_rank(int(rank), hosts) for rank in (peers[1], peers[2]))
            rail = _rail(int(peers[5]), node, expected)
            message = f"via {printable(peers[3])}: no GPUDirect, the data pass through the host's memory"
            remedy = "load nvidia-peermem or use DMA-BUF; look whether GPU and NIC share a PCI switch in the topology"
            yield finding("VER023", f"{ends}, {rail}", message, remedy)


def _rank(rank: int, hosts: dict[int, str]) -> str:
    host = hosts.get(rank)
    return f"rank {rank}" if host is None else f"rank {rank} on {printable(host)}"


def _rail(number: int, node: _Node, expected: Expectation) -> str:
    """The name of a NIC in NCCL's list: its rails if its devices are the shape's, or its number."""
    devices = node.nics.get(number, ())
    for shape in expected.shapes:
        rails = {nic.rdma_device: rail for rail, nic in enumerate(shape.nics)}
        if devices and rails.keys() >= set(devices):
            return ", ".join(f"rail {rails[device]} ({device})" for device in devices)
    return f"NIC {number} ({printable(', '.join(devices))})" if devices else f"NIC {number}"


def _each_node(result: NcclResult, nodes: dict[str, _Node], expected: Expectation) -> Iterator[Reason]:
    most = max((len(node.devices) for node in nodes.values()), default=0)
    wanted = expected.rails or most
    for name in result.nodes:
        node = nodes.get(name.partition(".")[0], _Node())
        where = f"node {printable(name)}"
        if not node.nics or not node.rdma:
            lacks = "names no NIC for RDMA" if not node.nics else "shows no connection over RDMA"
            remedy = "measure with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,NET on all nodes, and give the whole log"
            yield finding("VER024", where, f"the log {lacks} on this node", remedy)
        elif len(node.devices) < wanted:
            missing = _missing_rails(set(node.devices), expected)
            lost = f"; missing: {', '.join(missing)}" if missing else ""
            message = f"NCCL uses {len(node.devices)} NICs, and the fabric has {wanted} rails{lost}"
            yield finding("VER025", where, message, "compare the pod's RDMA devices and NCCL_IB_HCA with the rails")
        else:
            yield from _each_rail(node, wanted, where, expected)


def _each_rail(node: _Node, wanted: int, where: str, expected: Expectation) -> Iterator[Reason]:
    """Check that all rails of a node have a connection, and that no other NIC is used in place of one.

    A NIC of the node network that NCCL lists but does not use is harmless.
    """
    foreign = set(_foreign_devices(set(node.devices), expected))
    # A number that is not in NCCL's list still is a NIC in use.
    carrying = [device for number in node.carrying for device in node.nics.get(number, (f"NIC {number}",))]
    taken = foreign & set(carrying) or (foreign if len(node.devices) - len(foreign) < wanted else set())
    if taken:
        message = f"NCCL uses {printable(', '.join(sorted(taken)))}, which is not a rail"
        yield finding("VER027", where, message, "name the rails' devices in NCCL_IB_HCA, and give pods no other ones")
    elif len(carrying) < wanted and not node.sockets:
        idle = [number for number in sorted(node.nics.keys() - node.carrying) if not foreign >= set(node.nics[number])]
        names = ", ".join(_rail(number, node, expected) for number in idle[:8])
        message = f"no connection over {len(idle)} of {len(node.nics)} NICs: {names}"
        remedy = "give the whole log; compare NCCL_IB_HCA, the topology file and the number of channels"
        yield finding("VER028", where, message, remedy)


def _foreign_devices(used: set[str], expected: Expectation) -> list[str]:
    """The used devices that belong to the node network, or that are unknown on a node that also uses known rails.

    Virtual functions have names of their own, so a node with only unknown names proves nothing.
    """
    by_shape = []
    for shape in expected.shapes:
        rails = {nic.rdma_device for nic in shape.nics if nic.rdma_device is not None}
        front = {nic.rdma_device for nic in shape.front_end_nics or () if nic.rdma_device is not None}
        by_shape.append(sorted(used - rails if used & rails else used & front))
    # The node has one of the shapes: take the one that leaves the fewest devices unexplained.
    return min(by_shape, key=len, default=[])


def _missing_rails(used: set[str], expected: Expectation) -> list[str]:
    """Rails whose device NCCL does not list; empty if the names are not the shape's, as with virtual functions."""
    for shape in expected.shapes:
        devices = [nic.rdma_device for nic in shape.nics]
        if used <= set(filter(None, devices)):
            return [f"rail {rail} ({device})" for rail, device in enumerate(devices) if device not in used]
    return []
