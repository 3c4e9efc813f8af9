"""Pools beside the fabric, which leave it alone; what is planned for them is in rows/sharing.yaml."""

from __future__ import annotations

from typing import Any

import pytest
from changes import Changes
from planned_fabrics import plan_of

from gpu_fabric.contract.nodes import OtherNodes
from gpu_fabric.plan import Plan
from gpu_fabric.resources.losses import losses
from gpu_fabric.resources.order import resources

STACKS = ("doks-inference", "oke-pools")
_OTHERS = "cluster.otherPools"
_SELECTOR = {"doks-inference": "gpu-h200x8-1128gb-fabric-contracted", "oke-pools": "BM.GPU.H200.8"}


def contract(stack: str, pool: str) -> OtherNodes:
    return next(nodes for nodes in plan_of(stack).cluster.other_pools if nodes.name == pool)


def manifests(plan: Plan, kind: str | None = None) -> list[dict[str, Any]]:
    """The plan's objects of a kind, or all of them."""
    found = [entry.object.manifest() for entry in plan.objects]
    return [entry for entry in found if kind in (None, entry["kind"])]


@pytest.mark.parametrize("stack", STACKS)
def test_jobs_of_the_fabric_are_those_of_a_stack_without_other_pools(stack: str) -> None:
    alone = plan_of(stack, {_OTHERS: None})
    beside = plan_of(stack)

    assert beside.workload == alone.workload
    assert beside.workload.node_selector == {"node.kubernetes.io/instance-type": _SELECTOR[stack]}
    assert beside.rails == alone.rails
    assert beside.addresses == alone.addresses


def test_kueue_gives_out_the_fabrics_nodes_alone() -> None:
    kueue: Changes = {"software.schedulers": {"kueue": {}}}
    found = [
        {entry["kind"]: entry for entry in manifests(plan_of("oke-pools", {**kueue, **more}))}
        for more in ({}, {_OTHERS: None})
    ]

    for kind in ("ClusterQueue", "ResourceFlavor"):
        assert found[0][kind] == found[1][kind]


def test_the_machines_of_every_pool_have_a_row_of_the_cost_and_preemptible_ones_a_price_of_their_own() -> None:
    prices = {"VM.Standard.E5.Flex preemptible": {"hourly": 0.1}, "VM.Standard.E5.Flex": {"hourly": 0.2}}
    pools = {pool.name: pool for pool in plan_of("oke-pools", {"cluster.prices": prices}).cost.pools}

    assert list(pools) == ["gpu", "cpu", "inference", "batch", "system"]
    assert [pools["cpu"].nodes, pools["cpu"].most_nodes] == [1, 5]
    assert str(pools["batch"].all and pools["batch"].all.most) == "0.10"
    assert str(pools["cpu"].all and pools["cpu"].all.most) == "1.00"


def test_a_pool_that_goes_loses_its_nodes_and_gpus_at_most() -> None:
    plan = plan_of("doks-inference")
    found = losses(plan, resources(plan))

    assert (found["cluster-pool-inference"].nodes, found["cluster-pool-inference"].gpus) == (4, 4)
    assert found["cluster-pool-inference"].up_to
    assert (found["cluster-doks"].nodes, found["cluster-doks"].gpus) == (7, 20)
