"""A cluster as it is, read once: objects as the API server gives them, and which of them Pulumi keeps."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from hashlib import sha256
from typing import Any

from gpu_fabric.base.api_objects import annotations_of as annotations_of
from gpu_fabric.base.api_objects import api_path as api_path
from gpu_fabric.base.api_objects import field as field
from gpu_fabric.base.api_objects import labels_of as labels_of

Json = dict[str, Any]
Read = Callable[[str], Json | None]
"""The object or list at a path of the API; None where there is none. Raises NotAllowed."""
Create = Callable[[str, Json], Json]
"""What the API server answers to an object that is posted to a path. Raises NotAllowed."""
Apply = Callable[[Json], Json]
"""The object that a manifest would make by server-side apply, as a dry run. Raises NotAllowed."""

# What writes the stack's objects: Pulumi's provider, one manager a resource, and the providers of this project.
_OF_PULUMI, _OWN = "pulumi-kubernetes", "gpu-fabric"
_BUILT_IN = ("apps", "batch", "policy", "autoscaling")


class NotAllowed(Exception):
    """The API server refuses a request to the user; the text is its reason."""


class Cluster:
    """What is read of a cluster; every path is read once.

    `refused` has the paths that may not be read, with the reason: nothing is known of them.
    """

    def __init__(self, read: Read, create: Create, apply: Apply | None = None) -> None:
        self._read, self._create, self._apply = read, create, apply
        self._found: dict[str, Json | None] = {}
        self.refused: dict[str, str] = {}

    def get(self, path: str) -> Json | None:
        """The object at a path; None where there is none, or where it may not be read."""
        if path not in self._found:
            try:
                self._found[path] = self._read(path)
            except NotAllowed as error:
                self._found[path] = None
                self.refused[path] = str(error)
        return self._found[path]

    def items(self, path: str) -> tuple[Json, ...]:
        """The objects of a collection; none where the cluster does not have the kind."""
        found = self.get(path)
        return () if found is None else tuple(found.get("items") or ())

    def is_readable(self, path: str) -> bool:
        """Whether the user may read a path."""
        self.get(path)
        return path not in self.refused

    def may_create(self, group: str, plural: str, namespace: str | None) -> str | None:
        """Why the user may not create such objects; None where that is allowed, or cannot be asked.

        A SelfSubjectAccessReview is answered and not stored.
        """
        attributes = {"verb": "create", "group": group, "resource": plural, "namespace": namespace or ""}
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        try:
            answer = self._create("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)
        except NotAllowed:
            return None
        status = answer.get("status") or {}
        return None if status.get("allowed") is not False else str(status.get("reason") or "no role allows it")

    def as_written(self, manifest: Json) -> Json | None:
        """The object with a manifest applied to it, which is not stored; None where the user may not ask for that."""
        if self._apply is None:
            return None
        try:
            return self._apply(manifest)
        except NotAllowed:
            return None

    def watched(self, keep: Callable[[str, Callable[[], Any]], Any]) -> Cluster:
        """The same cluster, of which nothing is read yet; `keep` makes each request, which has a name of its own."""
        apply = self._apply
        return Cluster(
            lambda path: keep(f"get {path}", lambda: self._read(path)),
            lambda path, manifest: keep(f"create {path} {_digest(manifest)}", lambda: self._create(path, manifest)),
            apply and (lambda manifest: keep(f"apply {_digest(manifest)}", lambda: apply(manifest))),
        )

    @cached_property
    def nodes(self) -> tuple[Json, ...]:
        """Every node."""
        return self.items("/api/v1/nodes")

    @cached_property
    def namespaces(self) -> dict[str, Json]:
        """Every namespace by name."""
        return {name_of(item): item for item in self.items("/api/v1/namespaces")}

    @cached_property
    def workloads(self) -> tuple[tuple[str, Json], ...]:
        """Every Deployment and DaemonSet, with its kind."""
        return tuple(
            (kind, item)
            for kind, plural in (("Deployment", "deployments"), ("DaemonSet", "daemonsets"))
            for item in self.items(f"/apis/apps/v1/{plural}")
        )


def _digest(manifest: Json) -> str:
    return sha256(json.dumps(manifest, sort_keys=True, default=str).encode()).hexdigest()


def is_by_program(item: Mapping[str, Any]) -> bool:
    """Whether Pulumi or this project's providers keep an object, by the managers of its fields.

    What is applied with its name alone, such as a namespace without labels, has no managed field; what any other client
    creates has.
    """
    managers = [str(entry.get("manager", "")) for entry in field(item, "metadata", "managedFields") or ()]
    return not managers or any(map(is_own_manager, managers))


def is_own_manager(manager: str) -> bool:
    """Whether a manager of fields is Pulumi, or a provider of this project's."""
    return manager == _OWN or manager.startswith(_OF_PULUMI)


def name_of(item: Mapping[str, Any]) -> str:
    """The object's name."""
    return str(field(item, "metadata", "name") or "")


def namespace_of(item: Mapping[str, Any]) -> str | None:
    """The object's namespace; None for one of the whole cluster."""
    found = field(item, "metadata", "namespace")
    return None if found is None else str(found)


def called(kind: str, item: Mapping[str, Any]) -> str:
    """An object for people: `DaemonSet kube-system/kube-multus-ds`."""
    namespace = namespace_of(item)
    return f"{kind} {namespace}/{name_of(item)}" if namespace else f"{kind} {name_of(item)}"


def release_of(item: Mapping[str, Any]) -> tuple[str, str] | None:
    """Name and namespace of the Helm release that an object is part of; None where it is of none."""
    found = annotations_of(item)
    name, namespace = found.get("meta.helm.sh/release-name"), found.get("meta.helm.sh/release-namespace")
    return None if name is None or namespace is None else (name, namespace)


def path_of(collection_of_all: str, item: Mapping[str, Any]) -> str:
    """The path of an object of a collection over all namespaces."""
    api_version, _, plural = collection_of_all.removeprefix("/apis/").removeprefix("/api/").rpartition("/")
    return api_path(api_version, plural, namespace_of(item), name_of(item))


def is_built_in(group: str) -> bool:
    """Whether an API group is Kubernetes' own: its kinds have no definition in the cluster."""
    return (
        not group
        or group in _BUILT_IN
        or (group.endswith(".k8s.io") and not group.endswith(("cni.cncf.io", ".x-k8s.io")))
    )


def selects(selector: Mapping[str, Any] | None, labels: Mapping[str, str]) -> bool:
    """Whether a label selector of Kubernetes matches labels; an absent or empty one matches all."""
    wanted = (selector or {}).get("matchLabels") or {}
    rows: Iterable[Mapping[str, Any]] = (selector or {}).get("matchExpressions") or ()
    return all(labels.get(key) == value for key, value in wanted.items()) and all(_holds(row, labels) for row in rows)


def _holds(row: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, values = row.get("key", ""), row.get("values") or ()
    match row.get("operator"):
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
    return False
