"""Cases of the group `upgrade`."""

from __future__ import annotations

from typing import Any

from rules.tables import bad, good, irrelevant

_WAVES: dict[str, Any] = {"upgrade": {"nodes": 1}}
_AUTOMATIC = "software.gpuOperator.values.driver.upgradePolicy.autoUpgrade"
_STRATEGY = "software.gpuOperator.values.daemonsets.updateStrategy"
_OFED = {"software.ofedDriver": {"os": "ubuntu", "osVersion": "22.04"}}
_MACHINES: dict[str, Any] = {"upgrade": {"machines": True}, "fabric.readiness": {}}
_POOL = "cluster.pools[0]"
_MANAGED: dict[str, Any] = {**_MACHINES, f"{_POOL}.cycling": None}
_BOUNDS = {"minNodes": 1, "maxNodes": 4}

CASES = (
    good("UPG001", "host-device", {**_WAVES, _AUTOMATIC: False}),
    good("UPG001", "host-device", {**_WAVES, _STRATEGY: "OnDelete"}),
    bad("UPG001", "host-device", {**_WAVES, _AUTOMATIC: True}),
    bad("UPG001", "host-device", {**_WAVES, _STRATEGY: "RollingUpdate"}),
    irrelevant("UPG001", "host-device", {_AUTOMATIC: True}),
    good("UPG002", "externally-managed", _WAVES),
    bad("UPG002", "sriov-operator", _WAVES),
    irrelevant("UPG002", "sriov-operator"),
    good("UPG003", "spiderpool-macvlan", _WAVES),
    bad("UPG003", "spiderpool-macvlan", {**_WAVES, **_OFED}),
    irrelevant("UPG003", "spiderpool-macvlan", _OFED),
    good("UPG004", "oke-h200", _MANAGED),
    bad("UPG004", "oke-h100-26-4", _MACHINES, f"{_POOL}.placement"),
    bad("UPG004", "doks-h200", _MACHINES, "upgrade.machines"),
    bad("UPG004", "host-device", _MACHINES, "upgrade.machines"),
    irrelevant("UPG004", "oke-h100-26-4", _WAVES),
    good("UPG005", "oke-h200", _MANAGED),
    bad("UPG005", "oke-h200", _MACHINES, f"{_POOL}.cycling"),
    bad("UPG005", "oke-h200", {**_MANAGED, f"{_POOL}.autoScale": _BOUNDS}),
    irrelevant("UPG005", "oke-h200", _WAVES),
    irrelevant("UPG005", "doks-h200", _MACHINES),
    good("UPG006", "oke-h200", _MANAGED),
    bad("UPG006", "oke-h200", {"upgrade": {"machines": True}}, ".machines"),
    bad("UPG006", "oke-h200", {**_MANAGED, "fabric.readiness": {"startupTaint": False}}, "upgrade.machines"),
    bad("UPG006", "oke-h200", {**_MANAGED, "fabric.readiness": {"taint": "none"}}, "upgrade.machines"),
    irrelevant("UPG006", "oke-h200", _WAVES),
    irrelevant("UPG006", "doks-h200", {"upgrade": {"machines": True}}),
)  # fmt: skip
