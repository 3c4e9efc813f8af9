"""The output of `gpu-fabric alarms` as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap

from gpu_fabric.catalog import catalog
from gpu_fabric.plan.monitoring.alarms import alarms_of, left_out
from gpu_fabric.plan.monitoring.watched import Watched

_WIDTH = 80


def alarm_list(fabrics: Sequence[Watched]) -> Iterator[str]:
    """A line for each alarm, those that are left out with the reason, and what must be switched on."""
    for watched in fabrics:
        present = alarms_of(watched)
        yield f"Fabric {watched.fabric} of stack {watched.case.spec.name}: {len(present)} alarms"
        for name, alarm in present.items():
            yield f"  {name:28}{alarm.severity:10}{'at once' if alarm.after == '0m' else f'after {alarm.after}'}"
        missing = left_out(watched)
        if missing:
            yield "  left out:"
        for name, reason in missing.items():
            yield from wrap(f"{name}: {reason}", _WIDTH, initial_indent="    ", subsequent_indent="      ")
    table = catalog().alarms
    asked = {
        table.metrics[metric].exporter
        for watched in fabrics
        for alarm in alarms_of(watched).values()
        for metric in alarm.metrics
    }
    yield "Needed:"
    for name, exporter in table.exporters.items():
        if name in asked:
            yield from wrap(
                f"{exporter.title}: {exporter.needs}", _WIDTH, initial_indent="  ", subsequent_indent="    "
            )
