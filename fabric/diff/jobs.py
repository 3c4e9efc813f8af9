"""What a job's manifest asks for by the contract before, and what it would ask for by the one after."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fabric.diff.model import JobsDiff
from fabric.render import RenderedPlan

Asked = Mapping[str, str]
"""What a manifest asks for by its name: of a resource the amount, of a network the interface, of a file its place."""


def jobs_diff(base: RenderedPlan, head: RenderedPlan) -> JobsDiff | None:
    """The difference in what pods cannot start without; None without one, or where a plan has no contract."""
    if not base.contract or not head.contract:
        return None
    resources = _compared(_resources(base), _resources(head), _waits_for_resource)
    objects = _compared(_objects(base), _objects(head), _waits_for_object)
    found = JobsDiff(
        gone=resources.gone + objects.gone,
        new=resources.new + objects.new,
        changed=resources.changed + objects.changed,
    )
    return found if found != JobsDiff() else None


def _compared(before: Asked, after: Asked, waits: Callable[[str, str, str | None], bool]) -> JobsDiff:
    gone, new, changed = [], [], []
    for name in dict.fromkeys([*before, *after]):
        old, now = before.get(name), after.get(name)
        if old is None:
            new.append(name)
        elif waits(name, old, now):
            gone.append(name if now is None else f"{name}: {old}")
        elif old != now:
            changed.append(name)
    return JobsDiff(gone=tuple(gone), new=tuple(new), changed=tuple(changed))


def _waits_for_resource(name: str, old: str, now: str | None) -> bool:
    # Devices are counted, and advertised for the fabric alone; processors and memory a node has anyway.
    return "/" in name and int(now or 0) < int(old)


def _waits_for_object(name: str, old: str, now: str | None) -> bool:
    return now is None


def _resources(plan: RenderedPlan) -> Asked:
    resources: Asked = plan.contract.get("resources", {})
    return resources


def _objects(plan: RenderedPlan) -> Asked:
    """ConfigMaps of files, and the networks that pods name: those of another namespace are added by a webhook."""
    networks = {
        entry["network"]: entry.get("interface", "")
        for entry in plan.contract.get("networks", ())
        if entry.get("namespace") is None
    }
    return networks | {entry["configMap"]: entry["mountPath"] for entry in plan.contract.get("files", ())}
