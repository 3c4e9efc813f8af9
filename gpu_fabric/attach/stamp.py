"""The stamp: an annotation that records what was added to a pod template, so that it can be removed or updated."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from pydantic import Field, ValidationError

from gpu_fabric.attach.difference import STAMP, Added, take_out
from gpu_fabric.attach.place import Place, Tree
from gpu_fabric.contract import FabricContract
from gpu_fabric.model import FrozenModel

# The parts of a contract that reach pods; the others may change without a new pod.
_OF_PODS: Any = {
    **dict.fromkeys(("pod_template_patch", "annotations", "networks_from_elsewhere", "resources", "environment"), True),
    "scheduler_hints": {"annotations": True},
}


class _Part(FrozenModel):
    added: dict[str, Any] = {}
    changed: dict[str, list[Any]] = {}
    empty: list[str] = []

    def as_added(self) -> Added:
        return Added(self.added, self.changed, self.empty)


class _Written(_Part):
    contract: str
    around: _Part = Field(default_factory=_Part)
    queue: str | None = None


class Stamp(NamedTuple):
    """The additions to a pod template and, in the first stamp of a document, those outside all pod templates."""

    contract: str
    own: Added
    around: Added
    queue: str | None = None

    def __str__(self) -> str:
        """The value of the annotation."""
        around = _fields(self.around)
        text = {"contract": self.contract, **_fields(self.own)}
        text |= {"around": around} if around else {}
        text |= {"queue": self.queue} if self.queue is not None else {}
        return json.dumps(text, separators=(",", ":"), sort_keys=True, ensure_ascii=False)

    def take_out(self, root: Tree, template: Tree) -> None:
        """Remove the additions from a template and from the document that contains it."""
        take_out(template, self.own)
        take_out(root, self.around)


def digest(contract: FabricContract) -> str:
    """A short hash of the parts of a contract that reach pods."""
    known = contract.model_dump(mode="json", include=_OF_PODS)
    text = json.dumps(known, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def stamp_of(template: Place) -> Stamp | None:
    """The stamp of a pod template; None if it has none, and None with a problem if the stamp cannot be parsed."""
    text = template.seen("metadata").seen("annotations").content.get(STAMP)
    if text is None:
        return None
    try:
        written = _Written.model_validate_json(text)
    except (ValidationError, TypeError):
        annotations = template.seen("metadata").seen("annotations")
        annotations.refuse("ATT029", STAMP, "cannot be read", "remove it, or attach the manifest as it was before")
        return None
    return Stamp(written.contract, written.as_added(), written.around.as_added(), written.queue)


def stamped_templates(document: Place) -> Iterator[Place]:
    """The pod templates of a document that have a stamp; the document may be of any kind."""
    yield from _stamped(document, document.content)


def _stamped(document: Place, content: Any) -> Iterator[Place]:
    if isinstance(content, list):
        for entry in content:
            yield from _stamped(document, entry)
    elif isinstance(content, dict):
        metadata = content.get("metadata")
        if _has_stamp(content):
            yield Place({"metadata": content}, "", document.document, document.said)
        elif isinstance(metadata, dict) and _has_stamp(metadata):
            yield Place(content, "", document.document, document.said)
        for key, inner in content.items():
            if key != "metadata":
                yield from _stamped(document, inner)


def _has_stamp(metadata: Tree) -> bool:
    annotations = metadata.get("annotations")
    return isinstance(annotations, dict) and STAMP in annotations


def _fields(added: Added) -> Tree:
    fields = {"added": added.new, "changed": added.changed, "empty": sorted(added.empty)}
    return {key: value for key, value in fields.items() if value}
