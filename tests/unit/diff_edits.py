"""Edits of committed stacks whose difference is reviewed, each with a golden file of its name."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import date
from functools import cache
from typing import Any, NamedTuple

from changes import Changes, changed
from committed_stacks import folder_of

from fabric.diff import PlanDiff, plan_diff
from fabric.guard import Acknowledgement, Judgement, judgement_on
from fabric.plan import Plan
from fabric.prepare import prepare
from fabric.render import RenderedPlan, rendered
from fabric.spec import read_document

TODAY = date(2026, 11, 22)
POOL = "cluster.pools[0]"
NODES = f"{POOL}.nodes"
H200 = "gpu-h200x8-1128gb-fabric-contracted"


class Edit(NamedTuple):
    """A stack with some values changed before, and more of them after; and the resources that the guard names."""

    name: str
    stack: str
    after: Changes
    before: Changes = {}
    guarded: tuple[str, ...] = ()


def _nics(number: int) -> list[dict[str, Any]]:
    """The first NICs of the machines in the stack of Spiderpool."""
    return [{"interface": f"enp{11 + nic}s0f0np0", "nearestGpu": nic} for nic in range(number)]


def _pools(name: str, rails: Iterable[int]) -> tuple[str, ...]:
    return tuple(name.format(f"{rail:02d}") for rail in rails)


_IP_POOLS = "ip-pools-rail-{}-nvidia-network-operator"
_NODE_POOLS = "node-pools-rail-{}"
_TRAINING = ["default", {"name": "training", "create": True}]
_MACHINES = {f"{POOL}.placement": "compute-cluster-instances"}
_TWO_POOLS = [
    {"name": "gpu", "shape": H200, "nodes": 2},
    {"name": "more", "shape": H200, "nodes": 4},
]
_PRICES = {
    H200: {"hourly": 20, "hourlyMost": 25, "currency": "USD"},
    "s-4vcpu-8gb": {"hourly": 0.07143, "currency": "USD"},
}

EDITS = (
    Edit("a node more", "dev", {NODES: 4}),
    Edit("a node fewer", "dev", {NODES: 2}),
    Edit(
        "supernet moved",
        "dev",
        {"fabric.addressing.supernet": "10.64.0.0/16"},
        guarded=_pools(_IP_POOLS, range(16)),
    ),
    Edit("all rails flat", "dev", {"fabric.addressing.layout": "flat"}, guarded=_pools(_IP_POOLS, range(16))),
    Edit(
        "another manager of addresses",
        "dev",
        {"fabric.addressing.ipam": "whereabouts"},
        guarded=_pools(_IP_POOLS, range(16)),
    ),
    Edit(
        "shape with half the NICs",
        "dev",
        {f"{POOL}.shape": "BM.GPU.H200.8"},
        guarded=_pools(_IP_POOLS, range(8, 16)),
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
        "namespace no longer offered",
        "dev",
        {"fabric.namespaces": ["default"]},
        {"fabric.namespaces": ["default", "training"]},
        guarded=_pools("networks-rail-{}-training", range(16)),
    ),
    Edit(
        "another cluster",
        "dev",
        {"cluster.id": "the-other"},
        {"cluster.id": "the-one"},
        guarded=("cluster-kubernetes",),
    ),
    Edit("scheduler added", "dev", {"software.schedulers": {"volcano": {}}}),
    Edit("setting of NCCL", "dev", {"fabric.nccl": {"settings": {"NCCL_DEBUG": "INFO"}}}),
    Edit(
        "NIC removed",
        "spiderpool-sriov-per-node",
        {"cluster.shapes.guide-cx5.nics": _nics(7)},
        guarded=("node-pools-rail-07",),
    ),
    Edit(
        "a node with pools of its own fewer",
        "spiderpool-sriov-per-node",
        {NODES: 7},
        guarded=_pools(_NODE_POOLS, range(8)),
    ),
    Edit(
        "pools of nodes cut anew",
        "spiderpool-sriov-per-node",
        {"fabric.addressing.supernet": "172.30.0.0/21"},
        guarded=_pools(_NODE_POOLS, range(8)),
    ),
    Edit(
        "ranges of whereabouts moved",
        "whereabouts",
        {"fabric.addressing.supernet": "10.77.0.0/16"},
        guarded=_pools("networks-rail-{}-default", range(8)),
    ),
    Edit("DOKS nodes fewer", "doks-h200", {NODES: 2}, {NODES: 4}, ("cluster-pool-gpu",)),
    Edit("DOKS region", "doks-h200", {"cluster.region": "atl1"}, guarded=("cluster-vpc", "cluster-doks")),
    Edit(
        "DOKS shape",
        "doks-h200",
        {f"{POOL}.shape": "gpu-h100x8-640gb-fabric-contracted"},
        guarded=("cluster-pool-gpu",),
    ),
    Edit(
        "DOKS version lowered",
        "doks-h200",
        {"cluster.versionApplies": "always", "cluster.version": "1.35.1-do.0"},
        guarded=("cluster-doks",),
    ),
    Edit(
        "DOKS system pool resized while protected",
        "doks-h200",
        {"cluster.systemPool.size": "s-8vcpu-16gb"},
        {"cluster.protect": True},
        guarded=("cluster-doks",),
    ),
    Edit("DOKS system pool with more nodes", "doks-h200", {"cluster.systemPool.nodes": 3}),
    Edit("DOKS protected", "doks-h200", {"cluster.protect": True}),
    Edit("DOKS pool added at known prices", "doks-h200", {"cluster.pools": _TWO_POOLS}, {"cluster.prices": _PRICES}),
    Edit(
        "DOKS pool removed",
        "doks-h200",
        {"cluster.pools": _TWO_POOLS[:1]},
        {"cluster.pools": _TWO_POOLS},
        guarded=("cluster-pool-more",),
    ),
    Edit("OKE nodes more", "oke-h100", {NODES: 6}),
    Edit("OKE availability domain", "oke-h100", {f"{POOL}.availabilityDomain": "AD-2"}, guarded=("cluster-pool-gpu",)),
    Edit(
        "OKE machines fewer",
        "oke-h100",
        {NODES: 2},
        {NODES: 4, **_MACHINES},
        guarded=("cluster-pool-gpu-2", "cluster-pool-gpu-3"),
    ),
    Edit("OKE shape", "oke-h100", {f"{POOL}.shape": "BM.GPU.A100-v2.8"}, guarded=("cluster-configuration-gpu",)),
    Edit(
        "OKE image of machines",
        "oke-h100",
        {f"{POOL}.imageId": "ocid1.image.oc1.iad.aaaaaaaaanother"},
        {NODES: 2, **_MACHINES},
        ("cluster-pool-gpu-0", "cluster-pool-gpu-1"),
    ),
    Edit("OKE placement", "oke-h100", {f"{POOL}.placement": "compute-cluster"}, guarded=("cluster-pool-gpu",)),
    Edit("OKE region", "oke-h100", {"cluster.region": "us-phoenix-1"}, guarded=("cluster-cluster",)),
    Edit("OKE cluster renamed", "oke-h100", {"cluster.name": "other"}, guarded=("cluster-vcn",)),
    Edit(
        "OKE public load balancers",
        "oke-h100",
        {"cluster.vcn.publicLoadBalancers": True},
        guarded=("cluster-cluster",),
    ),
    Edit("OKE internet cut", "oke-h100", {"cluster.vcn.internet": False}, guarded=("cluster-nat-gateway",)),
    Edit(
        "OKE ranges moved",
        "oke-h100",
        {"cluster.ranges.nodes": "10.141.0.0/16"},
        guarded=(
            "cluster-vcn",
            "cluster-subnet-control-plane",
            "cluster-subnet-internal-lb",
            "cluster-subnet-workers",
        ),
    ),
    Edit("OKE version raised", "oke-h100", {"cluster.version": "1.28.2"}),
    Edit(
        "OKE release line",
        "oke-h100",
        {"software.releaseLine": "26.4"},
        guarded=_pools("ip-pools-rail-{}-network-operator", range(16)),
    ),
    Edit("OKE scheduler removed", "oke-h100", {"software.schedulers": None}),
)


@cache
def _prepared(stack: str, changes: str) -> Plan:
    document = read_document(stack, folder_of(stack))
    return prepare(changed(document, json.loads(changes)), for_up=False)


@cache
def _rendered(stack: str, changes: str) -> RenderedPlan:
    return rendered(_prepared(stack, changes))


def prepared(stack: str, changes: Changes) -> Plan:
    """The plan of a committed stack with some values changed."""
    return _prepared(stack, json.dumps(changes, sort_keys=True))


def plan_of(stack: str, changes: Changes) -> RenderedPlan:
    """The rendered plan of a committed stack with some values changed."""
    return _rendered(stack, json.dumps(changes, sort_keys=True))


def diff_of(edit: Edit) -> PlanDiff:
    """What an edit makes of its stack."""
    return plan_diff(plan_of(edit.stack, edit.before), plan_of(edit.stack, {**edit.before, **edit.after}))


def judgement_of(edit: Edit, acknowledgements: tuple[Acknowledgement, ...] = (), today: date = TODAY) -> Judgement:
    """The guard's judgement on an edit by some acknowledgements."""
    before = plan_of(edit.stack, edit.before)
    after = plan_of(edit.stack, {**edit.before, **edit.after}).model_copy(update={"acknowledgements": acknowledgements})
    return judgement_on(plan_diff(before, after), before, after, today)


def named(name: str) -> PlanDiff:
    """What the edit of a name makes of its stack."""
    return diff_of(next(edit for edit in EDITS if edit.name == name))
