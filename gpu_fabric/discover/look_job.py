"""The Job that looks at a node, and the namespace that it runs in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gpu_fabric.base.tables import read_table
from gpu_fabric.base.templates import filled
from gpu_fabric.discover.look import script

NAMESPACE = "gpu-fabric-look"
NAME = "gpu-fabric-look"
"""The name of the Job, and of its container."""

_LEVELS = tuple(f"pod-security.kubernetes.io/{mode}" for mode in ("enforce", "audit", "warn"))
_MARK = {"gpu-fabric.dev/created-for": "look"}


def namespace(name: str) -> dict[str, Any]:
    """A namespace that allows privileged pods, with the mark of one that its look deletes."""
    labels = {**dict.fromkeys(_LEVELS, "privileged"), "app.kubernetes.io/managed-by": "gpu-fabric"}
    metadata = {"name": name, "labels": labels, "annotations": _MARK}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def is_of_a_look(found: dict[str, Any]) -> bool:
    """Whether a look created this namespace, and was killed before it deleted it unless its Job is there."""
    metadata = found.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return isinstance(annotations, dict) and annotations.items() >= _MARK.items()


def refused_level(found: dict[str, Any]) -> str | None:
    """The Pod Security level of a namespace that forbids the pod; None if its labels forbid none."""
    metadata = found.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    level = labels.get(_LEVELS[0]) if isinstance(labels, dict) else None
    return level if isinstance(level, str) and level != "privileged" else None


def job(node: str, in_namespace: str, image: str) -> dict[str, Any]:
    """One privileged pod on this node, which runs the script in the node's own root, and is not tried again."""
    labels = {"app.kubernetes.io/name": NAME, "app.kubernetes.io/managed-by": "gpu-fabric"}
    values = {"node": node, "namespace": in_namespace, "image": image, "labels": labels, "script": script()}
    found: dict[str, Any] = filled(read_table(Path(__file__).with_suffix(".yaml")), values)
    return found
