"""The longest time that an `up` can wait: the time limits of what it waits for, along the longest chain.

How long clouds and operators really take is not published, so no other time is known before an `up`.
"""

from __future__ import annotations

from functools import cache

from gpu_fabric.k8s.apps import DaemonSet, Deployment
from gpu_fabric.plan import Plan, records
from gpu_fabric.plan.steps import NODES, Step

_TIMED = (
    *(records.HelmRelease, records.PlannedCapacity, records.PlannedConfiguration, records.PlannedReadiness),
    *(records.PlannedRollout, records.PlannedState, records.PlannedWait),
)


def longest_wait(plan: Plan) -> int:
    """Seconds after which `up` has ended or failed, apart from the calls themselves; 0 where it waits for nothing."""
    begin, nodes = _cloud_waits(plan)
    ends = {NODES: nodes}
    for step in plan.steps:
        ends[step.name] = max((ends[name] for name in step.after if name in ends), default=begin) + _step_wait(step)
    return max(ends.values())


def _cloud_waits(plan: Plan) -> tuple[int, int]:
    """When steps on the cluster may begin, and when all nodes are in it."""
    cloud, oke = plan.cluster.cloud, plan.cluster.oke
    if cloud is None:
        return 0, 0
    # Records, and the queries between them, each after all that it needs.
    waits = {record.logical_name: _seconds(record.create_timeout) for record in cloud.records}
    needs = {record.logical_name: {*_names(record), *cloud.before(record)} for record in cloud.records}
    needs |= {lookup.logical_name: set(_names(lookup)) for lookup in (oke.lookups if oke is not None else ())}

    @cache
    def end(name: str) -> int:
        return waits.get(name, 0) + max(map(end, needs.get(name, ())), default=0)

    # At Oracle, what runs on the cluster also waits for the system pool, and machines join after they are created.
    first = cloud.cluster if oke is None else oke.system_pool
    return end(first.logical_name), max(map(end, waits)) + (0 if oke is None else 60 * oke.join_minutes)


def _names(record: object) -> tuple[str, ...]:
    return tuple(reference.ref for reference in getattr(record, "references", ()))


def _seconds(timeout: str | None) -> int:
    return 60 * int(timeout.removesuffix("m")) if timeout else 0


def _step_wait(step: Step) -> int:
    waits = [_item_wait(item) for item in step.items]
    return sum(waits) if step.in_order else max(waits, default=0)


def _item_wait(item: records.Item) -> int:
    if isinstance(item, records.PlannedObject):
        is_workload = isinstance(item.object, DaemonSet | Deployment)
        return item.timeout if item.awaited and (is_workload or item.wait_for is not None) else 0
    if isinstance(item, records.PlannedVerification):
        return item.seconds if item.wait else 0
    return item.timeout if isinstance(item, _TIMED) else 0
