"""`gpu-fabric:monitoring`: alarms and a dashboard of the fabric for a Prometheus and a Grafana that the cluster has."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from gpu_fabric.base.grammar import DnsLabel, LabelKey, LabelValue, Spelled
from gpu_fabric.model import FrozenModel

MOST_CABLES = 500
"""Limit of the entries of `cables`: they are written into each alarm's text."""


def _cable_text(value: str) -> str:
    """A text whose braces hold `node` or `rail` alone: others would be templates of Prometheus."""
    if re.search(r"[{}]", re.sub(r"{(node|rail)}", "", value)):
        raise ValueError(f"{value!r} has braces around something else than node or rail; write {{node}} and {{rail}}")
    return value


CablePlace = Annotated[
    str,
    Spelled(
        r"[a-zA-Z0-9.*?_-]{1,253}(/[0-9]{1,2})?",
        "place of a cable",
        "node or node/rail, with * and ? for any characters, such as gpu-07/3",
    ),
]
CableText = Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(_cable_text)]
SeriesLabel = Annotated[
    str, Spelled(r"[a-zA-Z_][a-zA-Z0-9_]{0,62}", "label of a series", "letters, digits and '_', such as instance")
]
Address = Annotated[str, Spelled(r"https?://[^\s#]+", "address of a page", "https://…, without # and what follows it")]


class MonitoringSpec(FrozenModel):
    """Alarms and a dashboard, which the stack writes for the Prometheus and the Grafana of the cluster."""

    prometheus_rules: bool = Field(
        default=False,
        description="whether the stack applies its alarms as PrometheusRules; needs the Prometheus operator",
    )
    dashboard: bool = Field(
        default=False,
        description="whether the stack applies a Grafana dashboard, as a ConfigMap with the label grafana_dashboard",
    )
    namespace: DnsLabel = Field(
        default="monitoring", description="namespace of both, which exists: that of Prometheus and Grafana"
    )
    labels: dict[LabelKey, LabelValue] = Field(
        default={}, description="labels of the PrometheusRules, by which Prometheus selects them, such as its `release`"
    )
    node_label: SeriesLabel = Field(
        default="instance",
        description="label of node_exporter's series that names the node; `instance` has its address, unless it is "
        "relabelled",
    )
    runbooks: Address | None = Field(
        default=None,
        description="address of a page of docs/alarms.md, to which each alarm adds its anchor; by default alarms name "
        "the page alone",
    )
    cables: dict[CablePlace, CableText] = Field(
        default={},
        max_length=MOST_CABLES,
        description="cables or switch ports for the texts of alarms, by node or node/rail: `*: leaf-{rail}, {node}`, "
        "`gpu-07/3: leaf-3b swp12`; * and ? stand for any characters, and the place with the most others counts",
    )
