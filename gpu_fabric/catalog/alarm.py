"""Alarms on a fabric: what `alarms.yaml` says of each, and of the metrics that it asks for."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field

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
    "amdGpus",
    "amdNics",
]
Duration = str
_METRIC = re.compile(r"\b(?:node|kube|gpu|nic|lif|spiderpool|DCGM)_\w+(?:<priority>\w*)?|\bALERTS\b")


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
