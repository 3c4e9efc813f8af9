"""The Grafana dashboard of a fabric: links, traffic, errors, pauses, devices and alarms, each with its rail.

In the form of Grafana's dashboard JSON (schemaVersion 39, Grafana 10.4 and later).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from gpu_fabric.base.tables import read_rows
from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.k8s.core import ConfigMap
from gpu_fabric.model import FrozenModel
from gpu_fabric.plan.monitoring.alarms import alarms_of
from gpu_fabric.plan.monitoring.watched import Watched, filled, selector

FILE = "gpu-fabric.json"
"""The key of the ConfigMap."""

_SCHEMA_VERSION = 39
_WIDTH = 24
_DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}


class _Panel(FrozenModel):
    """A row of dashboard.yaml, which explains the fields."""

    title: str
    queries: dict[str, str]
    kind: Literal["stat", "state-timeline", "timeseries"] = "timeseries"
    unit: str = "short"
    width: int = 12
    height: int = 8
    alarm: str | None = None


def dashboard(watched: Watched) -> dict[str, Any]:
    """The dashboard as Grafana reads it."""
    title = f"Fabric {watched.fabric} of stack {watched.case.spec.name}"
    variable = {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus", "current": {}}
    return {
        "uid": None,
        "title": title,
        "tags": ["gpu-fabric"],
        "schemaVersion": _SCHEMA_VERSION,
        "editable": False,
        "refresh": "1m",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [variable]},
        "annotations": {"list": []},
        "panels": list(_panels(watched)),
    }


def dashboard_text(watched: Watched) -> str:
    """The dashboard as JSON."""
    return json.dumps(dashboard(watched), indent=2, sort_keys=True) + "\n"


def dashboard_config_map(watched: Watched) -> ConfigMap:
    """The dashboard as Grafana's sidecar finds it (source: the chart grafana, sidecar.dashboards.label)."""
    name = watched.case.own_copy("gpu-fabric-dashboard")
    metadata = ObjectMeta(
        name=name, namespace=watched.case.spec.monitoring.namespace, labels={"grafana_dashboard": "1"}
    )
    return ConfigMap(metadata=metadata, data={f"{name}.json": dashboard_text(watched)})


def _panels(watched: Watched) -> Iterator[dict[str, Any]]:
    own = selector(stack=watched.case.spec.name, fabric=watched.fabric)
    values = {**watched.values, "own": own, "each": str(min(watched.devices, default=1))}
    present = alarms_of(watched)
    x = y = line = 0
    rows = read_rows(Path(__file__).with_suffix(".yaml"), _Panel)
    shown = (panel for panel in rows if panel.alarm is None or panel.alarm in present)
    for number, panel in enumerate(shown, start=1):
        if x + panel.width > _WIDTH:
            x, y, line = 0, y + line, 0
        yield {
            "id": number,
            "type": panel.kind,
            "title": panel.title,
            "datasource": _DATASOURCE,
            "gridPos": {"x": x, "y": y, "w": panel.width, "h": panel.height},
            "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
            "targets": [
                {
                    "refId": chr(ord("A") + place),
                    "datasource": _DATASOURCE,
                    "expr": filled(expression, values),
                    "legendFormat": filled(legend, values),
                }
                for place, (expression, legend) in enumerate(panel.queries.items())
            ],
        }
        x, line = x + panel.width, max(line, panel.height)
