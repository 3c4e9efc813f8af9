"""What a controller does when it has looked at a job: objects to make and to delete, and statuses to write."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sandbox.kubernetes_api import Object


@dataclass(frozen=True)
class Turn:
    """Changes to the cluster. `patches` and `statuses` go with the object that they are for, as it was seen."""

    creates: list[Object] = field(default_factory=list)
    deletes: list[Object] = field(default_factory=list)
    patches: list[tuple[Object, Object]] = field(default_factory=list)
    """Merge patches."""

    statuses: list[tuple[Object, Object]] = field(default_factory=list)
    """Whole statuses."""

    def __bool__(self) -> bool:
        return bool(self.creates or self.deletes or self.patches or self.statuses)

    def status(self, item: Object, status: Object) -> None:
        """Write a status unless the object has it."""
        if (item.get("status") or {}) != status:
            self.statuses.append((item, status))

    def ensure(self, wanted: Iterable[Object], present: Iterable[Object]) -> None:
        """Make what is not there."""
        known = {_identity(item) for item in present}
        self.creates.extend(item for item in wanted if _identity(item) not in known)


def owned(kind: str, version: str, owner: Object, name: str, **more: Any) -> Object:
    """An object of a job's namespace that is deleted with the job."""
    metadata = {"name": name, "namespace": owner["metadata"]["namespace"], "ownerReferences": [reference(owner)]}
    return {"apiVersion": version, "kind": kind, "metadata": {**metadata, **more.pop("metadata", {})}, **more}


def reference(owner: Object) -> Object:
    """The owner reference of a controller's object."""
    uid = owner["metadata"]["uid"]
    common = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"], "uid": uid}
    return {**common, "controller": True, "blockOwnerDeletion": True}


def owner_of(item: Mapping[str, Any]) -> str | None:
    """The uid of the object that an object is controlled by."""
    references = item["metadata"].get("ownerReferences") or ()
    return next((str(entry["uid"]) for entry in references if entry.get("controller")), None)


def pod_of(owner: Object, name: str, template: Mapping[str, Any]) -> Object:
    """A pod of a template, which is not changed."""
    kept = copy.deepcopy(dict(template))
    given = kept.get("metadata") or {}
    metadata = {key: given[key] for key in ("labels", "annotations") if given.get(key)}
    return owned("Pod", "v1", owner, name, metadata=metadata, spec=kept["spec"])


def is_deleted(item: Mapping[str, Any]) -> bool:
    """Whether an object is being deleted."""
    return "deletionTimestamp" in item["metadata"]


def phase_of(pod: Mapping[str, Any]) -> str:
    """The phase of a pod."""
    return str((pod.get("status") or {}).get("phase", "Pending"))


def condition_of(item: Mapping[str, Any], kind: str) -> Mapping[str, Any] | None:
    """An object's condition of a type."""
    conditions = (item.get("status") or {}).get("conditions") or ()
    return next((entry for entry in conditions if entry["type"] == kind), None)


def holds(item: Mapping[str, Any], kind: str) -> bool:
    """Whether a condition is true."""
    return (condition_of(item, kind) or {}).get("status") == "True"


def with_condition(conditions: Iterable[Object], wanted: Object, now: str) -> list[Object]:
    """Conditions with one more, or another one of its type; its time is that of its last change of status."""
    kept = list(conditions)
    for index, present in enumerate(kept):
        if present["type"] == wanted["type"]:
            same = present["status"] == wanted["status"]
            moment = present["lastTransitionTime"] if same else now
            kept[index] = {**present, **wanted, "lastTransitionTime": moment}
            return kept
    return [*kept, {**wanted, "lastTransitionTime": now}]


def _identity(item: Mapping[str, Any]) -> tuple[str, str]:
    return item["kind"], item["metadata"]["name"]
