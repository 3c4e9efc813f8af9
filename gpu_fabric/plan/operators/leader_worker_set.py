"""LeaderWorkerSet's controller, by its own chart. Nothing of the fabric needs it."""

from __future__ import annotations

from gpu_fabric.plan.operators.operator import OwnChart, chart_operator

OPERATOR = chart_operator(OwnChart("lws", "schedulers.leaderWorkerSet"), "operators:LeaderWorkerSet", "LeaderWorkerSet")
