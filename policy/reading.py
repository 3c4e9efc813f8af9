"""Read a resource's inputs. A value that a preview does not know yet raises the SDK's error, which the SDK reports."""

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
    """The value at a path of keys; None where the path does not exist."""
    for key in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def at_known(value: Any, *path: str) -> Any:
    """The value at a path of keys; None where the path does not exist or a preview does not know the value yet."""
    try:
        return at(value, *path)
    except UnknownValueError:
        return None


def many(value: Any) -> Sequence[Any]:
    """A list unchanged; an empty one for any other value."""
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


def texts(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Every known text below a value, with its path; values that a preview does not know yet are left out."""
    if isinstance(value, str):
        yield path, value
    for key, inner in _known_entries(value):
        yield from texts(inner, f"{path}.{key}".lstrip("."))


def mappings(value: Any) -> Iterator[Mapping[str, Any]]:
    """Every mapping at and below a value and in its JSON texts; values that a preview does not know are left out."""
    if isinstance(value, str) and value.startswith(("{", "[")):
        value = parsed(value)
    if isinstance(value, Mapping):
        yield value
    for _, inner in _known_entries(value):
        yield from mappings(inner)


def _known_entries(value: Any) -> Iterator[tuple[Any, Any]]:
    """The keys or indices of a mapping or list with their known values; none for any other value."""
    keys: Iterable[Any] = value if isinstance(value, Mapping) else range(len(many(value)))
    for key in keys:
        try:
            yield key, value[key]
        except UnknownValueError:
            continue


def parsed(text: Any) -> Any:
    """The value of a JSON text; None for text that is not JSON."""
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return None


def pod_spec(resource_type: str, props: Mapping[str, Any]) -> Mapping[str, Any]:
    """The pod spec of an object; empty for an object without pods."""
    spec = at(props, *_POD_SPECS.get(kind_of(resource_type), ("none",)))
    return spec if isinstance(spec, Mapping) else {}


def containers(spec: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """All containers of a pod, init containers included."""
    return [c for key in ("initContainers", "containers") for c in many(spec.get(key)) if isinstance(c, Mapping)]


def object_name(props: Mapping[str, Any], default: str) -> str:
    """An object's name with its namespace; the resource's own where it has none."""
    name = at(props, "metadata", "name") or default
    return f"{at(props, 'metadata', 'namespace') or 'default'}/{name}"


def is_one_of(name: str, patterns: Iterable[str]) -> bool:
    """Whether a name is one of some shell patterns."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def of_kind(resources: Iterable[PolicyResource], *kinds: str) -> list[PolicyResource]:
    """The resources of some Kubernetes kinds, of any package; a patch of an object is a kind of its own."""
    return [resource for resource in resources if kind_of(resource.resource_type) in kinds]
