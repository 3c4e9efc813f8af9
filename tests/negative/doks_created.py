"""What the stack makes in and around a cluster of DigitalOcean's: operators, Multus, what it takes over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from negative.base import Base
from negative.mistake import Kind, Mistake, Mistakes, provided_by, together, written, written_below

_POOL = "cluster.pools[0]"
_ID, _OTHER_ID = "5a4981aa-9653-4bd1-bef5-d6bff52042e4", "c33931f2-a26a-4e61-b85c-4e95a2ec431b"
_doks = provided_by("doks")


def _of_nvidia(base: Base) -> bool:
    """AMD's sizes begin with gpu-mi."""
    return _doks(base) and "gpu-mi" not in base.pool["shape"]


def _operator(place: str, **switches: Any) -> Mistakes:
    """The GPU Operator on a cluster that manages its plug-ins itself."""
    at = "software.gpuOperator"

    def made(base: Base) -> Iterator[Mistake]:
        if _of_nvidia(base):
            yield Mistake({at: {"install": True, **switches}}, f"{at}.{place}")

    return made


def _taken_and_left(base: Base) -> Iterator[Mistake]:
    if _doks(base):
        yield Mistake({"cluster.adopt.vpc": _ID, "cluster.vpc.id": _ID}, "cluster.adopt.vpc")


KINDS = (
    Kind(
        "the GPU Operator brings what DigitalOcean manages",
        "DOK037",
        together(
            _operator("driver", driver=True),
            _operator("toolkit", toolkit=True),
            _operator("values.devicePlugin.enabled", values={"devicePlugin": {"enabled": True}}),
        ),
    ),
    Kind("a GPU pool is called as the cluster's own pool", "DOK038", written(f"{_POOL}.name", "system", where=_doks)),
    Kind(
        "a Network Operator runs beside DigitalOcean's plug-in",
        "DOK040",
        written_below("cluster.installed", "[0]", ["network-operator"], where=_doks),
    ),
    Kind(
        "Multus' image may change",
        "DOK044",
        written(
            "software.multus.image",
            *("multus-cni", "registry.example:5000/multus:latest", "m/multus:snapshot-thick"),
            where=_doks,
        ),
    ),
    Kind(
        "Multus is switched although it is somebody else's",
        "DOK045",
        written("software.multus.memory", "1Gi", where=provided_by("oke")),
    ),
    Kind("a taint has no value", "DOK048", written_below(f"{_POOL}.taints", "[0]", [{"key": "team"}], where=_doks)),
    Kind(
        "a pool is taken over that is not in the stack file",
        "DOK051",
        written_below("cluster.adopt.pools", ".gpus", {"gpus": _ID}, {"gpu": _ID, "gpus": _OTHER_ID}, where=_doks),
    ),
    Kind("a VPC is taken over and left to somebody else", "DOK052", _taken_and_left),
    Kind(
        "AMD's metrics are exported without AMD's GPUs",
        "DOK053",
        written("cluster.plugins.metricsExporter", True, where=_of_nvidia),
    ),
)
