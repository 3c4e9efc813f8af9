"""The file and the identity of each resource in the folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpu_fabric.plan.nccl_files import NcclFile
from gpu_fabric.resources import Resource
from gpu_fabric.resources.charts import RELEASE
from gpu_fabric.resources.dynamic import DYNAMIC, KEPT_OBJECTS

OBJECTS, RELEASES, CLOUD, TASKS, ADDRESSES, NCCL = "kubernetes", "helm", "cloud", "tasks", "addresses", "nccl"
"""The folders."""

INDEX, DECISIONS, CONTRACT, REPORT = "index.json", "decisions.yaml", "contract.json", "report.txt"
PROOF = f"{ADDRESSES}/proof.json"
FABRICS = "fabrics"
"""The files that every rendered plan has."""


def is_object(resource_type: str) -> bool:
    """Whether a type is a Kubernetes object, or a patch of an object that another owner created."""
    return resource_type.startswith("kubernetes:") and resource_type != RELEASE


def file_of(resource: Resource, taken: set[str]) -> str:
    """The file of a resource's properties; its name depends only on the resource's own.

    File names are unique: if objects of two API groups have the same name, the later file also gets the group's name.
    """
    found = _file(resource)
    if found in taken:
        stem, _, end = found.rpartition(".")
        group = str(resource.properties.get("apiVersion", resource.type)).rpartition("/")[0] or "core"
        found = f"{stem}-of-{group}.{end}"
    assert found not in taken, f"two resources would be in {found}"
    return found


def identity_of(resource: Resource) -> str:
    """The name of a resource in its target system."""
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
    """The identity of a group of objects that form one resource, with the number of objects of each kind."""
    counted = (f"{count} {kind}" for kind, count in counts.items())
    return f"group {kept_by}: {', '.join(counted)}"


def nccl_path(file: NcclFile) -> str:
    """The path of a file that pods read, without the digest of its ConfigMap: new content changes the same file."""
    return f"{NCCL}/{file.config_map.rpartition('-')[0]}/{file.key}"


def rail_path(rail: int) -> str:
    """The table of a rail's addresses."""
    return f"{ADDRESSES}/rail-{rail:02d}.csv"


def values_path(file: str) -> str:
    """The file of a release's values, next to its other properties."""
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
    return f"{OBJECTS}/{resource.component}"


def _cloud_name(properties: dict[str, Any]) -> str:
    return str(properties.get("name") or properties.get("displayName") or "")
