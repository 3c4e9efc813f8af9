"""Cases of the group `images`."""

from __future__ import annotations

from rules.tables import bad, good, irrelevant

_KEY = "software.registries"
_EVERY = {"*": "mirror.example"}

CASES = (
    good("IMG001", "host-device", {_KEY: _EVERY}),
    good("IMG001", "guide-23-10", {_KEY: _EVERY}),
    bad("IMG001", "dev", {_KEY: {"nvcr.io": "mirror.example"}}, _KEY),
    bad("IMG001", "host-device", {_KEY: {"quay.io": "mirror.example"}}, _KEY, _KEY),
    irrelevant("IMG001", "host-device"),
    good("IMG002", "host-device", {_KEY: _EVERY, "software.charts": "oci://mirror.example/charts"}),
    good("IMG002", "host-device", {_KEY: _EVERY, "software.charts": "bundled"}),
    bad("IMG002", "host-device", {_KEY: _EVERY, "software.charts": "upstream"}, "software.charts"),
    irrelevant("IMG002", "host-device", {"software.charts": "upstream"}),
    good("IMG003", "host-device", {_KEY: _EVERY}),
    bad("IMG003", "doks-h200", {_KEY: _EVERY}, _KEY),
    bad(
        "IMG003",
        "host-device",
        {_KEY: _EVERY, "software.schedulers.kueue": {"values": {"enableKueueViz": True}}},
        _KEY,
    ),
    irrelevant("IMG003", "doks-h200"),
    good("IMG004", "dev", {_KEY: {"*": "mirror.example/all"}}),
    good("IMG004", "dev", {_KEY: {"*": "mirror.example:5000", "nvcr.io": "mirror.example"}}),
    bad("IMG004", "dev", {_KEY: {"*": "mirror.example:5000"}}, _KEY),
    bad("IMG004", "guide-23-10", {_KEY: {"ghcr.io": "mirror.example/under_score"}}, _KEY),
    irrelevant("IMG004", "doks-h200", {_KEY: {"*": "mirror.example:5000"}}),
)
