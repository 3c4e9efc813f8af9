"""What NCCL's log (NCCL_DEBUG=INFO, NCCL_DEBUG_SUBSYS=INIT,NET) proves: RDMA on every node, on every rail, GPU to NIC.

Lines of other programs are passed over. Source of the lines: NCCL's source, src/transport/net.cc and net_ib.cc.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from fabric.nccl.verdict.expectation import Expectation
from fabric.nccl.verdict.report import Reason, finding, shown
from fabric.nccl.verdict.result import NcclResult

_LINE = re.compile(r"([A-Za-z0-9._-]+):\d+(?::\d+)? \[\d+\] NCCL (INFO|WARN) (.*)")
_USING = re.compile(r"NET/IB\w* ?: Using (.*)")
_NIC = re.compile(r"\[(\d+)\](?:=\{([^}]*)\}|([A-Za-z0-9_.-]+:\d+))")
_PORT = re.compile(r"([A-Za-z0-9_.-]+):\d+")
_RDMA = re.compile(r"IB\w*|NCCL RDMA Plugin\b.*")
_PEERS = re.compile(r"Channel \S+ ?: (\d+)(?:\[\w*\])? -> (\d+)(?:\[\w*\])? .*via (NET/([^/]+)/(\d+)\S*)")


@dataclass
class _Node:
    """What the log shows of one node: its devices by NCCL's number, and whether it used RDMA.

    NCCL may take the two ports of a NIC for one, which then has two devices.
    """

    nics: dict[int, tuple[str, ...]] = field(default_factory=dict)
    rdma: bool = False

    @property
    def devices(self) -> list[str]:
        """The RDMA device of each port."""
        return [device for devices in self.nics.values() for device in devices]


def transport(result: NcclResult, log: bytes | None, expected: Expectation) -> Iterator[Reason]:
    """Reasons against the transport; without a log a remark that it is not proven."""
    if log is None:
        message = "no log was given: that RDMA and GPUDirect were used follows from the bandwidth alone"
        remedy = "measure with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,NET, and give the output with --log"
        yield finding("VER021", "run", message, remedy)
        return
    nodes: defaultdict[str, _Node] = defaultdict(_Node)
    found: dict[tuple[str, str], Reason] = {}
    for name, level, text in _lines(log):
        for reason in _judged(name, level, text, nodes[name], _host_of(result), expected):
            # NCCL says the same for each channel and process.
            found.setdefault((reason.id, reason.where), reason)
    yield from found.values()
    yield from _each_node(result, nodes, expected)


def _lines(log: bytes) -> Iterator[tuple[str, str, str]]:
    for line in log.decode("utf-8", "replace").splitlines():
        if (match := _LINE.search(line)) is not None:
            yield match[1].partition(".")[0], match[2], match[3].strip()


def _host_of(result: NcclResult) -> dict[int, str]:
    return {device.rank: device.hostname for device in result.config.devices}


def _judged(
    name: str, level: str, text: str, node: _Node, hosts: dict[int, str], expected: Expectation
) -> Iterator[Reason]:
    if (using := _USING.match(text)) is not None:
        for number, ports, port in _NIC.findall(using[1]):
            node.nics[int(number)] = tuple(_PORT.findall(ports or port))
    elif level == "WARN" and "NET/IB" in text:
        message = f"NCCL warns: {shown(text)}"
        yield finding("VER026", f"node {shown(name)}", message, "look at the port's counters and link on that node")
    elif "NET/Socket" in text or text.startswith("Using network Socket"):
        message = f"NCCL uses sockets: {shown(text)}"
        remedy = "the pods lack RDMA devices, networks or IPC_LOCK there, or NCCL_IB_HCA names other NICs"
        yield finding("VER022", f"node {shown(name)}", message, remedy)
    elif (peers := _PEERS.search(text)) is not None:
        node.rdma = node.rdma or _RDMA.fullmatch(peers[4]) is not None
        if "GDRDMA" not in peers[3]:
            ends = " -> ".join(_rank(int(rank), hosts) for rank in (peers[1], peers[2]))
            rail = _rail(int(peers[5]), node, expected)
            message = f"via {shown(peers[3])}: no GPUDirect, the data pass through the host's memory"
            remedy = "load nvidia-peermem or use DMA-BUF; look whether GPU and NIC share a PCI switch in the topology"
            yield finding("VER023", f"{ends}, {rail}", message, remedy)


def _rank(rank: int, hosts: dict[int, str]) -> str:
    host = hosts.get(rank)
    return f"rank {rank}" if host is None else f"rank {rank} on {shown(host)}"


def _rail(number: int, node: _Node, expected: Expectation) -> str:
    """A NIC of NCCL's list, and where its devices are the shape's, the rails."""
    devices = node.nics.get(number, ())
    for shape in expected.shapes:
        rails = {nic.rdma_device: rail for rail, nic in enumerate(shape.nics)}
        if devices and rails.keys() >= set(devices):
            return ", ".join(f"rail {rails[device]} ({device})" for device in devices)
    return f"NIC {number} ({shown(', '.join(devices))})" if devices else f"NIC {number}"


def _each_node(result: NcclResult, nodes: dict[str, _Node], expected: Expectation) -> Iterator[Reason]:
    most = max((len(node.devices) for node in nodes.values()), default=0)
    wanted = expected.rails or most
    for name in result.nodes:
        node = nodes.get(name.partition(".")[0], _Node())
        where = f"node {shown(name)}"
        if not node.nics or not node.rdma:
            lacks = "names no NIC for RDMA" if not node.nics else "shows no connection over RDMA"
            remedy = "measure with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,NET on all nodes, and give the whole log"
            yield finding("VER024", where, f"the log {lacks} on this node", remedy)
        elif len(node.devices) < wanted:
            missing = _missing_rails(set(node.devices), expected)
            lost = f"; missing: {', '.join(missing)}" if missing else ""
            message = f"NCCL uses {len(node.devices)} NICs, and the fabric has {wanted} rails{lost}"
            yield finding("VER025", where, message, "compare the pod's RDMA devices and NCCL_IB_HCA with the rails")


def _missing_rails(used: set[str], expected: Expectation) -> list[str]:
    """Rails whose device NCCL does not name; empty where the names are not the shape's, as with virtual functions."""
    for shape in expected.shapes:
        devices = [nic.rdma_device for nic in shape.nics]
        if used <= set(filter(None, devices)):
            return [f"rail {rail} ({device})" for rail, device in enumerate(devices) if device not in used]
    return []
