"""Machines: shapes that do not exist or do not fit, and machine types of one's own that contradict themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from negative.base import Base
from negative.mistake import Kind, Mistake, missing, together, written, written_below

_SHAPE = "cluster.pools[0].shape"
_OWN = "cluster.shapes.guide-cx5"
_MACHINE: dict[str, Any] = {
    "gpus": {"vendor": "nvidia", "count": 2},
    "nicModel": {"linkType": "ether"},
    "nics": [{"interface": "eth2"}, {"interface": "eth3"}],
}


def _own_shape(base: Base) -> bool:
    return base.has(_OWN)


def _own(key: str, value: Any, at: str = "") -> Any:
    """A fact of the file's own machine type that is faulty there, or contradicts others of it."""
    return written_below(f"{_OWN}.{key}", at, value, where=_own_shape)


def _contradiction(key: str, *values: Any) -> Any:
    """A fact of the file's own machine type that contradicts its others."""

    def made(base: Base) -> Iterator[Mistake]:
        if _own_shape(base):
            yield from (Mistake({f"{_OWN}.{key}": value}, _OWN) for value in values)

    return made


KINDS = (
    Kind("a shape's name is misspelt", "SPC002", together(
        written(_SHAPE, "BM.GPU.H100", "bm.gpu.h100.8", "BM.GPU.H100.4", "BM-GPU-H100-8", "H100", "none", ""),
        written(_SHAPE, "p5.48xlarge", "a3-megagpu-8g", "Standard_ND96isr_H100_v5"))),
    Kind("the name of a Droplet size says what no such machine has", "SPC002",
        written(_SHAPE, "gpu-mi300x8-1920gb", "gpu-h100x8-1128gb-contracted", "gpu-h200x4-564gb-fabric-contracted",
            "gpu-mi325x8-2048gb-contracted-fabric", "gpu-h100x8-640gb-reserved", "gpu-b200x8-1536gb", "gpu-h100-80gb")),
    Kind("a machine type of one's own has the name of one in the catalog", "SPC002", together(
        written_below("cluster.shapes", ".BM.GPU.H100.8", {"BM.GPU.H100.8": _MACHINE}),
        written_below("cluster.shapes", ".server.dgx-h100.8", {"server.dgx-h100.8": _MACHINE}))),
    Kind("a machine type of one's own has a name that no object can carry", "POD001",
        together(*(written_below("cluster.shapes", f".{name}", {name: _MACHINE},
            where=lambda base: not base.has("cluster.shapes")) for name in ("my machine", "my_machine", "-h100",
            "h" * 64)))),
    Kind("a machine type of one's own has words that are none", "SPC002", together(
        _own("gpus.vendor", "NVIDIA"),
        _own("gpus.vendor", "intel"),
        _own("nicModel.linkType", "roce"),
        _own("nicModel.vendorId", "15B3"),
        _own("nicModel.vendorId", "0x15b3"),
        _own("nicModel.deviceId", "17"),
        _own("nicModel.vfDeviceId", "ConnectX-5"),
        _own("gpus.model", ""))),
    Kind("the PCI ids of a NIC lost their quotes", "SPC002", together(
        _own("nicModel.deviceId", 1017),
        _own("nicModel.vfDeviceId", 1018))),
    Kind("a NIC of one's own has a PCI address or interface that is none", "SPC002", together(
        _own("nics[0].pci", "0c:00.0"),
        _own("nics[0].pci", "0000:0C:00.0"),
        _own("nics[3].pci", "0000:0c:00.8"),
        _own("nics[0].interface", "enp11s0f0np0v123"),
        _own("nics[5].interface", "enp 11"),
        _own("frontEndNics", [{"interface": "eth0"}, {"interface": "bond0.4000/vlan"}], "[1].interface"))),
    Kind("two NICs of a machine type of one's own are the same", "SPC002", together(
        _contradiction("nics[1].interface", "enp11s0f0np0"),
        _contradiction("nics[7].interface", "enp12s0f0np0"),
        _contradiction("frontEndNics", [{"interface": "enp11s0f0np0"}]),
        _contradiction("nics", [{"pci": "0000:0c:00.0"}, {"pci": "0000:0c:00.0"}]))),
    Kind("only some NICs of a machine type of one's own are named", "SPC002", together(
        _contradiction("nics[0].pci", "0000:0c:00.0"),
        _contradiction("nics[2].rdmaDevice", "mlx5_2"),
        _contradiction("nics", [{"interface": "eth2"}, {}]))),
    Kind("the GPUs of a machine type of one's own contradict each other", "SPC002", together(
        _contradiction("gpus.pci", ["0000:0f:00.0"], ["0000:0f:00.0"] * 8),
        _contradiction("gpus.count", 4),
        _contradiction("nics[0].nearestGpu", 8, 15))),
    Kind("the NICs of a machine type of one's own have no model", "SPC002",
        lambda base: (Mistake(wrong.changes, _OWN) for wrong in missing(f"{_OWN}.nicModel")(base))),
    Kind("a pool names a machine type of one's own that is not there", "SPC002",
        lambda base: (Mistake({"cluster.shapes": {name: base.at(_OWN)}}, _SHAPE) for name in ("guide-cx6", "guide_cx5")
            if _own_shape(base))),
)  # fmt: skip
