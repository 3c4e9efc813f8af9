"""Cases of the group `cost`."""

from __future__ import annotations

from rules.tables import bad, good, irrelevant

_PRICE = {"hourly": 20.5, "asOf": "2026-11-01"}
_KEY = "cluster.prices"

CASES = (
    good("CST001", "doks-h200", {_KEY: {"s-4vcpu-8gb": _PRICE}}),
    bad("CST001", "dev", {_KEY: {"BM.GPU.A100": _PRICE}}, ".BM.GPU.A100"),
    irrelevant("CST001", "dev"),
    good("CST002", "doks-h200", {_KEY: {"s-4vcpu-8gb": _PRICE}}),
    bad("CST002", "doks-h200", {_KEY: {"s-4vcpu-8gb": {"hourly": 20.5}}}, ".s-4vcpu-8gb"),
    irrelevant("CST002", "dev"),
)  # fmt: skip
