"""Writes, reads and deletes a labelled group of objects: requests only for differences, and reports every failure."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from .cluster_api import ClusterApi, Json, RequestError, api_path

# Labels by which a group's objects are found, whatever the state records.
KEPT_BY, CUT = "gpu-fabric/kept-by", "gpu-fabric/cut"
MANAGER = "gpu-fabric"
CONNECTIONS = 16
_AT_A_TIME = 8
_LOOK_AGAIN = 1.0

Objects = dict[str, dict[str, Json]]
"""Manifests by kind and name; names are unique within a kind, across namespaces."""


class Place(NamedTuple):
    """An object's kind and name."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class Found(NamedTuple):
    """An object on the cluster, and its path in the API."""

    path: str
    item: Json


class Keeper:
    """The objects with the label of one group, on one cluster.

    `cut` identifies settings that no object of the group can change; objects of another cut are deleted first.
    `plurals` are the names of kinds in paths. `timeout` limits the deletion of objects in use, in seconds.
    """

    def __init__(self, api: ClusterApi, kept_by: str, cut: str, plurals: Mapping[str, str], timeout: float) -> None:
        self._api = api
        self._labels = {KEPT_BY: kept_by, CUT: hashlib.sha256(cut.encode()).hexdigest()[:8]}
        self._plurals = plurals
        self._timeout = timeout

    def write(self, wanted: Objects, before: Objects) -> tuple[Objects, list[str]]:
        """Delete objects that are not wanted, then apply those that differ from `before` or are missing.

        Returns the objects that exist afterwards, and a line for each failure. Raises RequestError if the objects could
        not be listed.
        """
        there, planned = _flat(before), _flat(wanted)
        found = self._labelled(self._collections(there, planned))
        strays = {place: entry for place, entry in found.items() if not self._may_stay(place, entry.item, planned)}
        left = self._delete(strays)
        staying = (found.keys() - strays.keys()) | left.keys()
        there = {place: manifest for place, manifest in there.items() if place in staying}
        differing = {
            place: manifest for place, manifest in planned.items() if place not in left and there.get(place) != manifest
        }
        refused = self._for_each(differing, lambda place: self._apply(place, differing[place]))
        there |= {place: manifest for place, manifest in differing.items() if place not in refused}
        return _nested(there), _lines(left | refused)

    def delete_all(self, known: Objects) -> list[str]:
        """Delete all objects with the group's label; returns after their deletion, with a line for each failure."""
        return _lines(self._delete(self._labelled(self._collections(_flat(known)))))

    def look(self, known: Objects) -> Objects:
        """Known objects as they are on the cluster, limited to their known fields, without deleted ones."""
        objects = _flat(known)
        found = self._labelled(self._collections(objects))
        return _nested(
            {place: _limited_to(manifest, found[place].item) for place, manifest in objects.items() if place in found}
        )

    def _apply(self, place: Place, manifest: Json) -> None:
        metadata = manifest["metadata"]
        labelled = {**metadata, "labels": {**metadata.get("labels", {}), **self._labels}}
        path = f"{self._collection(manifest)}/{place.name}"
        body = {**manifest, "metadata": labelled}
        self._api.apply(path, body, MANAGER)

    def _delete(self, entries: Mapping[Place, Found]) -> dict[Place, str]:
        """Delete objects and wait for their deletion; returns the reason for each failure."""
        refused = self._for_each(entries, lambda place: self._api.delete(entries[place].path))
        left = entries.keys() - refused.keys()
        collections = {(place.kind, entries[place].path.rpartition("/")[0]) for place in left}
        end = time.monotonic() + self._timeout
        while left := left & self._labelled(collections).keys() if left else left:
            if time.monotonic() > end:
                return refused | dict.fromkeys(left, f"still in use {self._timeout:.0f} s after it was deleted")
            time.sleep(_LOOK_AGAIN)
        return refused

    def _may_stay(self, place: Place, item: Json, planned: Mapping[Place, Json]) -> bool:
        """Whether an object may stay, and is at most updated."""
        metadata = item["metadata"]
        return (
            place in planned
            and metadata["labels"].get(CUT) == self._labels[CUT]
            and "deletionTimestamp" not in metadata
        )

    def _labelled(self, collections: Iterable[tuple[str, str]]) -> dict[Place, Found]:
        """Every object of the collections with the group's label."""
        selector = f"{KEPT_BY}={self._labels[KEPT_BY]}"
        return {
            Place(kind, item["metadata"]["name"]): Found(f"{path}/{item['metadata']['name']}", item)
            for kind, path in collections
            for item in self._api.items(path, selector)
        }

    def _for_each(self, places: Iterable[Place], act: Callable[[Place], None]) -> dict[Place, str]:
        """Run requests for several objects at a time; returns the server's reason for each refusal."""

        def attempt(place: Place) -> tuple[Place, str]:
            try:
                act(place)
            except RequestError as error:
                return place, str(error)
            return place, ""

        with ThreadPoolExecutor(_AT_A_TIME) as workers:
            return {place: reason for place, reason in workers.map(attempt, places) if reason}

    def _collections(self, *groups: Mapping[Place, Json]) -> set[tuple[str, str]]:
        """Kinds with the paths of their collections, one for each namespace."""
        return {(place.kind, self._collection(manifest)) for group in groups for place, manifest in group.items()}

    def _collection(self, manifest: Json) -> str:
        plural, namespace = self._plurals[manifest["kind"]], manifest["metadata"].get("namespace")
        return api_path(manifest["apiVersion"], plural, namespace)


def restore_integers(value: Any) -> Any:
    """A value with whole numbers as integers again: Pulumi's protocol turns all numbers into floating-point ones."""
    if isinstance(value, dict):
        return {key: restore_integers(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [restore_integers(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _flat(objects: Objects) -> dict[Place, Json]:
    return {Place(kind, name): manifest for kind, named in objects.items() for name, manifest in named.items()}


def _nested(objects: Mapping[Place, Json]) -> Objects:
    nested: Objects = {}
    for place, manifest in sorted(objects.items()):
        nested.setdefault(place.kind, {})[place.name] = manifest
    return nested


def _lines(failures: Mapping[Place, str]) -> list[str]:
    return [f"{place}: {reason}" for place, reason in sorted(failures.items())]


def _limited_to(known: Json, item: Json) -> Json:
    """An object limited to the fields of the known one; kind and version are the known ones, as lists omit them."""
    named = {key: known[key] for key in ("apiVersion", "kind")}
    return {**common_fields(known, item), **named}


def common_fields(known: Any, found: Any) -> Any:
    """What was found, limited to the fields of what is known, at any depth."""
    if isinstance(known, dict) and isinstance(found, dict):
        return {key: common_fields(value, found[key]) for key, value in known.items() if key in found}
    return found
