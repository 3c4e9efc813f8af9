"""What jobs on a size of DigitalOcean's must know; the rest of DOKS is in rows/doks.yaml."""

from __future__ import annotations

from typing import Any

import pytest
from planned_fabrics import plan_of

from gpu_fabric.plan import Plan

B300 = "gpu-b300x8-2304gb-fabric-contracted"
POOL = "cluster.pools[0]"


def on(shape: str, **more: Any) -> Plan:
    return plan_of("doks-h200", {f"{POOL}.shape": shape, **more})


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        (B300, ["all 16 networks", "NCCL_IB_GID_INDEX", "800 to 850 GB/s"]),
        ("gpu-b300x8-2304gb-lc-fabric-contracted", ["all 16 networks"]),
        ("gpu-mi325x8-2048gb-fabric-contracted", ["supplementalGroups"]),
        ("gpu-mi350x8-2304gb-fabric-contracted", ["supplementalGroups", "librccl-anp.so", "ROCm 7"]),
        ("gpu-h200x8-1128gb-fabric-contracted", []),
    ],
)
def test_the_contract_says_what_jobs_on_a_size_must_know(shape: str, words: list[str]) -> None:
    advice = on(shape).workload.advice

    assert bool(advice) == bool(words)
    assert all(any(word in line for line in advice) for word in words)
