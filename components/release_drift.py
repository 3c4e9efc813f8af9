"""Drift inside a Helm release: objects of its chart that were changed or deleted since.

A refresh by Pulumi reads Helm's record of a release, but not its objects. Here each object of the newest record is
compared with the cluster's. The chart's manifest is applied once more as a dry run, so that the API server itself
handles defaults, other spellings of an amount, lists by name, and fields of other owners.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import yaml

from gpu_fabric.changes.properties import Difference, differences

from .cluster_api import APPLY, ClusterApi, Json, RequestError, api_path, find

# A dry run leaves no trace of it.
_MANAGER = "gpu-fabric-drift"
# Fields that every write changes, and that no chart sets.
_OWN = {"managedFields", "resourceVersion", "generation", "creationTimestamp"}


@dataclass(frozen=True)
class ObjectName:
    """An object of a release, as it is named in messages."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


@dataclass
class ReleaseDrift:
    """The differences between a release and the cluster.

    `problem` is about the whole release, such as that it is not installed. `changed` has the differing fields of each
    object: `old` is the cluster's value, `new` the chart's. `unknown` is why an object could not be compared.
    """

    namespace: str
    name: str
    objects: int = 0
    problem: str = ""
    missing: list[ObjectName] = field(default_factory=list)
    changed: dict[ObjectName, list[Difference]] = field(default_factory=dict)
    unknown: dict[ObjectName, str] = field(default_factory=dict)

    @property
    def drifted(self) -> bool:
        """Whether the cluster differs from the release."""
        return bool(self.problem or self.missing or self.changed)


def release_drift(api: ClusterApi, releases: Iterable[tuple[str, str]]) -> Iterator[ReleaseDrift]:
    """The drift of each release, by its namespace and name.

    Raises:
        RequestError: the cluster was not reached, or does not let Helm's records be read.
    """
    kinds = _Kinds(api)
    for namespace, name in releases:
        yield _release(api, kinds, namespace, name)


def _release(api: ClusterApi, kinds: _Kinds, namespace: str, name: str) -> ReleaseDrift:
    drift = ReleaseDrift(namespace, name)
    record = newest_record(api.items(f"/api/v1/namespaces/{namespace}/secrets", f"owner=helm,name={name}"))
    if record is None:
        drift.problem = "is not installed: the cluster has no record of it"
        return drift
    if (status := record["info"]["status"]) != "deployed":
        drift.problem = f"its newest revision, {record['version']}, is {status} and not deployed"
    for manifest in manifests(record):
        drift.objects += 1
        _compare(api, kinds, manifest, namespace, drift)
    return drift


def newest_record(secrets: Iterable[Json]) -> Json | None:
    """Helm's record of the newest revision, from the secrets of a release's revisions."""
    found = sorted(secrets, key=lambda secret: int(secret["metadata"]["labels"]["version"]))
    if not found:
        return None
    # Kubernetes encodes a secret's data once, and Helm its record a second time.
    text = base64.b64decode(base64.b64decode(found[-1]["data"]["release"]))
    record: Json = json.loads(gzip.decompress(text))
    return record


def manifests(record: Json) -> Iterator[Json]:
    """The objects of a record as the chart wrote them, without hooks, which Helm deletes again."""
    for document in yaml.safe_load_all(record["manifest"]):
        if isinstance(document, dict) and document.get("kind"):
            # Helm writes the objects of a list one by one.
            yield from document["items"] if str(document["kind"]).endswith("List") else (document,)


def _compare(api: ClusterApi, kinds: _Kinds, manifest: Json, namespace: str, drift: ReleaseDrift) -> None:
    """Compare one object, and add the differences to `drift`."""
    version, kind, metadata = manifest["apiVersion"], manifest["kind"], manifest["metadata"]
    place = ObjectName(kind, metadata.get("namespace") or namespace, metadata["name"])
    try:
        known = kinds.of(version, kind)
        if known is None:
            drift.missing.append(ObjectName(kind, metadata.get("namespace", ""), metadata["name"]))
            return
        plural, namespaced = known
        if not namespaced:
            place = ObjectName(kind, "", place.name)
        path = api_path(version, plural, place.namespace, place.name)
        live = find(api, path)
        if live is None:
            drift.missing.append(place)
            return
        query = urlencode({"fieldManager": _MANAGER, "force": "true", "dryRun": "All"})
        as_written = api.request("PATCH", f"{path}?{query}", _intended(manifest), {"Content-Type": APPLY})
    except RequestError as error:
        if error.status == 0:
            raise
        drift.unknown[place] = str(error)
        return
    found = [entry for entry in differences(_compared(live), _compared(as_written)) if _writes(manifest, entry.keys)]
    if found:
        drift.changed[place] = found


def _writes(written: Any, keys: tuple[str, ...]) -> bool:
    """Whether a chart wrote a field, or a part of it; other changes by the server do not count."""
    if not keys:
        return True
    if isinstance(written, list):
        return any(_writes(entry, keys) for entry in written)
    if not isinstance(written, Mapping):
        return True
    # The API server stores a secret's stringData as data.
    inner = written.get(keys[0], written.get("stringData") if keys[0] == "data" else None)
    return inner is not None and _writes(inner, keys[1:])


def _intended(value: Any) -> Any:
    """A manifest without null values, which Helm does not send, and without the status, which a controller writes."""
    if isinstance(value, Mapping):
        return {key: _intended(entry) for key, entry in value.items() if entry is not None and key != "status"}
    return [_intended(entry) for entry in value] if isinstance(value, list) else value


def _compared(document: Json) -> Json:
    metadata = {key: value for key, value in document["metadata"].items() if key not in _OWN}
    return {**{key: value for key, value in document.items() if key != "status"}, "metadata": metadata}


class _Kinds:
    """The names of kinds in paths, requested once for each group."""

    def __init__(self, api: ClusterApi) -> None:
        self._api = api
        self._groups: dict[str, dict[str, tuple[str, bool]]] = {}

    def of(self, version: str, kind: str) -> tuple[str, bool] | None:
        """The name in paths, and whether the kind is namespaced; None if the cluster does not have the kind."""
        if version not in self._groups:
            listed = (find(self._api, api_path(version)) or {"resources": []})["resources"]
            self._groups[version] = {
                entry["kind"]: (entry["name"], entry["namespaced"]) for entry in listed if "/" not in entry["name"]
            }
        return self._groups[version].get(kind)
