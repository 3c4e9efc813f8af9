"""The fabric on clusters that Oracle makes: the same as on a cluster that is there already, for every shape."""

from __future__ import annotations

from typing import Any

import pytest
from changes import Changes
from planned_fabrics import plan_of
from planned_oke import POOL

from gpu_fabric.plan import Plan

# RDMA NICs of a node, and the PCI device of their virtual functions, as Oracle's shapes table and policies have them.
VIRTUAL = {
    "BM.GPU4.8": (16, "101a"),
    "BM.GPU.B4.8": (16, "101a"),
    "BM.GPU.A100-v2.8": (16, "101a"),
    "BM.GPU.H100.8": (16, "101e"),
    "BM.GPU.H200.8": (8, "101e"),
    "BM.GPU.B200.8": (8, "101e"),
    "BM.GPU.MI300X.8": (8, "101e"),
}


EXISTING = {
    "provider": "existing",
    "kubeconfig": "kubeconfig",
    "ranges": {"pods": "10.240.0.0/12", "services": "10.96.0.0/16", "nodes": "10.140.0.0/16"},
}


def on_oke(shape: str, **fabric: Any) -> Plan:
    return plan_of("oke-h100-26-4", _changes(shape, fabric))


def on_existing(shape: str, **fabric: Any) -> Plan:
    pools = [{"name": "gpu", "shape": shape, "nodes": 4}]
    return plan_of("oke-h100-26-4", {**_changes(shape, fabric), "cluster": {**EXISTING, "pools": pools}})


def _changes(shape: str, fabric: dict[str, Any]) -> Changes:
    return {f"{POOL}.shape": shape, "fabric": fabric or {"addressing": {"supernet": "192.168.0.0/16"}}}


@pytest.mark.parametrize("fabric", [{}, {"model": "host-network"}], ids=["sriov", "host-network"])
@pytest.mark.parametrize("shape", VIRTUAL)
def test_only_cluster_cost_and_findings_differ_from_the_same_machines_in_a_cluster_that_is_there(
    shape: str, fabric: dict[str, Any]
) -> None:
    made, there = (plan.model_dump(mode="json") for plan in (on_oke(shape, **fabric), on_existing(shape, **fabric)))

    assert {key for key in made if made[key] != there[key]} == {"choices", "cluster", "cost", "findings"}
    assert {key for key in made["choices"] if made["choices"][key] != there["choices"][key]} == {"provider"}
