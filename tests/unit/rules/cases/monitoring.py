"""Cases of the group `monitoring`."""

from __future__ import annotations

from typing import Any

from rules.tables import bad, good, irrelevant

_THERE = {"cluster.installed": ["prometheus-operator"]}


def _wanted(**keys: Any) -> dict[str, Any]:
    return {"monitoring": {"prometheusRules": True, **keys}}


CASES = (
    good("MON001", "host-device", {**_wanted(), **_THERE}),
    bad("MON001", "host-device", _wanted(dashboard=True), ".prometheusRules"),
    irrelevant("MON001", "host-device"),
    good("MON002", "oke-h100-26-4", {**_wanted(cables={"*": "leaf-{rail}", "gpu-07/3": "swp3"}), **_THERE}),
    bad("MON002", "doks-h200", {"monitoring": {"cables": {"gpu-07/3": "leaf-3", "*": "leaf-{rail}",
        "gpu-1*": "row of {node}"}}}, ".cables.gpu-07/3", ".cables.*"),
    irrelevant("MON002", "doks-h200"),
    good("MON003", "two-machines", {**_wanted(nodeLabel="node"), **_THERE}),
    bad("MON003", "two-machines", {**_wanted(), **_THERE}, "monitoring.nodeLabel"),
    bad("MON003", "two-machines", {"monitoring": {"dashboard": True}}, ".nodeLabel"),
    good("MON003", "storage-fabric", {**_wanted(), **_THERE}),
    irrelevant("MON003", "two-machines"),
    good("MON004", "host-device", {**_wanted(labels={"release": "prometheus"}), **_THERE}),
    bad("MON004", "host-device", {**_wanted(), **_THERE}, "monitoring.labels"),
    irrelevant("MON004", "host-device", {"monitoring": {"dashboard": True}}),
    good("MON005", "host-device", {"monitoring": {"dashboard": True, "namespace": "graphs"}}),
    bad("MON005", "host-device", {"monitoring": {"namespace": "graphs"}}, ".namespace"),
    irrelevant("MON005", "host-device"),
)  # fmt: skip
