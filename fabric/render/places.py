"""Where a resource lies in the folder, and what it is called there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fabric.plan.nccl_files import NcclFile
from fabric.resources import COMPONENTS, Resource
from fabric.resources.charts import RELEASE
from fabric.resources.dynamic import DYNAMIC, KEPT_OBJECTS

OBJECTS, RELEASES, CLOUD, TASKS, ADDRESSES, NCCL = "kubernetes", "helm", "cloud", "tasks", "addresses", "nccl"
"""The folders."""

INDEX, DECISIONS, CONTRACT, REPORT = "index.json", "decisions.yaml", "contract.json", "report.txt"
PROOF = f"{ADDRESSES}/proof.json"
"""The files that every rendered plan has."""


def is_object(resource_type: str) -> bool:
    """Whether a type is a Kubernetes object's, or of fields in one that is somebody else's."""
    return resource_type.startswith("kubernetes:") and resource_type != RELEASE


def file_of(resource: Resource, taken: set[str]) -> str:
    """The file of a resource's properties, by a name that changes only with its own.

    No two have one: where objects of two API groups are called the same, the later one's name has its group's, too.
    """
    found = _file(resource)
    if found in taken:
        stem, _, end = found.rpartition(".")
        group = str(resource.properties.get("apiVersion", resource.type)).rpartition("/")[0] or "core"
        found = f"{stem}-of-{group}.{end}"
    assert found not in taken, f"two resources would lie in {found}"
    return found


def identity_of(resource: Resource) -> str:
    """What a resource is in its own world."""
    properties = resource.properties
    if resource.type == RELEASE:
        return f"release {properties['namespace']}/{properties['name']}"
    if resource.type == KEPT_OBJECTS:
        return group_identity(properties["keptBy"], {kind: len(named) for kind, named in properties["objects"].items()})
    if resource.type.startswith(DYNAMIC):
        return f"{resource.type.removeprefix(DYNAMIC)} {resource.name}"
    if is_object(resource.type):
        return object_identity(f"{properties['apiVersion']} {properties['kind']}", properties["metadata"])
    kind = resource.type.rpartition(":")[2]
    return f"{kind} {_cloud_name(properties)}".rstrip()


def object_identity(kind: str, metadata: Mapping[str, Any]) -> str:
    """What an object is, by its API version and kind, and its name."""
    place = f"{metadata['namespace']}/" if "namespace" in metadata else ""
    return f"{kind} {place}{metadata['name']}"


def group_identity(kept_by: str, counts: Mapping[str, int]) -> str:
    """What objects are that are one resource together, by how many there are of each kind."""
    counted = (f"{count} {kind}" for kind, count in counts.items())
    return f"group {kept_by}: {', '.join(counted)}"


def nccl_path(file: NcclFile) -> str:
    """The file that pods read: without the digest in its ConfigMap's name, so that new content is a change of it."""
    return f"{NCCL}/{file.config_map.rpartition('-')[0]}/{file.key}"


def rail_path(rail: int) -> str:
    """The table of a rail's addresses."""
    return f"{ADDRESSES}/rail-{rail:02d}.csv"


def values_path(file: str) -> str:
    """A release's values, beside its other properties."""
    return f"{file.rpartition('/')[0]}/values.yaml"


def _file(resource: Resource) -> str:
    properties = resource.properties
    if resource.type == RELEASE:
        return f"{RELEASES}/{properties['name']}/release.yaml"
    if resource.type == KEPT_OBJECTS:
        return f"{_folder(resource)}/{resource.name.removeprefix(f'{resource.component}-')}.yaml"
    if is_object(resource.type):
        metadata, patched = properties["metadata"], resource.type.endswith("Patch")
        parts = ["patch"] if patched else []
        parts += [properties["kind"].lower(), *([metadata["namespace"]] if "namespace" in metadata else [])]
        return f"{_folder(resource)}/{'-'.join([*parts, metadata['name']])}.yaml"
    return f"{TASKS if resource.type.startswith(DYNAMIC) else CLOUD}/{resource.name}.yaml"


def _folder(resource: Resource) -> str:
    # The place among all components: it stays, whichever of them a plan has.
    return f"{OBJECTS}/{COMPONENTS.index(resource.component):02d}-{resource.component}"


def _cloud_name(properties: dict[str, Any]) -> str:
    return str(properties.get("name") or properties.get("displayName") or "")
