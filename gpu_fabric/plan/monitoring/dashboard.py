"""The Grafana dashboard of a fabric: links, traffic, errors, pauses, devices and alarms, each with its rail.

In the form of Grafana's dashboard JSON (schemaVersion 39, Grafana 10.4 and later).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.k8s.core import ConfigMap
from gpu_fabric.plan.monitoring.alarms import alarms_of
from gpu_fabric.plan.monitoring.watched import Watched, filled, selector

FILE = "gpu-fabric.json"
"""The key of the ConfigMap."""

_SCHEMA_VERSION = 39
_WIDTH = 24
_DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}


class _Panel(NamedTuple):
    """A panel: its kind, title, queries with their legends, unit, size, and for which alarm's data it is.

    Without an alarm it is always there.
    """

    kind: str
    title: str
    queries: tuple[tuple[str, str], ...]
    unit: str = "short"
    width: int = 12
    height: int = 8
    alarm: str = ""


_RAIL = "{{<node>}} rail {{rail}}"
_FIRING = 'count(ALERTS{alertname=~"Fabric.*",alertstate="firing",<own>}) or vector(0)'
_WHOLE = (
    'count(count by (node) (kube_node_status_allocatable{resource=~"<resources>"} >= <each>) == <kinds>) or vector(0)'
)
_NOT_PROVEN = (
    'count(kube_node_status_condition{condition="gpu-fabric.dev/FabricReady",status="true"} == 0) or vector(0)'
)
_MARKED = "(rate(node_infiniband_np_ecn_marked_roce_packets_received_total{<rdma>}[5m]))<rail>"
_PAUSED = "(rate(node_ethtool_received_prio<priority>_pause_duration{<interfaces>}[5m]) / 1000000)<rail>"
_STORMS = "(increase(node_ethtool_transmitted_pause_storm_error_events{<interfaces>}[1h]))<rail>"
_PANELS = (
    _Panel("stat", "Alarms firing", ((_FIRING, ""),), "short", 6, 4),
    _Panel(
        "stat",
        "Links that are not active",
        (("count(node_infiniband_state_id{<rdma>} != 4) or vector(0)", ""),),
        "short",
        6,
        4,
    ),
    _Panel("stat", "Nodes with all devices", ((_WHOLE, ""),), "short", 6, 4, "FabricDevicesMissing"),
    _Panel("stat", "Nodes that are not proven", ((_NOT_PROVEN, ""),), "short", 6, 4, "FabricNodeNotProven"),
    _Panel(
        "state-timeline",
        "State of each link (4 is active)",
        (("node_infiniband_state_id{<rdma>}<rail>", _RAIL),),
        "short",
        24,
        10,
    ),
    _Panel(
        "timeseries",
        "Received by the nodes' RDMA devices",
        (("(rate(node_infiniband_port_data_received_bytes_total{<rdma>}[5m]))<rail>", _RAIL),),
        "Bps",
    ),
    _Panel(
        "timeseries",
        "Sent by the nodes' RDMA devices",
        (("(rate(node_infiniband_port_data_transmitted_bytes_total{<rdma>}[5m]))<rail>", _RAIL),),
        "Bps",
    ),
    _Panel(
        "timeseries",
        "Losses of a link in an hour",
        (("(increase(node_network_carrier_down_changes_total{<interfaces>}[1h]))<rail>", _RAIL),),
        alarm="FabricLinkFlapping",
    ),
    _Panel(
        "timeseries",
        "InfiniBand links that went down, or recovered, in an hour",
        (
            ("(increase(node_infiniband_link_downed_total{<rdma>}[1h]))<rail>", f"{_RAIL} down"),
            ("(increase(node_infiniband_link_error_recovery_total{<rdma>}[1h]))<rail>", f"{_RAIL} recovered"),
        ),
        alarm="FabricPortFlapping",
    ),
    _Panel(
        "timeseries",
        "Packets sent again",
        (
            ("(rate(node_infiniband_packet_sequence_errors_total{<rdma>}[5m]))<rail>", f"{_RAIL} out of order"),
            ("(rate(node_infiniband_local_ack_timeout_errors_total{<rdma>}[5m]))<rail>", f"{_RAIL} not acknowledged"),
        ),
        "pps",
        alarm="FabricRdmaErrors",
    ),
    _Panel(
        "timeseries", "Packets marked as congested (ECN)", ((_MARKED, _RAIL),), "pps", alarm="FabricCongestionMarks"
    ),
    _Panel(
        "timeseries",
        "Part of the time that lossless traffic had to wait",
        ((_PAUSED, _RAIL),),
        "percentunit",
        alarm="FabricPaused",
    ),
    _Panel("timeseries", "Pause storms in an hour", ((_STORMS, _RAIL),), alarm="FabricPauseStorm"),
    _Panel(
        "timeseries",
        "Devices that nodes offer",
        (('kube_node_status_allocatable{resource=~"<resources>"}', "{{node}} {{resource}}"),),
        alarm="FabricDevicesMissing",
    ),
    _Panel(
        "timeseries",
        "Pods of operators that are missing on nodes",
        (('kube_daemonset_status_number_unavailable{namespace=~"<namespaces>"}', "{{namespace}}/{{daemonset}}"),),
        alarm="FabricNodePodsMissing",
    ),
)


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
    shown = (panel for panel in _PANELS if not panel.alarm or panel.alarm in present)
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
                for place, (expression, legend) in enumerate(panel.queries)
            ],
        }
        x, line = x + panel.width, max(line, panel.height)
