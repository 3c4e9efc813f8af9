"""Which documents are workloads, and where their pod templates lie, from `kinds.yaml`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from fabric.attach.place import Malformed, Place
from fabric.attach.problem import Problem
from fabric.k8s.kueue import QUEUE_LABEL
from fabric.model import FrozenModel

_TABLE = Path(__file__).parent / "kinds.yaml"
_TRAIN_JOB = "TrainJob"


class TemplatePath(FrozenModel):
    """Where pod templates of a kind lie, and what their role is called."""

    path: tuple[str, ...]
    role: str | None = None
    role_key: str | None = None


class WorkloadKind(FrozenModel):
    """A row of `kinds.yaml`, whose head says what the fields mean."""

    kind: str
    api_versions: tuple[str, ...]
    templates: tuple[TemplatePath, ...]
    alike: bool = False
    never: frozenset[str] = frozenset()
    unless: tuple[str, ...] = ()
    only_asking: frozenset[str] = frozenset()
    queue: tuple[str, ...] = ()
    queue_of: str | None = None
    cluster_wide: bool = False

    @property
    def queue_keeper(self) -> str | None:
        """The scheduler whose queue it is; None where it has none."""
        return self.queue_of or ("kueue" if self.queue[-1:] == (QUEUE_LABEL,) else None)

    @property
    def of_a_train_job(self) -> bool:
        """Whether it has no pod template, but patches for those of its runtime."""
        return self.kind == _TRAIN_JOB


class Template(NamedTuple):
    """One pod template (`metadata` and `spec`) of a workload, with its role among several."""

    place: Place
    role: str | None


class Workload(NamedTuple):
    """A document that makes pods."""

    place: Place
    kind: WorkloadKind

    @property
    def name(self) -> str:
        """Kind and name, as a user knows it."""
        metadata = self.place.content.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else None
        return f"{self.kind.kind} {name}" if isinstance(name, str) else self.kind.kind


@cache
def workload_kinds() -> tuple[WorkloadKind, ...]:
    """Every known kind."""
    rows = yaml.safe_load(_TABLE.read_text(encoding="utf-8"))
    return tuple(WorkloadKind.model_validate(row) for row in rows)


def workloads(place: Place) -> Iterator[Workload]:
    """The workloads in a document, which may be a List; problems are recorded, other documents pass."""
    content = place.content
    if content.get("kind") == "List" and isinstance(content.get("items"), list):
        for item in place.entries("items"):
            yield from workloads(item)
        return
    kind, version = content.get("kind"), content.get("apiVersion")
    if not isinstance(kind, str) or not isinstance(version, str):
        message = "is no Kubernetes object: it has no apiVersion and kind"
        place.refuse("ATT005", "", message, "add both, or leave it out")
        return
    rows = [row for row in workload_kinds() if row.kind == kind]
    for row in rows:
        if version in row.api_versions:
            yield Workload(place, row)
            return
    groups = {known.rpartition("/")[0]: known for row in rows for known in row.api_versions}
    if (known := groups.get(version.rpartition("/")[0])) is not None:
        place.refuse("ATT007", "apiVersion", f"{kind} of {version} is not known here", f"known is {known}")
    elif _makes_pods(content):
        message = f"{kind} of {version} makes pods, but is not known here"
        place.refuse("ATT006", "kind", message, f"known are {_known()}")


def templates(workload: Workload) -> Iterator[Template]:
    """The pod templates of a workload.

    Raises:
        Malformed: the document is not built as its kind demands.
    """
    for row in workload.kind.templates:
        yield from _templates(workload.place, row, row.path, row.role)


def _templates(here: Place, row: TemplatePath, path: tuple[str, ...], role: str | None) -> Iterator[Template]:
    if not path:
        yield Template(here, role)
    elif len(path) > 1 and path[1] == "*":
        if isinstance(here.content.get(path[0]), list):
            for entry in here.entries(path[0]):
                name = entry.text(row.role_key) if row.role_key else None
                yield from _templates(entry, row, path[2:], name)
        elif (group := here.found(path[0])) is not None:
            for key in group.content:
                if (entry_of_key := group.found(str(key))) is not None:
                    yield from _templates(entry_of_key, row, path[2:], str(key))
    elif (inner := here.found(path[0])) is not None:
        yield from _templates(inner, row, path[1:], role)


def containers(template: Place) -> list[Place]:
    """The containers of a pod template; init containers and the sidecars among them are no part.

    Raises:
        Malformed: there is none, or something else is there.
    """
    spec = template.found("spec")
    found = [] if spec is None else spec.entries("containers")
    if not found:
        where = template.under("spec.containers")
        remedy = "write the container that trains"
        raise Malformed(Problem("ATT008", template.document, where, "there is no container", remedy))
    return found


def _known() -> str:
    rows = workload_kinds()
    several = {row.kind for row in rows if sum(other.kind == row.kind for other in rows) > 1}
    return ", ".join(f"{row.kind} ({row.api_versions[0]})" if row.kind in several else row.kind for row in rows)


def _makes_pods(value: Any) -> bool:
    """Whether there is a list of containers, or a container alone, anywhere in it."""
    if isinstance(value, list):
        return any(_makes_pods(entry) for entry in value)
    if not isinstance(value, dict):
        return False
    listed, alone = value.get("containers"), value.get("container")
    if isinstance(alone, dict) and "image" in alone:
        return True
    if isinstance(listed, list) and any(isinstance(entry, dict) and "name" in entry for entry in listed):
        return True
    return any(_makes_pods(entry) for entry in value.values())
