"""The nodes of a run, what they can carry, and what is wrong with them. Pure functions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from gpu_fabric.catalog import catalog
from gpu_fabric.nccl.busbw import BarUnknownError, Operation, shape_bar
from ..device_plugins import annotations_of, labels_of

AILMENTS_ANNOTATION = "sandbox.gpu-fabric/rails"
"""What is wrong with a simulated node's rails: rail -> `Ailment`, as JSON. Set by `python -m sandbox rail`."""

# Healthy fabrics show 93 to 97 % of the line rate.
_HEALTHY = 0.965
# GB/s of a rail where nothing is known of it: 400 Gb/s.
_UNKNOWN_RATE = 50.0
_INSTANCE_TYPE = "node.kubernetes.io/instance-type"


class Ailment(StrEnum):
    """What can be wrong with a rail of a node."""

    SLOW = "slow"
    MISSING = "missing"
    SOCKETS = "sockets"
    HOST_MEMORY = "host-memory"
    CORRUPT = "corrupt"
    CROWDED = "crowded"
    LOSSY = "lossy"


ABOUT = {
    Ailment.SLOW: "its link runs at half its rate",
    Ailment.MISSING: "its RDMA device is not in the pod",
    Ailment.SOCKETS: "NCCL finds no RDMA on it and takes sockets",
    Ailment.HOST_MEMORY: "its data pass through the host's memory: no GPUDirect",
    Ailment.CORRUPT: "it changes values on their way",
    Ailment.CROWDED: "it is slow while other rails of its node are in use",
    Ailment.LOSSY: "it loses packets, which its link and its rate do not show",
}

_SHARES = {Ailment.SLOW: 0.5, Ailment.MISSING: 0.0, Ailment.SOCKETS: 0.02, Ailment.HOST_MEMORY: 0.6, Ailment.LOSSY: 0.4}
_CROWDED_SHARE = 0.7


@dataclass(frozen=True)
class PlayedNode:
    """One node of a run: the name its pod has as a host, its own, and its rails' ailments."""

    host: str
    name: str
    ailments: Mapping[int, Ailment]

    def share(self, rail: int, *, together: bool) -> float:
        """What a rail carries of its rate, alone or together with other rails."""
        ailment = self.ailments.get(rail)
        if ailment is Ailment.CROWDED and together:
            return _CROWDED_SHARE
        return 1.0 if ailment is None else _SHARES.get(ailment, 1.0)


@dataclass(frozen=True)
class PlayedRun:
    """A run: its nodes in order, GPUs of each, rails that are measured alone, and NCCL's settings.

    `all_rails` is how many there are. `rate` is what one carries in GB/s, as a healthy one shows it. `ucx_options` are
    those of UCX's program, if that measures, too.
    """

    nodes: tuple[PlayedNode, ...]
    gpus: int
    rails: tuple[int, ...]
    all_rails: int
    settings: Mapping[str, str]
    program: str
    rate: float
    rail_bar: float
    ucx_options: str | None = None

    def rail_bandwidth(self, rail: int, nodes: Sequence[PlayedNode], *, together: bool = False) -> float:
        """GB/s of a ring over some nodes on one rail, alone or together with other rails: that of the weakest."""
        return self.rate * min(node.share(rail, together=together) for node in nodes)

    @property
    def bandwidth(self) -> float:
        """GB/s of rings over all nodes and rails.

        NCCL continues without a missing device; in all other cases every ring waits for the slowest.
        """
        if any(Ailment.SOCKETS in node.ailments.values() for node in self.nodes):
            return self.rate * self.all_rails * _SHARES[Ailment.SOCKETS]
        used = min(self.all_rails - list(node.ailments.values()).count(Ailment.MISSING) for node in self.nodes)
        shares = [
            node.share(rail, together=True)
            for node in self.nodes
            for rail in range(self.all_rails)
            if node.ailments.get(rail) is not Ailment.MISSING
        ]
        return self.rate * used * min(shares, default=0.0)


def ailments_of(node: Mapping[str, Any]) -> dict[int, Ailment]:
    """What is wrong with a node's rails. Raises ValueError where its annotation cannot be read."""
    found = json.loads(annotations_of(node).get(AILMENTS_ANNOTATION, "{}"))
    return {int(rail): Ailment(ailment) for rail, ailment in found.items()}


def rail_rate(node: Mapping[str, Any]) -> tuple[float, int]:
    """What a healthy rail of a node shows in GB/s, and how many rails its shape has (0 where that is not known)."""
    shape = catalog().find(labels_of(node).get(_INSTANCE_TYPE, ""))
    if shape is None:
        return _UNKNOWN_RATE * _HEALTHY, 0
    try:
        bar = shape_bar(shape, shape.rails, nodes=4, ring=True, nvlink=False, operation=Operation.ALL_REDUCE)
    except BarUnknownError:
        return _UNKNOWN_RATE * _HEALTHY, shape.rails
    return (bar.limit or _UNKNOWN_RATE * shape.rails) / shape.rails * _HEALTHY, shape.rails
