"""Alarms on a fabric: what `alarms.yaml` says of each, and of the metrics that it asks for."""

from __future__ import annotations

import re
from typing import Literal, Self

from pydantic import Field, model_validator

from gpu_fabric.model import FrozenModel

Condition = Literal[
    "counters",
    "interfaces",
    "ether",
    "infiniband",
    "priority",
    "resources",
    "gpus",
    "pools",
    "peermem",
    "driver",
    "releases",
    "verification",
    "schedule",
]
Duration = str
_METRIC = re.compile(r"\b(?:node|kube|gpu_operator|gpu_fabric|spiderpool|DCGM)_\w+(?:<priority>\w*)?|\bALERTS\b")


class Exporter(FrozenModel):
    """Who gives metrics, and what must be switched on for it."""

    title: str = Field(min_length=1)
    needs: str = Field(min_length=1)


class Metric(FrozenModel):
    """A metric with its exporter, its meaning, and the file in which it was read."""

    exporter: str
    what: str = Field(min_length=1)
    source: str = Field(min_length=1)


class Planted(FrozenModel):
    """Series on which an alarm fires at `at` and does not fire yet at `quiet`."""

    series: tuple[str, ...] | Literal["<nodes over room>"]
    quiet: Duration
    at: Duration


class Alarm(FrozenModel):
    """One alarm; the comment at the top of `alarms.yaml` explains the fields."""

    of: Literal["fabric", "stack"]
    severity: Literal["critical", "warning", "info"]
    needs: tuple[Condition, ...] = ()
    expr: str = Field(min_length=1)
    after: Duration = Field(pattern=r"^[0-9]+[mh]$")
    summary: str = Field(min_length=1)
    description: str = Field(min_length=1)
    means: str = Field(min_length=1)
    look: tuple[str, ...] = Field(min_length=1)
    cordon: str = Field(min_length=1)
    call: str = Field(min_length=1)
    threshold: str = Field(min_length=1)
    source: str = Field(min_length=1)
    planted: Planted
    healthy: tuple[str, ...] = Field(min_length=1)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics of its expression, as the table has them."""
        return metrics_of(self.expr)


def metrics_of(expression: str) -> tuple[str, ...]:
    """Names of the metrics of an expression, each once."""
    return tuple(dict.fromkeys(_METRIC.findall(expression)))


class AlarmTable(FrozenModel):
    """The content of `alarms.yaml`."""

    exporters: dict[str, Exporter]
    metrics: dict[str, Metric]
    conditions: dict[Condition, str]
    missing: tuple[str, ...]
    alarms: dict[str, Alarm]

    @model_validator(mode="after")
    def _every_metric_is_listed(self) -> Self:
        for name, alarm in self.alarms.items():
            unknown = [metric for metric in alarm.metrics if metric not in self.metrics]
            if unknown or not alarm.metrics:
                raise ValueError(f"{name} asks for {', '.join(unknown) or 'nothing'}, which the table of metrics lacks")
            if lacking := [need for need in alarm.needs if need not in self.conditions]:
                raise ValueError(f"{name} needs {', '.join(lacking)}, of which no condition says why")
        for metric, row in self.metrics.items():
            if row.exporter not in self.exporters:
                raise ValueError(f"{metric} is from {row.exporter}, which the table of exporters lacks")
        return self
