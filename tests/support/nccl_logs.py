"""NCCL's logs of runs on two nodes, line by line as a release writes them, healthy or with a fault."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from gpu_fabric.catalog import Shape, catalog
from gpu_fabric.nccl.log_lines import Writer, log_table

GPUS = 8
# From this release on NCCL fuses the two ports of an adapter; from the second one in lines of their own.
FUSES, FUSES_APART = "2.20.3", "2.24.3"


@dataclass(frozen=True)
class Entry:
    """A line to be written: its name in the table, or the text of another program's; host, GPU, and values."""

    name: str
    node: int
    gpu: int = 0
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Run:
    """A run of a release on nodes of a shape, whose hosts' names begin with `host`."""

    release: str
    shape: Shape
    host: str = "worker"
    nodes: int = 2

    @property
    def writer(self) -> Writer:
        return Writer(self.release)

    def is_from(self, release: str) -> bool:
        known = log_table().releases
        return known.index(self.release) >= known.index(release)

    @property
    def adapters(self) -> list[tuple[str, ...]]:
        """The devices of each NIC as NCCL uses them: both ports of an adapter where the release fuses them."""
        found: dict[str, list[str]] = {}
        end = -1 if self.is_from(FUSES) else None
        for number, nic in enumerate(self.shape.nics):
            # Without published names a NIC has a place and nothing else.
            pci = (nic.pci or f"{number:04}:00:00.0")[:end]
            found.setdefault(pci, []).append(nic.rdma_device or f"mlx5_{number}")
        return [tuple(devices) for devices in found.values()]

    def entries(self) -> list[Entry]:
        """The lines of a healthy run."""
        return [entry for node in range(self.nodes) for entry in self._of_node(node)]

    def _of_node(self, node: int) -> Iterator[Entry]:
        at = {"interface": "eth0", "address": f"10.0.0.{node}<0>"}
        yield Entry("bootstrap", node, values=at)
        yield Entry("plugin", node)
        for variable, value in (
            ("NCCL_IB_GID_INDEX", "3."),
            ("NCCL_ALGO", "RING"),
            ("NCCL_IB_QPS_PER_CONNECTION", "4."),
        ):
            yield Entry("setting", node, values={"variable": variable, "value": value})
        single = [device for devices in self.adapters for device in devices]
        yield Entry("devices", node, values={**at, "adapters": self.adapters})
        apart = self.is_from(FUSES_APART)
        for number, device in enumerate(single):
            if apart:
                yield Entry("virtual_device", node, values=_virtual(number, (device,)))
            yield Entry("direct", node, values={"number": number, "device": device})
        numbers = []
        for devices in self.adapters:
            fused = len(devices) > 1
            if apart:
                numbers.append(
                    len(single) + sum(one >= len(single) for one in numbers) if fused else single.index(devices[0])
                )
            else:
                numbers.append(len(numbers))
            if fused and apart:
                yield Entry("virtual_device", node, values=_virtual(numbers[-1], devices))
        yield Entry("assigned", node, values={"network": "IB"})
        yield Entry("network", node, values={"network": "IB"})
        for channel, number in enumerate(numbers):
            gpu = channel * GPUS // len(numbers)
            own, peer = node * GPUS + gpu, (node + 1) % self.nodes * GPUS + gpu
            ends = {
                "channel": f"{channel:02}",
                "number": number,
                "network": "IB",
                "direct": "/GDRDMA",
                "shared": "",
                "rank_gpu": gpu,
            }
            yield Entry("channel_in", node, gpu, {**ends, "rank": peer, "peer": own, "peer_gpu": gpu})
            yield Entry("channel_out", node, gpu, {**ends, "rank": own, "peer": peer, "peer_gpu": gpu})
            # Through the GPU beside another NIC, as for messages between all ranks.
            by_another = {**ends, "rank": own, "peer": peer + 1, "peer_gpu": gpu + 1, "proxy": own, "shared": "/Shared"}
            yield Entry("channel_by_another_gpu", node, gpu, by_another)
        yield Entry("connected", node)

    def text(self, entries: list[Entry]) -> list[str]:
        """The lines as the release prints them; those that it does not print are left out."""
        return ["# nThread 1 nGpus 1", *(line for entry in entries for line in self._lines(entry))]

    def _lines(self, entry: Entry) -> Iterator[str]:
        others = log_table().others
        if entry.name in others:
            yield others[entry.name].text.replace("<library>", "libmlx5-rdmav34.so")
        elif self.writer.has(entry.name):
            values = dict(entry.values)
            if entry.name == "devices":
                values["devices"] = self._device_list(values.pop("adapters"))
            if entry.name.startswith("channel") and self.release == "2.18.1":
                # The GPU's bus in the place of its number.
                values |= {key: f"{values[key] + 16:x}000" for key in ("rank_gpu", "peer_gpu")}
            yield from self.writer.line(entry.name, f"{self.host}-{entry.node}", entry.gpu, **values).split("\n")

    def _device_list(self, adapters: list[tuple[str, ...]]) -> str:
        text, number = "", 0
        for place, devices in enumerate(adapters):
            fused = len(devices) > 1 and not self.is_from(FUSES_APART)
            if fused:
                ends = {"first": number, "second": number + 1, "device": devices[0], "other": devices[1]}
                text += self.writer.text("fused_device", number=place, link="RoCE", **ends)
            else:
                for offset, device in enumerate(devices):
                    at = place if not self.is_from(FUSES_APART) else number + offset
                    text += self.writer.text("device", number=at, device=device, link="RoCE")
            number += len(devices)
        return text


def _setting(variable: str, value: str) -> Entry:
    return Entry("setting", 0, values={"variable": variable, "value": value})


def _virtual(number: int, devices: tuple[str, ...]) -> dict[str, Any]:
    speed = 200000 * len(devices)
    return {"number": number, "joined": "+".join(devices), "speed": speed, "count": len(devices)}


def log_lines(shape: str = "BM.GPU.H200.8", nodes: int = 2, release: str = "2.30.7") -> list[str]:
    """What NCCL logs on a healthy fabric."""
    found = catalog().find(shape)
    assert found is not None
    run = Run(release, found, nodes=nodes)
    return run.text(run.entries())


Change = Callable[[Run, Entry], list[Entry]]


@dataclass(frozen=True)
class LogFault:
    """A fault: what it makes of each line, the rule that must find it, or one of two, and words of the reason.

    `of` is the table's line without which a release cannot show it. With `by_name` only the rails' names show it.
    """

    rule: str
    change: Change
    words: tuple[str, ...] = ()
    of: str = "network"
    by_name: bool = False

    def lines(self, run: Run) -> list[str]:
        return run.text([changed for entry in run.entries() for changed in self.change(run, entry)])


def _in(node: int, name: str, change: Callable[[Entry], list[Entry]]) -> Change:
    def apply(_: Run, entry: Entry) -> list[Entry]:
        return change(entry) if entry.node == node and entry.name.startswith(name) else [entry]

    return apply


def _with(entry: Entry, **values: Any) -> Entry:
    return replace(entry, values={**entry.values, **values})


def _sockets(before: str | None = None) -> Change:
    """Node 1 uses sockets."""

    def apply(_: Run, entry: Entry) -> list[Entry]:
        if entry.node != 1:
            return [entry]
        if entry.name == "devices":
            told = [] if before is None else [Entry(before, 1)]
            return [*told, Entry("no_device", 1), Entry("sockets", 1, values=entry.values | {"adapters": None})]
        if entry.name.startswith("channel"):
            return [_with(entry, network="Socket", number=0, direct="")]
        if entry.name in ("virtual_device", "direct"):
            return []
        return [_with(entry, network="Socket")] if "network" in entry.values else [entry]

    return apply


def _after_channels(warning: str, **values: Any) -> Change:
    """Node 0 warns of its third device, once the channels are connected."""

    def apply(run: Run, entry: Entry) -> list[Entry]:
        if entry.node or entry.name != "connected":
            return [entry]
        device = run.adapters[2][0]
        ends = {"address": "10.0.0.1<41822>", "gid": "::ffff:10.2.0.4"}
        return [entry, Entry(warning, 0, 2, {"device": device, **ends, **values})]

    return apply


def _lost_adapter(run: Run, entry: Entry) -> list[Entry]:
    if entry.node == 1 and entry.name == "devices":
        return [_with(entry, adapters=entry.values["adapters"][:-1])]
    last = run.entries()[-2].values["number"]
    gone = entry.name.startswith("channel") and entry.values["number"] == last
    fused = entry.name == "virtual_device" and entry.values["number"] == last
    return [] if entry.node == 1 and (gone or fused) else [entry]


def _foreign(run: Run, entry: Entry) -> list[Entry]:
    """In the place of the first adapter, node 1 uses a device that no rail has."""
    if entry.node == 1 and entry.name == "devices":
        first, *rest = entry.values["adapters"]
        return [_with(entry, adapters=[tuple(f"mlx5_{90 + at}" for at in range(len(first))), *rest])]
    if entry.node == 1 and entry.name == "virtual_device":
        names = {device: f"mlx5_{90 + at}" for at, device in enumerate(run.adapters[0])}
        devices = entry.values["joined"].split("+")
        return [_with(entry, joined="+".join(names.get(device, device) for device in devices))]
    return [entry]


def _first_channel_of(entry: Entry) -> bool:
    return entry.values["channel"] == "00"


_MODIFY = {110: "Connection timed out", 19: "No such device", 22: "Invalid argument"}
LOG_FAULTS = {
    "sockets on a node": LogFault("VER022", _sockets(), ("node {host}-1", "NET/Socket")),
    "no libibverbs": LogFault("VER022", _sockets("no_library"), ("libibverbs", "in the image"), of="no_library"),
    "no provider": LogFault("VER022", _sockets("provider"), ("libmlx5-rdmav34.so", "in the image")),
    "a socket connection": LogFault("VER022",
        _in(1, "channel", lambda entry: [_with(entry, network="Socket") if _first_channel_of(entry) else entry]),
        ("node {host}-1", "NET/Socket")),
    "no GPUDirect on a rail": LogFault("VER023",
        _in(1, "channel_out", lambda entry: [_with(entry, direct="") if _first_channel_of(entry) else entry]),
        ("rank 8 on {host}-1 -> rank 0 on {host}-0", "rail 0", "no GPUDirect")),
    "a node without a log": LogFault("VER024", lambda run, entry: [] if entry.node == 1 else [entry],
        ("node {host}-1", "names no NIC")),
    "another transport": LogFault("VER024", _in(1, "channel", lambda entry: [_with(entry, network="Other")]),
        ("no connection over RDMA",)),
    "an adapter missing": LogFault("VER025", _lost_adapter, ("node {host}-1", "missing: rail")),
    "a device that is no rail": LogFault("VER027", _foreign, ("node {host}-1", "mlx5_90", "not a rail"), by_name=True),
    "an adapter without a connection": LogFault("VER028",
        _in(1, "channel", lambda entry: [] if _first_channel_of(entry) else [entry]), ("node {host}-1", "rail 0")),
    "every channel over one adapter": LogFault("VER028",
        _in(1, "channel", lambda entry: [entry] if _first_channel_of(entry) else []), ("node {host}-1", "rail 2")),
    **{
        f"a warning: {kind}": LogFault("VER026", _after_channels(kind), ("node {host}-0", f"explain {row}`"), of=kind)
        for kind, row in {
            "retries_exceeded": "nccl-completion-retries-exceeded",
            "access_refused": "nccl-completion-local-protection",
            "other_completion": "nccl-completion-flushed",
            "no_memory": "nccl-memory-not-pinned",
            "gid_table": "nccl-gid-table-changed",
            "fatal_event": "nccl-fatal-event",
            "port_event": "nccl-port-error",
            "empty_gid": "nccl-empty-gid",
            "failed_device": "nccl-device-failed",
        }.items()
    },
    **{
        f"a warning: ibv_modify_qp, errno {errno}": LogFault(
            "VER026",
            _after_channels(kind, errno=errno, reason=_MODIFY[errno]),
            ("node {host}-0", _MODIFY[errno], f"explain {row}`"),
            of=kind,
        )
        for errno, kind, row in (
            (110, "unreachable", "nccl-modify-qp-timed-out"),
            (19, "no_gid", "nccl-modify-qp-no-device"),
            (22, "wrong_argument", "nccl-modify-qp-invalid"),
        )
    },
    # Where the bar of a tree is known, it is the higher one.
    "a tree": LogFault("VER006 VER017", _in(0, "setting", lambda entry: [entry, _setting("NCCL_ALGO", "Tree")])),
    "RDMA switched off by a file": LogFault("VER007",
        _in(0, "plugin",
            lambda entry: [entry, Entry("setting", 0, values={"variable": "NCCL_IB_DISABLE", "value": "1."})]),
        ("NCCL_IB_DISABLE=1",)),
}  # fmt: skip
"""Faults that a log shows, by name."""
