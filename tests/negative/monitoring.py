"""Alarms: kinds that no operator has brought, and names of cables that are templates or places of no node."""

from __future__ import annotations

from negative.base import Base
from negative.mistake import Kind, together, written, written_below

_CABLES = "monitoring.cables"


def _without_prometheus(base: Base) -> bool:
    return "prometheus-operator" not in (base.at("cluster.installed") or ())


KINDS = (
    Kind("alarms for a Prometheus operator that is not there", "MON001",
        written("monitoring.prometheusRules", True, where=_without_prometheus)),
    Kind("a cable is named by a template, or at no place", "SPC002", together(
        *(written_below(_CABLES, ".gpu-1", {"gpu-1": text}) for text in ("{{ $labels.node }}", "port {port}", "{rail",
            "", 3)),
        *(written_below(_CABLES, f".{place}", {place: "leaf"}) for place in ("gpu-1/a", "gpu 1", "gpu-1/100")),
        written(_CABLES, ["leaf"], "leaf"))),
    Kind("a label of node_exporter's series is none", "SPC002",
        written("monitoring.nodeLabel", "k8s-node", "1node", "", "node name")),
)  # fmt: skip
