"""Check NCCL's log (NCCL_DEBUG=INFO, NCCL_DEBUG_SUBSYS=INIT,ENV,NET) for RDMA on every node and rail, and GPUDirect.

Lines of other programs are ignored. What the lines look like is in `gpu_fabric/nccl/log_lines.yaml`.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from gpu_fabric.findings import Finding, finding
from gpu_fabric.nccl.log_lines import LoggedLine, log_table, log_texts, logged_line
from gpu_fabric.nccl.verdict.report import printable, printable_line
from gpu_fabric.nccl.verdict.result import Expectation, NcclResult
from gpu_fabric.symptoms import advice, first_step, recognised

_PORT = re.compile(r"([A-Za-z0-9_.-]+):[0-9]+")
_DEVICE = re.compile(r"[A-Za-z0-9_.-]+")
_RDMA = re.compile(r"IB\w*|NCCL RDMA Plugin\b.*")
# What differs between two lines of one cause: addresses, pointers, numbers of requests; not a status or an errno.
_VARIES = re.compile(r"((?:status=|error |failed with )[0-9]+)|0x[0-9a-fA-F]+|[0-9a-fA-F.:]*<[0-9]+>|[0-9]+")
SUBSYSTEMS = "INIT,ENV,NET"
"""What NCCL_DEBUG_SUBSYS must name, so that the log shows the transport and the variables that NCCL read."""
_UNKNOWN_WARNING = "look at the port's counters and link, and at the kernel's log on that node"
# Different lines of a log that are compared with the table of error texts: so many, so that it takes seconds.
_MOST_LINES = 5000


@dataclass
class _Node:
    """The log's facts about one node: its devices by NCCL's number, and those with a connection over RDMA.

    NCCL may fuse the two ports of an adapter into one device, which has a number of its own in addition to theirs.
    """

    nics: dict[int, tuple[str, ...]] = field(default_factory=dict)
    carrying: set[int] = field(default_factory=set)
    rdma: bool = False
    sockets: str = ""
    no_software: str = ""
    warnings: Counter[str] = field(default_factory=Counter)
    texts: dict[str, str] = field(default_factory=dict)

    @property
    def devices(self) -> list[str]:
        """The RDMA device of each port, once."""
        return list(dict.fromkeys(device for devices in self.nics.values() for device in devices))


def check_transport(result: NcclResult, log: bytes | None, expected: Expectation) -> Iterator[Finding]:
    """Reasons against the transport; without a log a remark that it is not proven."""
    if log is None:
        message = "no log was given: that RDMA and GPUDirect were used follows from the bandwidth alone"
        remedy = f"measure with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS={SUBSYSTEMS}, and give the output with --log"
        yield finding("VER021", "run", message, remedy)
        return
    nodes: defaultdict[str, _Node] = defaultdict(_Node)
    channels: dict[str, list[tuple[int, int, str, int]]] = defaultdict(list)
    provider = re.compile("|".join(line.read for line in log_table().others.values()))
    missing_driver = ""
    for text in log_texts(log):
        if (line := logged_line(text)) is None:
            # Without a host: the libraries print it before NCCL's first line.
            missing_driver = missing_driver or (text.strip() if provider.search(text) else "")
            continue
        name = line.host.partition(".")[0]
        _read_line(line, nodes[name], channels[name])
    hosts = {device.rank: device.hostname for device in result.config.devices}
    for name, node in nodes.items():
        yield from _each_warning(name, node, expected)
        yield from _each_socket(name, node, missing_driver)
        yield from _each_channel(node, channels[name], hosts, expected)
    yield from _each_node(result, nodes, expected, missing_driver)


def known_errors(log: bytes | None, found: Iterable[Finding]) -> Iterator[Finding]:
    """The error texts in the log of a failed run, of any program, that the table of error texts knows.

    Texts of whose rows one of the findings has the remedy are left out.
    """
    lines: dict[str, tuple[int, str]] = {}
    if not log:
        return
    for number, text in enumerate(log_texts(log), 1):
        lines.setdefault(_same(text), (number, text))
        if len(lines) == _MOST_LINES:
            break
    different = list(lines.values())
    said = "".join(entry.remedy for entry in found)
    for entry in recognised("\n".join(text for _, text in different)):
        remedy = first_step(entry.symptom)
        if not entry.symptom.general and remedy not in said:
            number, text = different[entry.line - 1]
            yield finding("VER031", f"line {number} of the log", printable_line(text.strip()), remedy)


def _same(text: str) -> str:
    """A text without what varies between lines of one cause."""
    return _VARIES.sub(lambda found: found[1] or "#", text)


def settings_of(log: bytes | None) -> tuple[dict[str, str], ...]:
    """The variables that NCCL read, from the environment or a file, as each host logs them; alike hosts are one."""
    found: defaultdict[str, dict[str, str]] = defaultdict(dict)
    pattern = log_table().read("setting")
    for line in map(logged_line, log_texts(log or b"")):
        if line is not None and (setting := pattern.match(line.text)) is not None:
            value = setting[4].strip()
            # NCCL ends a sentence with a number, but not with a word.
            found[line.host][setting[1]] = re.sub(r"^(-?[0-9]+)\.$", r"\1", value)
    return tuple({tuple(sorted(settings.items())): settings for settings in found.values()}.values())


def _read_line(line: LoggedLine, node: _Node, channels: list[tuple[int, int, str, int]]) -> None:
    """Take the facts of a line; channels are ranks of both ends, the transport as written, and the NIC's number."""
    table, text = log_table(), line.text
    if line.level == "WARN":
        if table.warnings.are_meant(line.place, text):
            key = _same(text) + "".join(_named_devices(text, node))
            node.warnings[key] += 1
            node.texts.setdefault(key, text)
    elif (using := table.read("devices").match(text)) is not None:
        for number, _, ports, port in table.read("device").findall(using[1]):
            node.nics[int(number)] = tuple(_PORT.findall(ports or port))
    elif (made := table.read("virtual_device").match(text)) is not None:
        node.nics[int(made[1])] = tuple(made[2].split("+"))
    elif (peers := table.read("channel_out").search(text)) is not None:
        if peers[6].startswith("Socket"):
            node.sockets = node.sockets or text
        elif _RDMA.fullmatch(peers[6]) is not None:
            node.rdma = True
            node.carrying.add(int(peers[7]))
        if "GDRDMA" not in peers[5] and not peers[6].startswith("Socket"):
            channels.append((int(peers[1]), int(peers[3]), peers[5], int(peers[7])))
    elif table.read("sockets").match(text) is not None:
        node.sockets = node.sockets or text
    elif table.read("no_library").match(text) is not None:
        node.no_software = text


def _named_devices(text: str, node: _Node) -> list[str]:
    """The devices of a node that a text names."""
    words = set(_DEVICE.findall(text)) | {word.rstrip(":") for word in _DEVICE.findall(text)}
    return [device for device in node.devices if device in words]


def _each_warning(name: str, node: _Node, expected: Expectation) -> Iterator[Finding]:
    """Each warning about the network, once, with its rail where it names a device."""
    for key, count in node.warnings.items():
        text = node.texts[key]
        devices = _named_devices(text, node)
        place = _rails(devices, expected) or printable(", ".join(devices))
        where = f"node {printable(name)}{f', {place}' if place else ''}"
        more = f" (and {count - 1} more like it)" if count > 1 else ""
        yield finding("VER026", where, f"NCCL warns: {printable_line(text)}{more}", advice(text) or _UNKNOWN_WARNING)


def _each_socket(name: str, node: _Node, missing_driver: str) -> Iterator[Finding]:
    if node.sockets:
        why = node.no_software or missing_driver
        message = f"NCCL uses sockets: {printable_line(node.sockets)}{f'; {printable_line(why)}' if why else ''}"
        lacking = "the pods lack RDMA devices, networks or IPC_LOCK there, or NCCL_IB_HCA names other NICs"
        yield finding("VER022", f"node {printable(name)}", message, advice(why) or lacking)


def _each_channel(
    node: _Node, channels: list[tuple[int, int, str, int]], hosts: dict[int, str], expected: Expectation
) -> Iterator[Finding]:
    """Each connection without GPUDirect, once for two ranks and a rail."""
    said: set[str] = set()
    for rank, peer, via, number in channels:
        where = f"{_rank(rank, hosts)} -> {_rank(peer, hosts)}, {_rail(number, node, expected)}"
        if where not in said:
            said.add(where)
            message = f"via {printable(via)}: no GPUDirect, the data pass through the host's memory"
            remedy = "load nvidia-peermem or use DMA-BUF; look whether GPU and NIC share a PCI switch in the topology"
            yield finding("VER023", where, message, remedy)


def _rank(rank: int, hosts: dict[int, str]) -> str:
    host = hosts.get(rank)
    return f"rank {rank}" if host is None else f"rank {rank} on {printable(host)}"


def _rail(number: int, node: _Node, expected: Expectation) -> str:
    """The name of a NIC in NCCL's list: its rails if its devices are the shape's, or its number."""
    devices = node.nics.get(number, ())
    named = _rails(devices, expected)
    return named or (f"NIC {number} ({printable(', '.join(devices))})" if devices else f"NIC {number}")


def _rails(devices: Iterable[str], expected: Expectation) -> str:
    """The rails of devices, if a shape has them all; else nothing."""
    wanted = list(devices)
    for shape in expected.shapes:
        rails = {nic.rdma_device: rail for rail, nic in enumerate(shape.nics)}
        if wanted and rails.keys() >= set(wanted):
            return ", ".join(f"rail {rails[device]} ({device})" for device in wanted)
    return ""


def _each_node(
    result: NcclResult, nodes: dict[str, _Node], expected: Expectation, missing_driver: str
) -> Iterator[Finding]:
    most = max((len(node.devices) for node in nodes.values()), default=0)
    wanted = expected.rails or most
    for name in result.nodes:
        node = nodes.get(name.partition(".")[0], _Node())
        where = f"node {printable(name)}"
        if not node.nics or not node.rdma:
            lacks = "names no NIC for RDMA" if not node.nics else "shows no connection over RDMA"
            why = node.no_software or missing_driver
            whole = (
                f"measure with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS={SUBSYSTEMS} on all nodes, and give the whole log"
            )
            message = f"the log {lacks} on this node{f': {printable_line(why)}' if why else ''}"
            yield finding("VER024", where, message, advice(why) or whole)
        elif len(node.devices) < wanted:
            missing = _missing_rails(set(node.devices), expected)
            lost = f"; missing: {', '.join(missing)}" if missing else ""
            cause = f"; {printable_line(missing_driver)}" if missing_driver else ""
            message = f"NCCL uses {len(node.devices)} NICs, and the fabric has {wanted} rails{lost}{cause}"
            compare = "compare the pod's RDMA devices and NCCL_IB_HCA with the rails"
            yield finding("VER025", where, message, advice(missing_driver) or compare)
        else:
            yield from _each_rail(node, wanted, where, expected)


def _each_rail(node: _Node, wanted: int, where: str, expected: Expectation) -> Iterator[Finding]:
    """Check that all rails of a node have a connection, and that no other NIC is used in place of one.

    A NIC of the node network that NCCL lists but does not use is harmless.
    """
    foreign = set(_foreign_devices(set(node.devices), expected))
    # A number that is not in NCCL's list still is a NIC in use.
    carrying = {device for number in node.carrying for device in node.nics.get(number, (f"NIC {number}",))}
    taken = foreign & carrying or (foreign if len(node.devices) - len(foreign) < wanted else set())
    if taken:
        message = f"NCCL uses {printable(', '.join(sorted(taken)))}, which is not a rail"
        yield finding("VER027", where, message)
    elif len(carrying) < wanted and not node.sockets:
        idle = [device for device in node.devices if device not in carrying | foreign]
        names = _rails(idle[:8], expected) or printable(", ".join(idle[:8]))
        message = f"no connection over {len(idle)} of {len(node.devices)} NICs: {names}"
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
