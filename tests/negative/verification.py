"""The section `verification`: what a measurement needs, and values that it cannot have."""

from __future__ import annotations

from typing import Any

from negative.base import Base
from negative.mistake import Kind, together, written, written_below

_SECTION = "verification"


def _on(**more: Any) -> dict[str, Any]:
    return {"enabled": True, "image": "registry.example/nccl-tests:1", **more}


def _without_volcano(base: Base) -> bool:
    return not base.has("software.schedulers") and "volcano" not in base.at("cluster.installed", [])


def _no_dpdk_and_devices(base: Base) -> bool:
    """Stacks whose fabric can be measured, so that nothing else is said of the section."""
    return not base.has("fabric.dpdk") and (base.at("fabric.manager"), base.model) != ("spiderpool", "ipoib")


def _measured(base: Base) -> bool:
    """Stacks whose NICs' speed is known, and whose fabric can be measured."""
    return base.pool["shape"] == "BM.GPU.H100.8" and _no_dpdk_and_devices(base)


KINDS = (
    Kind("a measurement has no image", "VFY001", written_below(_SECTION, ".image", {"enabled": True})),
    Kind(
        "nobody runs the measurement's job",
        "VFY002",
        written_below(
            _SECTION, ".launcher", _on(launcher="volcano"), _on(launcher="mpi-operator"), where=_without_volcano
        ),
    ),
    Kind("more nodes take part than there are", "VFY003", written_below(_SECTION, ".nodes", _on(nodes=9999))),
    Kind(
        "a schedule is written where nothing is measured",
        "VFY009",
        written_below(_SECTION, ".schedule", {"schedule": "17 3 * * *"}, {"enabled": False, "schedule": "* * * * *"}),
    ),
    Kind(
        "a rail's bar is written where no rail is measured alone",
        "VFY006",
        written_below(_SECTION, ".railBar", _on(railBar=20, perRail=False), where=_no_dpdk_and_devices),
    ),
    Kind(
        "a bar is above what the NICs carry",
        "VFY007",
        together(
            written_below(_SECTION, ".bar", _on(bar=90000), where=_measured),
            written_below(_SECTION, ".railBar", _on(railBar=5000), where=_measured),
        ),
    ),
    Kind(
        "the program is for another operation than its bars",
        "VFY008",
        written_below(_SECTION, ".program", _on(program="sendrecv_perf"), where=_measured),
    ),
    Kind(
        "a measurement has a value that it cannot have",
        "SPC002",
        together(
            written_below(_SECTION, ".nodes", _on(nodes=1), _on(nodes="two")),
            written_below(_SECTION, ".launcher", _on(launcher="slurm")),
            written_below(_SECTION, ".bar", _on(bar=0), _on(bar=-1), _on(bar="368")),
            written_below(_SECTION, ".minutes", _on(minutes=1)),
            written(_SECTION, True),
        ),
    ),
)
