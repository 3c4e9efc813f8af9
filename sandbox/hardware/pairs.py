"""What the pods that measure a node with a neighbour leave on simulated nodes.

Played is what `fabric_pair.sh` makes of perftest's output, in the form of linux-rdma/perftest
(src/perftest_parameters.h, RESULT_FMT_G and REPORT_FMT; the peak is 0 in a test of some seconds): by the line rate, and
by what is wrong with a rail of one of the two nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from gpu_fabric.catalog import catalog
from gpu_fabric.nccl.busbw import nic_speed
from gpu_fabric.plan.case import INSTANCE_TYPE_LABEL
from ..kubernetes_api import Object
from .device_plugins import annotations_of, labels_of, runs
from .measuring.play import ENDS_ANNOTATION, MESSAGE_ANNOTATION
from .measuring.run import Ailment, ailments_of

COMPONENT = "fabric-pair"
"""Value of the pods' label."""

_CANDIDATE, _NEIGHBOUR = "gpu-fabric.dev/candidate", "gpu-fabric.dev/neighbour"
_HEADING = "#bytes #iterations BW peak[Gb/sec] BW average[Gb/sec] MsgRate[Mpps]"
_BYTES, _UNKNOWN_RATE, _HEALTHY = 65536, 400, 0.98
# Of the line rate. What concerns NCCL, GPUs or many rails at a time does not concern these tests.
_SHARES = {Ailment.SLOW: 0.5, Ailment.LOSSY: 0.4}


def endings(pods: Iterable[Object], nodes: Mapping[str, Object]) -> Iterator[tuple[Object, dict[str, str]]]:
    """The annotations by which pods that measure end; each pod once, when the neighbour's pod runs as well."""
    running = [pod for pod in pods if runs(pod)]
    for pod in running:
        marks = annotations_of(pod)
        here = pod["spec"].get("nodeName")
        if here != marks.get(_CANDIDATE) or ENDS_ANNOTATION in marks:
            continue
        there = marks[_NEIGHBOUR]
        serves = any(
            other["spec"]["nodeName"] == there and annotations_of(other)[_CANDIDATE] == here for other in running
        )
        if serves and here in nodes and there in nodes:
            yield pod, {ENDS_ANNOTATION: "0s", MESSAGE_ANNOTATION: _message(pod, (nodes[here], nodes[there]))}


def _message(pod: Object, both: tuple[Object, Object]) -> str:
    (container,) = pod["spec"]["containers"]
    environment = {entry["name"]: entry.get("value", "") for entry in container["env"]}
    seconds = int(environment["SECONDS_EACH"])
    shape = catalog().find(labels_of(both[0]).get(INSTANCE_TYPE_LABEL, ""))
    rate = (nic_speed(shape) if shape is not None else None) or _UNKNOWN_RATE
    ailments = [ailments_of(node) for node in both]
    lines = [f"columns {_HEADING}"]
    for rail in (line.split()[0] for line in environment["RAILS"].splitlines()):
        here = [found.get(int(rail)) for found in ailments]
        for test in ("write", "read"):
            if Ailment.MISSING in here:
                lines.append(f"failed {rail} {test} Failed status 12: wr_id 0 syndrom 0x81")
                continue
            gbps = rate * _HEALTHY * min(_SHARES.get(found, 1.0) if found else 1.0 for found in here)
            messages = gbps * 1e9 / 8 / _BYTES
            lines.append(f"rail {rail} {test} {_BYTES} {messages * seconds:.0f} 0.00 {gbps:.2f} {messages / 1e6:.6f}")
    return "\n".join(lines)
