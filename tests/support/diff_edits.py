"""Edits of committed stacks whose difference is reviewed, each with a golden file of its name."""

from __future__ import annotations

import json
from datetime import date, timedelta
from functools import cache
from typing import Any

from changes import Changes, changed
from cloud_edits import CLOUD_EDITS, H200, NODES, POOL, Edit, of_rails
from committed_stacks import folder_of

from gpu_fabric.changes.guard import judge_plans
from gpu_fabric.changes.model import Judgement, PlanDiff
from gpu_fabric.changes.plan_diff import plan_diff
from gpu_fabric.plan import Plan
from gpu_fabric.prepare import prepare
from gpu_fabric.render.model import RenderedPlan
from gpu_fabric.render.rendering import rendered
from gpu_fabric.spec.guard import AcknowledgementSpec
from gpu_fabric.spec.load import read_document

__all__ = [
    "EDITS",
    "H200",
    "NODES",
    "POOL",
    "TODAY",
    "Edit",
    "diff_of",
    "judgement_of",
    "named",
    "plan_of",
    "prepared",
]

TODAY = date(2026, 11, 22)
SOON = TODAY + timedelta(days=7)


def _nics(number: int) -> list[dict[str, Any]]:
    """The first NICs of the machines in the stack of Spiderpool."""
    return [{"interface": f"enp{11 + nic}s0f0np0", "nearestGpu": nic} for nic in range(number)]


_IP_POOLS = "ip-pools-rail-{}-nvidia-network-operator"
_NODE_POOLS = "node-pools-rail-{}"
_TRAINING = ["default", {"name": "training", "create": True}]
_SMALL_SUPERNET = {"fabric.addressing.supernet": "192.168.0.0/17"}

EDITS = (
    Edit("a node more", "dev", {NODES: 4}),
    Edit("a node fewer", "dev", {NODES: 2}),
    Edit(
        "supernet moved",
        "dev",
        {"fabric.addressing.supernet": "10.64.0.0/16"},
        guarded=of_rails(_IP_POOLS, range(16)),
    ),
    Edit(
        "supernet grown, and cut anew",
        "dev",
        {"fabric.addressing.supernet": "192.168.0.0/16"},
        _SMALL_SUPERNET,
        of_rails(_IP_POOLS, range(1, 16)),
    ),
    Edit(
        "supernet grown, and cut as before",
        "dev",
        {"fabric.addressing.supernet": "192.168.0.0/16", "fabric.addressing.prefixLength": 21},
        _SMALL_SUPERNET,
    ),
    Edit("another model", "dev", {"fabric.model": "macvlan"}),
    Edit("all rails flat", "dev", {"fabric.addressing.layout": "flat"}, guarded=of_rails(_IP_POOLS, range(16))),
    Edit(
        "another manager of addresses",
        "dev",
        {"fabric.addressing.ipam": "whereabouts"},
        guarded=of_rails(_IP_POOLS, range(16)),
    ),
    Edit(
        "shape with half the NICs",
        "dev",
        {f"{POOL}.shape": "BM.GPU.H200.8"},
        guarded=of_rails(_IP_POOLS, range(8, 16)),
    ),
    Edit(
        "shape with twice the NICs",
        "dev",
        {f"{POOL}.shape": "BM.GPU.H100.8"},
        {f"{POOL}.shape": "BM.GPU.H200.8"},
    ),
    Edit("chart values", "dev", {"software.networkOperator.values": {"operator": {"logLevel": "debug"}}}),
    Edit("namespace added", "dev", {"fabric.namespaces": _TRAINING}),
    Edit(
        "namespace with jobs removed",
        "dev",
        {"fabric.namespaces": ["default"]},
        {"fabric.namespaces": _TRAINING},
        guarded=("namespaces-training",),
    ),
    Edit(
        "two namespaces with jobs removed",
        "dev",
        {"fabric.namespaces": ["default"]},
        {"fabric.namespaces": [*_TRAINING, {"name": "tuning", "create": True}]},
        guarded=("namespaces-training", "namespaces-tuning"),
    ),
    Edit(
        "namespace no longer offered",
        "dev",
        {"fabric.namespaces": ["default"]},
        {"fabric.namespaces": ["default", "training"]},
        guarded=of_rails("networks-rail-{}-training", range(16)),
    ),
    Edit(
        "another cluster",
        "dev",
        {"cluster.id": "the-other"},
        {"cluster.id": "the-one"},
        guarded=("cluster-kubernetes",),
    ),
    Edit(
        "platform on the cluster of another organization",
        "doks-split-platform",
        {"split.organization": "cluster-team"},
        guarded=("cluster-kubernetes",),
    ),
    Edit(
        "platform on another cluster",
        "doks-split-platform",
        {"split.clusterStack": "oke-split-cluster", "fabric.addressing": {"supernet": "192.168.0.0/16"}},
        guarded=("cluster-kubernetes",),
    ),
    Edit("scheduler added", "dev", {"software.schedulers": {"volcano": {}}}),
    Edit("setting of NCCL", "dev", {"fabric.nccl": {"settings": {"NCCL_DEBUG": "INFO"}}}),
    Edit(
        "NIC removed",
        "spiderpool-sriov-per-node",
        {"cluster.shapes.guide-cx5.nics": _nics(7)},
        guarded=("sriov-rail-07-spiderpool", "node-pools-rail-07"),
    ),
    Edit(
        "a node with pools of its own fewer",
        "spiderpool-sriov-per-node",
        {NODES: 7},
        guarded=of_rails(_NODE_POOLS, range(8)),
    ),
    Edit(
        "pools of nodes cut anew",
        "spiderpool-sriov-per-node",
        {"fabric.addressing.supernet": "172.30.0.0/21"},
        guarded=of_rails(_NODE_POOLS, range(8)),
    ),
    Edit(
        "ranges of whereabouts moved",
        "whereabouts",
        {"fabric.addressing.supernet": "10.77.0.0/16"},
        guarded=of_rails("networks-rail-{}-default", range(8)),
    ),
    *CLOUD_EDITS,
)


@cache
def _prepared(stack: str, changes: str) -> Plan:
    document = read_document(stack, folder_of(stack))
    return prepare(changed(document, json.loads(changes)), for_up=False).plan


@cache
def _rendered(stack: str, changes: str) -> RenderedPlan:
    return rendered(_prepared(stack, changes))


def prepared(stack: str, changes: Changes) -> Plan:
    """The plan of a committed stack with some values changed."""
    return _prepared(stack, json.dumps(changes, sort_keys=True))


def plan_of(stack: str, changes: Changes) -> RenderedPlan:
    """The rendered plan of a committed stack with some values changed."""
    return _rendered(stack, json.dumps(changes, sort_keys=True))


@cache
def _diff(stack: str, before: str, after: str) -> PlanDiff:
    return plan_diff(_rendered(stack, before), _rendered(stack, after))


def diff_of(edit: Edit) -> PlanDiff:
    """What an edit makes of its stack."""
    before, after = edit.before, {**edit.before, **edit.after}
    return _diff(edit.stack, *(json.dumps(changes, sort_keys=True) for changes in (before, after)))


def judgement_of(edit: Edit, acknowledgements: tuple[AcknowledgementSpec, ...] = (), today: date = TODAY) -> Judgement:
    """The guard's judgement on an edit by some acknowledgements."""
    before = plan_of(edit.stack, edit.before)
    after = plan_of(edit.stack, {**edit.before, **edit.after}).model_copy(update={"acknowledgements": acknowledgements})
    # The guard reads the later plan's acknowledgements; the difference only lists them.
    return judge_plans(diff_of(edit), before, after, today)


def named(name: str) -> PlanDiff:
    """What the edit of a name makes of its stack."""
    return diff_of(next(edit for edit in EDITS if edit.name == name))


def acknowledged(*resources: str, expires: date = SOON) -> tuple[AcknowledgementSpec, ...]:
    """Acknowledgements of some resources, for a week."""
    return tuple(
        AcknowledgementSpec(resource=name, expires=expires, reason="the jobs are elsewhere") for name in resources
    )
