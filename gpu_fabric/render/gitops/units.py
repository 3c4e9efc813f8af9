"""The units of a plan that a tool deploys: a release or the objects of a step, each after other units.

Their order is that of the plan's graph of steps and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from gpu_fabric.model import FrozenModel
from gpu_fabric.plan import Plan, records
from gpu_fabric.plan.steps import Step
from gpu_fabric.render.gitops.conditions import Check, Condition, condition_of
from gpu_fabric.render.places import file_of, is_object
from gpu_fabric.resources.dynamic import KEPT_OBJECTS
from gpu_fabric.resources.objects import AWAITED
from gpu_fabric.resources.order import MADE_OF
from gpu_fabric.resources.resource import Resource

Tool = Literal["kustomize", "argo", "flux"]
"""Who writes the cluster."""

ENGINE = "pulumi.com/"
"""The prefix of annotations that say how Pulumi handles an object."""

_DEFINITION = "CustomResourceDefinition"
# Items whose resources are objects that a manifest states whole or, for a patch, in part.
_WRITTEN = (records.PlannedObject, records.PlannedGroup, records.PlannedQueues, records.PlannedPatch)


class Manifests(FrozenModel):
    """A file with one object, with a group of them, or with a patch: fields of an object that another owner creates."""

    name: str
    form: Literal["object", "group", "patch"]
    objects: tuple[dict[str, Any], ...]


class Unit(FrozenModel):
    """What is deployed together, once every unit of `after` is ready; a unit of wave n comes after some of wave n-1.

    It has a release, or files in the order of the plan, or only checks. With `in_order` each object comes after the one
    before it. `timeout` is in seconds. Where an object is not `awaited`, the unit is ready before it is.
    `in_background`: an object must be deleted in the background.
    """

    name: str
    step: str
    after: tuple[str, ...]
    wave: int
    release: records.HelmRelease | None = None
    files: tuple[Manifests, ...] = ()
    in_order: bool = False
    checks: tuple[Check, ...] = ()
    timeout: int
    awaited: bool = True
    in_background: bool = False

    @property
    def objects(self) -> tuple[dict[str, Any], ...]:
        """Every object of its files."""
        return tuple(entry for file in self.files for entry in file.objects)

    @property
    def is_applied(self) -> bool:
        """Whether something is applied, not only waited for."""
        return self.release is not None or bool(self.files)


def can_be_waited_for(unit: Unit) -> bool:
    """Whether a unit applies something, or waits for an object whose name is known."""
    return unit.is_applied or bool(unit.checks)


def units(plan: Plan, is_kept: Callable[[Unit], bool] = lambda unit: unit.is_applied) -> tuple[Unit, ...]:
    """The units in an order in which they can be deployed.

    Where a unit is not kept, those that come after it come after all that it comes after.
    """
    found: list[Unit] = []
    # Of each step: what must be ready before what comes after it begins.
    ends: dict[str, tuple[str, ...]] = {}
    waves: dict[str, int] = {}
    for step in plan.steps:
        before = _unique(name for earlier in step.after for name in ends.get(earlier, ()))
        last: list[str] = []
        for unit in _units(plan, step):
            after = _unique((*before, *last)) if step.in_order else before
            wave = 1 + max((waves[name] for name in after), default=-1)
            unit = unit.model_copy(update={"after": _direct(after, found), "wave": wave})
            if is_kept(unit):
                found.append(unit)
                waves[unit.name] = wave
                last.append(unit.name)
        ends[step.name] = tuple(last) if last else before
    return tuple(found)


def _unique(names: Iterator[str] | Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _direct(after: Sequence[str], found: Sequence[Unit]) -> tuple[str, ...]:
    """The names without those that another one comes after in any case."""
    graph = {unit.name: unit.after for unit in found}
    reached: set[str] = set()
    waiting = [earlier for name in after for earlier in graph[name]]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += graph[name]
    return tuple(name for name in after if name not in reached)


def _units(plan: Plan, step: Step) -> Iterator[Unit]:
    """The step's releases, and its other items together; without their place in the graph."""
    releases = [item for item in step.items if isinstance(item, records.HelmRelease)]
    others = [item for item in step.items if not isinstance(item, records.HelmRelease)]
    for release in releases:
        name = step.name if len(step.items) == 1 else f"{step.name}-{release.name}"
        yield Unit(name=name, step=step.name, after=(), wave=0, release=release, timeout=release.timeout)
    if others:
        yield _objects_unit(plan, step, others)


def _objects_unit(plan: Plan, step: Step, items: Sequence[records.Item]) -> Unit:
    planned = [entry for item in items for entry in records.objects_of(item)]
    files, taken, in_background = [], set[str](), False
    for item in items:
        for resource in MADE_OF[type(item)](step.component, item, plan) if isinstance(item, _WRITTEN) else ():
            if resource.type != KEPT_OBJECTS and not is_object(resource.type):
                continue
            path = file_of(resource, taken)
            taken.add(path)
            files.append(_manifests(path.rpartition("/")[2], resource))
            in_background |= "background" in _annotations(resource.properties).values()
    return Unit(
        name=step.name,
        step=step.name,
        after=(),
        wave=0,
        files=tuple(files),
        in_order=step.in_order or any(isinstance(item, records.PlannedQueues) for item in items),
        checks=tuple(check for item in items for check in _checks(item)),
        timeout=max([*(getattr(item, "timeout", 1) for item in items), *(entry.timeout for entry in planned)]),
        awaited=all(entry.awaited for entry in planned),
        in_background=in_background,
    )


def _manifests(name: str, resource: Resource) -> Manifests:
    if resource.type == KEPT_OBJECTS:
        named = resource.properties["objects"]
        objects = [named[kind][name] for kind in sorted(named) for name in sorted(named[kind])]
        return Manifests(name=name, form="group", objects=tuple(map(without_engine, objects)))
    form: Literal["object", "patch"] = "patch" if resource.type.endswith("Patch") else "object"
    return Manifests(name=name, form=form, objects=(without_engine(resource.properties),))


def without_engine(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """An object without the annotations that say how Pulumi waits for it and handles it."""
    found = {key: value for key, value in _annotations(manifest).items() if not _is_engines(key)}
    metadata = {key: value for key, value in manifest["metadata"].items() if key != "annotations"}
    return {**manifest, "metadata": metadata | ({"annotations": found} if found else {})}


def annotated(manifest: Mapping[str, Any], annotations: Mapping[str, str]) -> dict[str, Any]:
    """An object with annotations more."""
    if not annotations:
        return dict(manifest)
    found = _annotations(manifest) | dict(annotations)
    return {**manifest, "metadata": {**manifest["metadata"], "annotations": found}}


def _is_engines(key: str) -> bool:
    return key.startswith(ENGINE) or key == AWAITED


def _annotations(manifest: Mapping[str, Any]) -> dict[str, str]:
    return dict(manifest.get("metadata", {}).get("annotations", {}))


def _checks(item: records.Item) -> Iterator[Check]:
    """What an item waits for that is a field of an object whose name is known.

    Every tool knows by itself when a definition is established.
    """
    for entry in records.objects_of(item):
        if entry.wait_for is not None and entry.object.kind != _DEFINITION:
            yield Check(
                api_version=entry.object.api_version,
                kind=entry.object.kind,
                name=entry.name,
                namespace=entry.object.metadata.namespace,
                conditions=(condition_of(entry.wait_for),),
                timeout=entry.timeout,
                is_applied=True,
            )
    if isinstance(item, records.PlannedReadiness):
        yield Check(
            api_version=item.api_version,
            kind=item.kind,
            name=item.name,
            conditions=tuple(map(condition_of, item.conditions)),
            timeout=item.timeout,
            is_applied=False,
            by_chart=True,
        )
    if isinstance(item, records.PlannedState):
        yield Check(
            api_version=item.api_version,
            kind=item.kind,
            name=item.name,
            conditions=(Condition(path=tuple(item.field.split(".")), value=item.value),),
            timeout=item.timeout,
            is_applied=False,
        )
