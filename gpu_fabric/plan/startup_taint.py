"""The taint of GPU nodes whose fabric is not proven: its key, which pools register with it, and who tolerates it."""

from __future__ import annotations

from gpu_fabric.k8s.scheduling import Toleration
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.fabrics import fabrics_of_pool
from gpu_fabric.spec.cluster import PoolSpec, TaintSpec
from gpu_fabric.spec.fabric import FabricSpec
from gpu_fabric.spec.stack import StackSpec

CONTROLLER = "node-readiness-controller"

# The cluster autoscaler takes taints with its own prefix for ones that go by themselves: a new node is what the pods
# wait for, although they do not tolerate it (source: cluster-autoscaler/utils/taints/taints.go). The Node Readiness
# Controller takes no other prefix than readiness.k8s.io/, for which the autoscaler has --startup-taint-prefix.
_KEYS = {
    "agent": "startup-taint.cluster-autoscaler.kubernetes.io/gpu-fabric-not-ready",
    CONTROLLER: "readiness.k8s.io/gpu-fabric-not-ready",
}

STARTUP_KEYS = frozenset(_KEYS.values())
"""The keys of that taint, by the program that takes it away."""


def startup_taint(section: FabricSpec) -> TaintSpec | None:
    """The taint of a fabric's nodes while they are not proven; None where jobs are not kept off them."""
    key = None if section.readiness is None else _KEYS.get(section.readiness.taint)
    # DigitalOcean's provider asks for a value.
    return None if key is None else TaintSpec(key=key, value="pending")


def startup_taints(spec: StackSpec, pool: PoolSpec) -> tuple[TaintSpec, ...]:
    """The taints with which new nodes of a pool join, in addition to those of the pool."""
    wanted = (
        startup_taint(one.fabric)
        for one in fabrics_of_pool(spec, pool)
        if one.fabric.readiness is not None and one.fabric.readiness.startup_taint
    )
    return tuple(dict.fromkeys(taint for taint in wanted if taint is not None))


def registered_taints(spec: StackSpec, pool: PoolSpec) -> tuple[TaintSpec, ...]:
    """What the nodes of a pool that the stack creates register with, together with the vendor's taint."""
    return (*(pool.taints or ()), *startup_taints(spec, pool))


def startup_tolerations(case: Case) -> tuple[Toleration, ...]:
    """What software that nodes need before they are proven tolerates, and jobs do not.

    That of a storage fabric runs on nodes of compute fabrics.
    """
    sections = (one.spec.fabric for one in (case, *case.compute))
    taints = dict.fromkeys(taint for section in sections if (taint := startup_taint(section)) is not None)
    return tuple(Toleration(key=taint.key, operator="Exists", effect=taint.effect) for taint in taints)
