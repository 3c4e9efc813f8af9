"""Cases of the group `tenants`."""

from __future__ import annotations

from typing import Any

from rules.tables import bad, good, irrelevant

_KEY = "fabric.namespaces"
_KUEUE: dict[str, Any] = {"software.schedulers": {"kueue": {}}}


def _shared(*shares: tuple[str, int, int | None]) -> dict[str, Any]:
    entries = [
        {"name": name, "share": {"nodes": nodes} | ({} if most is None else {"mostNodes": most})}
        for name, nodes, most in shares
    ]
    return {_KEY: entries, "cluster.pools[0].nodes": 4}


_TWO = _shared(("team-a", 2, None), ("team-b", 2, None))
_LENT = _shared(("team-a", 1, 3), ("team-b", 2, None))

CASES = (
    good("TEN001", "host-device", _TWO),
    bad("TEN001", "host-device", _shared(("team-a", 3, None), ("team-b", 2, None)), _KEY),
    bad("TEN001", "host-device", _shared(("team-a", 1, 5)), f"{_KEY}[0].share.mostNodes"),
    bad("TEN001", "host-device", {**_TWO, "software.schedulers": {"kueue": {"quotas": {"nvidia.com/gpu": "24"}}}},
        ".kueue.quotas.nvidia.com/gpu"),
    irrelevant("TEN001", "host-device"),
    good("TEN002", "spiderpool-macvlan", {**_TWO, _KEY: ["default", *_TWO[_KEY]], "fabric.check": {}}),
    good("TEN002", "spiderpool-macvlan", _TWO),
    bad("TEN002", "spiderpool-macvlan", {**_TWO, "fabric.check": {}}, f"{_KEY}[0].share"),
    bad("TEN002", "host-device", {**_TWO, "verification": {"enabled": True, "image": "registry.example/nccl-tests:1"}},
        f"{_KEY}[0].share"),
    irrelevant("TEN002", "host-device", {"fabric.check": {}}),
    good("TEN003", "host-device", {**_LENT, **_KUEUE}),
    bad("TEN003", "host-device", _LENT, f"{_KEY}[0].share.mostNodes"),
    irrelevant("TEN003", "host-device", _TWO),
    good("TEN004", "host-device", {**_TWO, **_KUEUE}),
    bad("TEN004", "host-device", {**_TWO, "software.schedulers": {"kueue": {"queue": "tenant-team-a"},
        "volcano": {"queue": "tenant-team-b"}}}, ".kueue.queue", ".volcano.queue"),
    irrelevant("TEN004", "host-device", {"software.schedulers": {"kueue": {"queue": "tenant-team-a"}}}),
    good("TEN005", "host-device", _TWO),
    bad("TEN005", "host-network", {_KEY: _TWO[_KEY]}, "[0].share", "[1].share"),
    irrelevant("TEN005", "host-network"),
    good("TEN006", "host-device", {**_TWO, _KEY: ["default", *_TWO[_KEY]], **_KUEUE}),
    good("TEN006", "host-device", _TWO),
    bad("TEN006", "host-device", {**_TWO, _KEY: ["default", *_TWO[_KEY]]}, f"{_KEY}[0]"),
    irrelevant("TEN006", "host-device"),
)  # fmt: skip
