"""Reading what a resource was told. What a preview cannot know yet raises the SDK's error, which the SDK reports."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from pulumi_policy import PolicyResource
from pulumi_policy.proxy import UnknownValueError

# Where the pods of a kind are described.
_POD_SPECS = {
    "Pod": ("spec",),
    "Job": ("spec", "template", "spec"),
    "DaemonSet": ("spec", "template", "spec"),
    "Deployment": ("spec", "template", "spec"),
    "ReplicaSet": ("spec", "template", "spec"),
    "StatefulSet": ("spec", "template", "spec"),
    "CronJob": ("spec", "jobTemplate", "spec", "template", "spec"),
}
# Kinds of secondary networks that pods name.
NETWORKS = ("NetworkAttachmentDefinition", "SriovNetwork", "SriovIBNetwork", "SpiderMultusConfig")
WORKLOADS = tuple(f"kubernetes:*:{kind}" for kind in _POD_SPECS)


def kind_of(resource_type: str) -> str:
    """The last part of a type token."""
    return resource_type.rpartition(":")[2]


def at(value: Any, *path: str) -> Any:
    """What lies on a path of keys; None where the path ends before."""
    for key in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def at_known(value: Any, *path: str) -> Any:
    """What lies on a path of keys; None where the path ends before, or where a preview cannot know it."""
    try:
        return at(value, *path)
    except UnknownValueError:
        return None


def many(value: Any) -> Sequence[Any]:
    """A list as it is; nothing else is one."""
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


def texts(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Every known text below a value, with its path; what a preview cannot know is left out."""
    if isinstance(value, str):
        yield path, value
    keys: Iterable[Any] = value if isinstance(value, Mapping) else range(len(many(value)))
    for key in keys:
        try:
            inner = value[key]
        except UnknownValueError:
            continue
        yield from texts(inner, f"{path}.{key}".lstrip("."))


def mappings(value: Any) -> Iterator[Mapping[str, Any]]:
    """Every mapping at and below a value, and in the JSON texts in it; what a preview cannot know is left out."""
    if isinstance(value, str) and value.startswith(("{", "[")):
        value = parsed(value)
    if isinstance(value, Mapping):
        yield value
    keys: Iterable[Any] = value if isinstance(value, Mapping) else range(len(many(value)))
    for key in keys:
        try:
            inner = value[key]
        except UnknownValueError:
            continue
        yield from mappings(inner)


def parsed(text: Any) -> Any:
    """What a JSON text says; None where it is none."""
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return None


def pod_spec(resource_type: str, props: Mapping[str, Any]) -> Mapping[str, Any]:
    """The description of the pods that an object makes; empty for an object that makes none."""
    spec = at(props, *_POD_SPECS.get(kind_of(resource_type), ("none",)))
    return spec if isinstance(spec, Mapping) else {}


def containers(spec: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """All containers of a pod: those that prepare it, and those that stay."""
    return [c for key in ("initContainers", "containers") for c in many(spec.get(key)) if isinstance(c, Mapping)]


def object_name(props: Mapping[str, Any], otherwise: str) -> str:
    """An object's name with its namespace; the resource's own where it has none."""
    name = at(props, "metadata", "name") or otherwise
    return f"{at(props, 'metadata', 'namespace') or 'default'}/{name}"


def is_one_of(name: str, patterns: Iterable[str]) -> bool:
    """Whether a name is one of some shell patterns."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def of_kind(resources: Iterable[PolicyResource], *kinds: str) -> list[PolicyResource]:
    """The resources of some kinds, whoever provides them; a patch of an object is of another kind."""
    return [resource for resource in resources if kind_of(resource.resource_type) in kinds]
