"""NICs and networks of single rails, virtual functions, MTU, partition keys, and where networks are offered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from negative.base import Base
from negative.mistake import Applies, Kind, Mistake, Mistakes, together, written, written_below

_VIRTUAL = ("sriov", "ib-sriov")
_RAILS = "fabric.rails"

# Devices of machines that the good stacks use, from Oracle's shapes table.
_DEVICES = {
    "BM.GPU.H100.8": {"other": "0000:0c:00.1", "gpu": "0000:0f:00.0", "interface": "rdma1", "rdma": "mlx5_1"},
    "BM.GPU.H200.8": {"other": "0000:2a:00.0", "gpu": "0000:0f:00.0", "interface": "rdma1", "rdma": "mlx5_3"},
}
_MTU = {"BM.GPU.H100.8": 4220, "BM.GPU.H200.8": 4220, "BM.GPU.A100-v2.8": 4220}


def _model(*models: str) -> Applies:
    return lambda base: base.model in models and base.manager != "doks"


def _rails(at: str, *entries: dict[str, Any], where: Applies = lambda base: True) -> Mistakes:
    """Entries of rails that are faulty at a place below the list."""
    return written_below(_RAILS, at, list(entries), where=where)


def _nameless_machines(base: Base) -> Iterator[Mistake]:
    """Machines whose NICs have no names in the catalog."""
    if base.provider == "existing" and base.manager != "doks" and base.model != "host-network" and not base.amd:
        for shape in ("server.hgx-h100.8", "server.dgx-b200.8"):
            yield Mistake({"cluster.pools[0].shape": shape, "cluster.pools[0].labels": {"machine": "gpu"}}, _RAILS)


def _taken(what: Callable[[dict[str, str]], tuple[str, str]]) -> Mistakes:
    """Rail 0 with a device that another device of the machine is."""

    def made(base: Base) -> Iterator[Mistake]:
        if base.pool["shape"] in _DEVICES:
            key, value = what(_DEVICES[base.pool["shape"]])
            yield Mistake({_RAILS: [{"rail": 0, key: value}]}, f"{_RAILS}[0].{key}")

    return made


def _missing_rails(base: Base) -> Iterator[Mistake]:
    for rail in {base.rails, 63}:
        yield Mistake({_RAILS: [{"rail": rail, "interface": "rdma99"}]}, f"{_RAILS}[0].rail")
    yield Mistake({_RAILS: [{"rail": 0}, {"rail": base.rails + 1, "nearestGpu": 0}]}, f"{_RAILS}[1].rail")


def _large_mtus(base: Base) -> Iterator[Mistake]:
    shape = base.pool["shape"]
    # What a stack itself says about its machines goes before what the catalog says.
    own = base.at(f"cluster.shapes.{shape}")
    host = _MTU.get(shape) if own is None else own.get("mtu")
    if host is not None and base.model != "host-network":
        for mtu in (host + 1, 9216):
            yield Mistake({"fabric.mtu": mtu}, "fabric.mtu")


KINDS = (
    Kind("a rail's PCI address is spelt as none", "SPC002",
        together(*(_rails("[0].pci", {"rail": 0, "pci": text}) for text in ("0c:00.0", "0000:0C:00.0", "0000-0c-00.0",
            "0000:0c:00.8", "0000:0c:00", "mlx5_0")))),
    Kind("a rail's interface has no name of one", "SPC002",
        together(*(_rails("[0].interface", {"rail": 0, "interface": text})
            for text in ("enp123456789s0f0", "a b", "")))),
    Kind("a rail's network has no DNS label", "SPC002",
        together(*(_rails("[0].network", {"rail": 0, "network": text}) for text in ("Rail0", "rail_0", "-rail", "")))),
    Kind("the NICs of the machines have no names", "DEV002", _nameless_machines),
    Kind("virtual functions are handed out, but there are none", "DEV003", together(
        written("fabric.vfsPerNic", 0, where=_model(*_VIRTUAL)),
        lambda base: (
                Mistake({"cluster.pools[0].shape": shape}, "fabric.vfsPerNic")
                for shape in ("BM.GPU.MI355X.8", "BM.GPU.RTXPRO.8", "server.hgx-h200.8")
                if base.provider == "existing" and base.model == "sriov" and not base.has("fabric.vfsPerNic")
            ))),
    Kind("a rail is described that the machines do not have", "DEV004", _missing_rails),
    Kind("a rail has the PCI address of another one", "DEV005", _taken(lambda devices: ("pci", devices["other"]))),
    Kind("a rail has the PCI address of a GPU", "DEV005", _taken(lambda devices: ("pci", devices["gpu"]))),
    Kind("a rail has the interface of another one", "DEV005",
        _taken(lambda devices: ("interface", devices["interface"]))),
    Kind("a rail has the interface of the node network", "DEV005", _taken(lambda _devices: ("interface", "eth0"))),
    Kind("a rail has the RDMA device of another one", "DEV005",
        _taken(lambda devices: ("rdmaDevice", devices["rdma"]))),
    Kind("two rails are described with one device", "DEV005", together(
        _rails("[1].pci", {"rail": 0, "pci": "0000:77:00.0"}, {"rail": 1, "pci": "0000:77:00.0"}),
        _rails("[1].interface", {"rail": 2, "interface": "eth9"}, {"rail": 3, "interface": "eth9"}),
        _rails("[1].rdmaDevice", {"rail": 0, "rdmaDevice": "mlx5_99"}, {"rail": 7, "rdmaDevice": "mlx5_99"},
            where=lambda base: base.rails > 7))),
    Kind("whole NICs are handed out that have virtual functions", "DEV013",
        written("fabric.vfsPerNic", 1, 8, where=_model("host-device"))),
    Kind("only some RDMA devices of pods on the host's network are named", "POD004",
        lambda base: (Mistake({"cluster.pools[0].shape": shape, _RAILS: [{"rail": 0, "rdmaDevice": "mlx5_0"}]}, _RAILS)
            for shape in ("server.dgx-b200.8", "server.hgx-h100.8") if base.model == "host-network")),
    Kind("the MTU is larger than the host's", "NET001", _large_mtus),
    Kind("the link layer is not the cloud's", "NET004", together(
        written("fabric.linkType", "infiniband", where=lambda base: base.pool["shape"].startswith("BM.GPU")),
        written("fabric.linkType", "infiniband", where=lambda base: base.provider == "doks"))),
)  # fmt: skip
