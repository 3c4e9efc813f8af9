"""Cases of the rules about schedulers."""

from __future__ import annotations

from rules.tables import RuleCase, bad, good, irrelevant

_VOLCANO = "software.schedulers.volcano"

CASES: tuple[RuleCase, ...] = (
    good("SCH001", "host-device", {_VOLCANO: {}}),
    good("SCH001", "host-device", {_VOLCANO: {}, "cluster.installed": ["prometheus-operator"]}),
    bad("SCH001", "host-device", {_VOLCANO: {}, "cluster.installed": ["volcano"]}, _VOLCANO),
    bad("SCH001", "guide-23-10", {_VOLCANO: {"queue": "training"}, "cluster.installed": ["volcano"]}, _VOLCANO),
    irrelevant("SCH001", "host-device", {"cluster.installed": ["volcano"]}),
)
