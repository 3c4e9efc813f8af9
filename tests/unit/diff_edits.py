"""Edits of committed stacks whose difference is reviewed, each with a golden file of its name."""

from __future__ import annotations

import json
from functools import cache
from typing import Any, NamedTuple

from changes import Changes, changed
from committed_stacks import folder_of

from fabric.diff import PlanDiff, plan_diff
from fabric.prepare import prepare
from fabric.render import RenderedPlan, rendered
from fabric.spec import read_document

POOL = "cluster.pools[0]"
NODES = f"{POOL}.nodes"
H200 = "gpu-h200x8-1128gb-fabric-contracted"


class Edit(NamedTuple):
    """A stack with some values changed before, and more of them after."""

    name: str
    stack: str
    after: Changes
    before: Changes = {}


def _nics(number: int) -> list[dict[str, Any]]:
    """The first NICs of the machines in the stack of Spiderpool."""
    return [{"interface": f"enp{11 + nic}s0f0np0", "nearestGpu": nic} for nic in range(number)]


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
    Edit("supernet moved", "dev", {"fabric.addressing.supernet": "10.64.0.0/16"}),
    Edit("all rails flat", "dev", {"fabric.addressing.layout": "flat"}),
    Edit("another manager of addresses", "dev", {"fabric.addressing.ipam": "whereabouts"}),
    Edit("shape with half the NICs", "dev", {f"{POOL}.shape": "BM.GPU.H200.8"}),
    Edit("chart values", "dev", {"software.networkOperator.values": {"operator": {"logLevel": "debug"}}}),
    Edit("namespace added", "dev", {"fabric.namespaces": ["default", {"name": "training", "create": True}]}),
    Edit("scheduler added", "dev", {"software.schedulers": {"volcano": {}}}),
    Edit("setting of NCCL", "dev", {"fabric.nccl": {"settings": {"NCCL_DEBUG": "INFO"}}}),
    Edit("NIC removed", "spiderpool-sriov-per-node", {"cluster.shapes.guide-cx5.nics": _nics(7)}),
    Edit("a node with pools of its own fewer", "spiderpool-sriov-per-node", {NODES: 7}),
    Edit("pools of nodes cut anew", "spiderpool-sriov-per-node", {"fabric.addressing.supernet": "172.30.0.0/21"}),
    Edit("DOKS nodes fewer", "doks-h200", {NODES: 2}, {NODES: 4}),
    Edit("DOKS region", "doks-h200", {"cluster.region": "atl1"}),
    Edit("DOKS shape", "doks-h200", {f"{POOL}.shape": "gpu-h100x8-640gb-fabric-contracted"}),
    Edit("DOKS version lowered", "doks-h200", {"cluster.versionApplies": "always", "cluster.version": "1.35.1-do.0"}),
    Edit(
        "DOKS system pool resized while protected",
        "doks-h200",
        {"cluster.systemPool.size": "s-8vcpu-16gb"},
        {"cluster.protect": True},
    ),
    Edit("DOKS protected", "doks-h200", {"cluster.protect": True}),
    Edit("DOKS pool added at known prices", "doks-h200", {"cluster.pools": _TWO_POOLS}, {"cluster.prices": _PRICES}),
    Edit("DOKS pool removed", "doks-h200", {"cluster.pools": _TWO_POOLS[:1]}, {"cluster.pools": _TWO_POOLS}),
    Edit("OKE nodes more", "oke-h100", {NODES: 6}),
    Edit("OKE availability domain", "oke-h100", {f"{POOL}.availabilityDomain": "AD-2"}),
    Edit("OKE version raised", "oke-h100", {"cluster.version": "1.28.2"}),
    Edit("OKE release line", "oke-h100", {"software.releaseLine": "26.4"}),
    Edit("OKE scheduler removed", "oke-h100", {"software.schedulers": None}),
)


@cache
def _plan(stack: str, changes: str) -> RenderedPlan:
    document = read_document(stack, folder_of(stack))
    return rendered(prepare(changed(document, json.loads(changes)), for_up=False))


def plan_of(stack: str, changes: Changes) -> RenderedPlan:
    """The rendered plan of a committed stack with some values changed."""
    return _plan(stack, json.dumps(changes, sort_keys=True))


def diff_of(edit: Edit) -> PlanDiff:
    """What an edit makes of its stack."""
    return plan_diff(plan_of(edit.stack, edit.before), plan_of(edit.stack, {**edit.before, **edit.after}))


def named(name: str) -> PlanDiff:
    """What the edit of a name makes of its stack."""
    return diff_of(next(edit for edit in EDITS if edit.name == name))
