"""Committed stacks with their alarms asked for."""

from typing import Any

from changes import Changes, changed
from committed_stacks import folder_of

from gpu_fabric.plan.monitoring.watched import Watched
from gpu_fabric.render.alarms import watched_fabrics
from gpu_fabric.spec.load import read_document, validated

MONITORED: dict[str, Any] = {"prometheusRules": True, "dashboard": True}
# What a stack file states about hosts and software for the alarms that few stacks have.
WITH_PAUSES = {"fabric.hostPreparation.lossless": {}}
WITH_MEASUREMENT = {
    "verification": {"enabled": True, "image": "registry.example/nccl-tests:1", "schedule": "0 2 * * *"}
}
WITH_PEERMEM = {"software.gpuOperator.driver": True, "software.gpuOperator.gpuDirect": "peermem"}

# Stacks that have every alarm together, with what their files state for it. Promtool is given a series for every node
# that a pool has room for: they have room for a hundred.
EVERY_ALARM: dict[str, Changes] = {
    "oke-h100": {"fabric.addressing.supernet": "192.168.0.0/20"},
    "roce-macvlan": {"fabric.addressing.supernet": "192.168.0.0/19", **WITH_PAUSES, **WITH_MEASUREMENT, **WITH_PEERMEM},
    "ib-sriov": {"monitoring.nodeLabel": "node"},
    "doks-h200": {},
    "mi355x-pollara": {
        "cluster.installed": ["prometheus-operator"],
        "software.amdNetworkOperator.metricsExporter": True,
    },
}


def watched(stack: str, changes: Changes) -> tuple[Watched, ...]:
    """The fabrics of a committed stack, with its alarms asked for and some values changed."""
    document = read_document(stack, folder_of(stack))
    operators = [*document.sections["cluster"].get("installed", ()), "prometheus-operator"]
    asked = {"monitoring": MONITORED, "cluster.installed": operators}
    return watched_fabrics(validated(changed(document, {**asked, **changes})))
