"""Pools beside the fabric, which leave it alone; what is planned for them is in rows/sharing.yaml."""

import pytest
from planned_fabrics import plan_of

from gpu_fabric.resources.losses import losses
from gpu_fabric.resources.order import resources

STACKS = ("doks-inference", "oke-pools")
_OTHERS = "cluster.otherPools"
_SELECTOR = {"doks-inference": "gpu-h200x8-1128gb-fabric-contracted", "oke-pools": "BM.GPU.H200.8"}


@pytest.mark.parametrize("stack", STACKS)
def test_jobs_of_the_fabric_are_those_of_a_stack_without_other_pools(stack: str) -> None:
    alone = plan_of(stack, {_OTHERS: None})
    beside = plan_of(stack)

    assert beside.workload == alone.workload
    assert beside.workload.node_selector == {"node.kubernetes.io/instance-type": _SELECTOR[stack]}
    assert beside.rails == alone.rails
    assert beside.addresses == alone.addresses


def test_a_pool_that_goes_loses_its_nodes_and_gpus_at_most() -> None:
    plan = plan_of("doks-inference")
    found = losses(plan, resources(plan))

    assert (found["cluster-pool-inference"].nodes, found["cluster-pool-inference"].gpus) == (4, 4)
    assert found["cluster-pool-inference"].up_to
    assert (found["cluster-doks"].nodes, found["cluster-doks"].gpus) == (7, 20)
