"""The way of a stack's nodes from one manager to another, before anything changes: for people and as a record."""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from typing import Literal

from gpu_fabric.base.enumeration import first_to_last, grouped, quantity
from gpu_fabric.k8s.names import WAY_LABEL
from gpu_fabric.model import FrozenModel
from gpu_fabric.plan import Plan
from gpu_fabric.plan.records import CHANGING, PlannedWaves, Way
from gpu_fabric.plan.waves import WAVES
from gpu_fabric.plan.ways import WAYS
from gpu_fabric.spec.fabric import Manager

_HANDED_OUT: dict[Way, str] = {"plugin": "device plug-ins and networks", "claims": "claims"}


class ManagerChange(FrozenModel):
    """How waves take nodes from the manager `old` to `new`; `stage` says which of the two the stack file has."""

    stack: str
    stage: Literal["before", "change"]
    old: Manager
    new: Manager
    nodes: int
    at_a_time: int
    job_minutes: int
    evict: bool
    label: str
    proof: tuple[str, ...]


def manager_change(plan: Plan) -> ManagerChange:
    """The way of a plan whose stack file states `upgrade.fromManager`.

    Raises:
        LookupError: it does not.
    """
    waves = plan.record(PlannedWaves, WAVES)
    if waves is None or waves.way is None:
        raise LookupError("the stack file states no manager that nodes are taken from")
    by_way = {way: manager for manager, way in WAYS.items()}
    old = by_way[waves.way.home]
    new = next(manager for manager in WAYS if manager != old)
    nodes = sum(pool.nodes for pool in plan.cluster.pools)
    nics = (entry.nics for entry in waves.proven if entry.nics is not None)
    offers = ((number, name) for entry in waves.proven for name, number in entry.resources.items())
    proof = [
        *(f"{entry.driver} publishes {quantity(len(entry.values), 'planned NIC')}" for entry in nics),
        *(
            f"{number} of {first_to_last([name for _, name in found])}"
            for number, found in grouped(offers, itemgetter(0)).items()
        ),
    ]
    return ManagerChange(
        stack=plan.stack,
        stage="before" if plan.choices.manager == old else "change",
        old=old,
        new=new,
        nodes=nodes,
        at_a_time=waves.at_a_time(nodes),
        job_minutes=waves.job_seconds // 60,
        evict=waves.evict,
        label=WAY_LABEL,
        proof=tuple(dict.fromkeys(proof)),
    )


def manager_change_lines(found: ManagerChange) -> Iterator[str]:
    """The whole way, and what to do next."""
    before, after = (_HANDED_OUT[WAYS[manager]] for manager in (found.old, found.new))
    yield f"Nodes of stack {found.stack}, from {found.old} ({before}) to {found.new} ({after})"
    waves = quantity(-(-found.nodes // found.at_a_time), "wave")
    yield f"{quantity(found.nodes, 'node')}, {found.at_a_time} at a time: {waves}"
    jobs = "are evicted" if found.evict else "stop the waves, and are left alone"
    yield "Each node, which never has both:"
    yield f"  cordoned; its jobs end; those that still run after {quantity(found.job_minutes, 'minute')} {jobs}"
    yield f"  label {found.label} is {CHANGING}: pods of {found.old} leave the node"
    yield f"  label {found.label} is {WAYS[found.new]}: pods of {found.new} start on it"
    if found.stage == "change":
        yield f"  proof: {', '.join(found.proof)}"
    yield "  uncordoned"
    yield f"Jobs with {before} run on nodes that no wave has reached, jobs with {after} on those that have changed."
    yield "To do:"
    yield from (f"  {number}. {step}" for number, step in enumerate(_steps(found), 1))


def _steps(found: ManagerChange) -> Iterator[str]:
    keep = f"upgrade.fromManager: {found.old}"
    if found.stage == "before":
        yield f"run `make up` with this file: {found.old} then chooses its nodes by the label; no node is emptied"
        yield f"write the section gpu-fabric:fabric for {found.new}, keep {keep}, and ask here again"
        return
    yield f"`make up` must have run with fabric.manager {found.old} and {keep}; if not, the waves touch no node"
    yield "acknowledge what `make preview` refuses to lose: release, policy, pools or templates of the earlier manager"
    yield "run `make up`; it deletes the earlier manager after the last wave. If it is interrupted, run it again"
    yield f"to go back before its end, write the section gpu-fabric:fabric of before, keep {keep}, and run `make up`"
    yield "attach the manifests of jobs again (gpu-fabric attach)"
    yield "take upgrade.fromManager out, and run `make up`: nodes that join later then need no wave"
