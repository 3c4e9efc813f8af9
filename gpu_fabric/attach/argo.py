"""The pod templates of Argo Workflows: the fields of a pod's spec are spread over the template and the workflow.

A pod gets the labels, annotations and volumes of its template. Node selector, tolerations, affinity and security
context of the template replace the workflow's, which apply only if the template sets none. Host network and DNS policy
are set by the workflow only (argo-workflows, workflow/controller/workflowpod.go).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gpu_fabric.attach.place import Place, deep_copy

_OF_THE_WORKFLOW = ("hostNetwork", "dnsPolicy")
_INHERITED = ("nodeSelector", "affinity", "securityContext")
_INHERITED_LISTS = ("tolerations", "resourceClaims")
_IN_PODS = ("container", "script", "containerSet")
_APPLIED_LATER = {
    "podSpecPatch": "is applied to the pod after what is attached, and is not looked at",
    "templateDefaults": "is merged into each template, and is not looked at",
}


def steps(workflow: Place) -> Iterator[tuple[Place, str | None]]:
    """The templates that create pods, as pod templates with their names; `workflow` is the spec of the workflow."""
    for template, name in all_templates(workflow):
        if any(template.found(key) is not None for key in _IN_PODS):
            yield _Step(template.content, template.path, template.document, template.said, workflow), name


def runs_elsewhere(workflow: Place) -> bool:
    """Whether the workflow creates no pods, or only by templates of other documents."""
    return workflow.content.get("templates") is not None and next(steps(workflow), None) is None


def volumes_of(workflow: Place) -> Iterator[str | None]:
    """The names of the volumes that all pods of the workflow may mount."""
    for volume in workflow.entries("volumes"):
        yield volume.text("name")
    for claim in workflow.entries("volumeClaimTemplates"):
        yield claim.seen("metadata").text("name")


def note_later_fields(template: Place) -> None:
    """Note the fields that Argo applies to a pod after the attached template."""
    if isinstance(template, _Step):
        for place in (template, template.workflow):
            for key, message in _APPLIED_LATER.items():
                if place.content.get(key):
                    place.note("ATT071", key, message)
        if template.content.get("resourceClaims"):
            # argo-workflows pull request 16587, merged in 2026-08; 4.0.8 has the containers' claims alone.
            message = "needs a release of Argo Workflows newer than 4.0.8, which knows a template's claims"
            template.note("ATT071", "resourceClaims", message)


def all_templates(workflow: Place) -> Iterator[tuple[Place, str | None]]:
    """Every template with its name, those written inside a step included."""
    for template in workflow.entries("templates"):
        yield template, template.text("name")
        for number, group in enumerate(template.values("steps")):
            # A group of parallel steps is a list inside the list of steps.
            of_group = Place({"": group}, f"{template.under('steps')}[{number}]", template.document, template.said)
            yield from _inline(of_group.entries(""))
        yield from _inline(template.seen("dag").entries("tasks"))


def _inline(tasks: list[Place]) -> Iterator[tuple[Place, str | None]]:
    for task in tasks:
        if (inner := task.found("inline")) is not None:
            yield inner, task.text("name")


@dataclass(frozen=True)
class _Step(Place):
    """A template read as a pod template whose spec is the template itself."""

    workflow: Place

    def found(self, key: str) -> Place | None:
        """The mapping at a key; at `spec`, the template itself."""
        if key == "spec":
            return _Spec(self.content, self.path, self.document, self.said, self.workflow)
        return super().found(key)

    def under(self, key: str) -> str:
        """The path as the manifest has it."""
        if key == "spec.containers":
            return super().under(next(one for one in _IN_PODS if self.content.get(one) is not None))
        return super().under(key.removeprefix("spec."))


@dataclass(frozen=True)
class _Spec(Place):
    """A template read as the spec of its pod."""

    workflow: Place

    def found(self, key: str) -> Place | None:
        """The mapping at a key, or the workflow's where the pod inherits it."""
        own = super().found(key)
        if key in _INHERITED and (own is None or not own.content):
            return self.workflow.found(key) or own
        return own

    def made(self, key: str) -> Place:
        """The template's own mapping at a key; a new one starts as a copy of the inherited mapping."""
        if key in _INHERITED and not self.content.get(key):
            self.content[key] = deep_copy(self.workflow.content.get(key) or {})
        return super().found(key) or super().made(key)

    def value(self, key: str) -> Any:
        """The value at a key, of this template or of the workflow."""
        return (self.workflow if key in _OF_THE_WORKFLOW else self).content.get(key)

    def values(self, key: str) -> list[Any]:
        """The list at a key, or the workflow's where the pod inherits it."""
        own = super().values(key)
        return own or (deep_copy(self.workflow.values(key)) if key in _INHERITED_LISTS else own)

    def entries(self, key: str) -> list[Place]:
        """The mappings in a list; `containers` are all those that the template adds to the pod."""
        if key != "containers":
            return super().entries(key)
        alone = [_Container(*_fields(one), ()) for one in map(self.found, _IN_PODS[:2]) if one is not None]
        of_set = self.seen("containerSet")
        mounts = tuple(of_set.entries("volumeMounts"))
        listed = [_Container(*_fields(one), mounts) for one in of_set.entries("containers")]
        return [*alone, *listed, *super().entries("sidecars")]

    def under(self, key: str) -> str:
        """The path as the manifest has it."""
        return self.workflow.under(key) if key in _OF_THE_WORKFLOW else super().under(key)

    def keep_or_set(self, key: str, wanted: Any, whose: str = "the fabric's") -> None:
        """Set a key unless it is set; a key of the workflow alone must already be set there."""
        if key not in _OF_THE_WORKFLOW:
            super().keep_or_set(key, wanted, whose)
        elif self.workflow.content.get(key) != wanted:
            message = "only the spec of the workflow can say it, for all of its pods"
            self.workflow.refuse("ATT024", key, message, f"write {str(wanted).replace('True', 'true')} there")


@dataclass(frozen=True)
class _Container(Place):
    """A container of a template with the mounts of its set; Argo names it `main` by default."""

    of_set: tuple[Place, ...]

    @property
    def name(self) -> str:
        """Its name in the pod."""
        return str(self.content.get("name") or "main")

    def entries(self, key: str) -> list[Place]:
        """The mappings in the list at a key; `volumeMounts` include those of the set."""
        return [*super().entries(key), *(self.of_set if key == "volumeMounts" else ())]


def _fields(place: Place) -> tuple[dict[str, Any], str, int, Any]:
    return place.content, place.path, place.document, place.said
