"""Cases of the group `split`."""

from __future__ import annotations

from rules.tables import bad, good, irrelevant

_CLUSTER = {"split": {"part": "cluster"}}
_MODE = "cluster.kubeconfig.mode"

CASES = (
    good("SPL004", "doks-split-cluster"),
    bad("SPL004", "dev", {**_CLUSTER, "fabric": None, "software": None}, "split.part"),
    irrelevant("SPL004", "doks-h200"),
    good("SPL005", "doks-split-cluster", {_MODE: "raw"}),
    bad("SPL005", "doks-split-cluster", {_MODE: "token"}),
    irrelevant("SPL005", "doks-h200"),
)  # fmt: skip
