"""Cases of the group `upgrade`."""

from __future__ import annotations

from typing import Any

from rules.tables import bad, good, irrelevant

_WAVES: dict[str, Any] = {"upgrade": {"nodes": 1}}
_AUTOMATIC = "software.gpuOperator.values.driver.upgradePolicy.autoUpgrade"
_STRATEGY = "software.gpuOperator.values.daemonsets.updateStrategy"
_OFED = {"software.ofedDriver": {"os": "ubuntu", "osVersion": "22.04"}}

CASES = (
    good("UPG001", "host-device", {**_WAVES, _AUTOMATIC: False}),
    good("UPG001", "host-device", {**_WAVES, _STRATEGY: "OnDelete"}),
    bad("UPG001", "host-device", {**_WAVES, _AUTOMATIC: True}, _AUTOMATIC),
    bad("UPG001", "host-device", {**_WAVES, _STRATEGY: "RollingUpdate"}, _STRATEGY),
    irrelevant("UPG001", "host-device", {_AUTOMATIC: True}),
    good("UPG002", "externally-managed", _WAVES),
    bad("UPG002", "sriov-operator", _WAVES, "upgrade"),
    irrelevant("UPG002", "sriov-operator"),
    good("UPG003", "spiderpool-macvlan", _WAVES),
    bad("UPG003", "spiderpool-macvlan", {**_WAVES, **_OFED}, "software.ofedDriver"),
    irrelevant("UPG003", "spiderpool-macvlan", _OFED),
)
