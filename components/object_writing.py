"""Writing, reading and deleting a labelled group of objects: only what differs, and every failure told."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

from .cluster_api import ClusterApi, Json, Patience, RequestError, persistently

# By these a group's objects are found again, whatever is known of them.
KEPT_BY, CUT = "gpu-fabric/kept-by", "gpu-fabric/cut"
MANAGER = "gpu-fabric"
CONNECTIONS = 16
_AT_A_TIME = 8
_PATIENCE, _LOOK_AGAIN = 60.0, 1.0

Objects = dict[str, dict[str, Json]]
"""Objects as manifests, by kind and name; names of a kind are unique in it, whatever the namespace."""


class Place(NamedTuple):
    """An object's kind and name."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class Found(NamedTuple):
    """An object as the cluster has it, and its path in the API."""

    path: str
    item: Json


class Keeper:
    """The objects that carry the label of one group, on one cluster.

    `cut` is what no object of the group may change; what was left of another cut is deleted first. `plurals` are the
    names of kinds in paths. `timeout` is in seconds, for the deletion of objects that something still holds.
    """

    def __init__(self, api: ClusterApi, kept_by: str, cut: str, plurals: Mapping[str, str], timeout: float) -> None:
        self._api = api
        self._labels = {KEPT_BY: kept_by, CUT: hashlib.sha256(cut.encode()).hexdigest()[:8]}
        self._plurals = plurals
        self._timeout = timeout
        self._patience = Patience(_PATIENCE)

    def write(self, wanted: Objects, before: Objects) -> tuple[Objects, list[str]]:
        """Delete what is not wanted, then apply what differs from `before`, or is gone.

        Gives the objects that are there then, and a line for each that is not as wanted. Raises RequestError where
        nothing could be found out.
        """
        there, planned = _flat(before), _flat(wanted)
        found = self._labelled(self._collections(there, planned))
        strays = {place: entry for place, entry in found.items() if not self._is_good(place, entry.item, planned)}
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
        """Delete everything with the group's label; returns when it is gone, with a line for what is not."""
        return _lines(self._delete(self._labelled(self._collections(_flat(known)))))

    def look(self, known: Objects) -> Objects:
        """Known objects as they are on the cluster, as far as their known fields go, without those that are gone."""
        objects = _flat(known)
        found = self._labelled(self._collections(objects))
        return _nested(
            {place: _as_far_as(manifest, found[place].item) for place, manifest in objects.items() if place in found}
        )

    def _apply(self, place: Place, manifest: Json) -> None:
        metadata = manifest["metadata"]
        labelled = {**metadata, "labels": {**metadata.get("labels", {}), **self._labels}}
        path = f"{self._collection(manifest)}/{place.name}"
        body = {**manifest, "metadata": labelled}
        persistently(self._patience, lambda: self._api.apply(path, body, MANAGER))

    def _delete(self, entries: Mapping[Place, Found]) -> dict[Place, str]:
        """Delete objects and wait until they are gone; gives why some are not."""

        def delete(place: Place) -> None:
            persistently(self._patience, lambda: self._api.delete(entries[place].path))

        refused = self._for_each(entries, delete)
        left = entries.keys() - refused.keys()
        collections = {(place.kind, entries[place].path.rpartition("/")[0]) for place in left}
        end = time.monotonic() + self._timeout
        while left := left & self._labelled(collections).keys() if left else left:
            if time.monotonic() > end:
                return refused | dict.fromkeys(left, f"still in use {self._timeout:.0f} s after it was deleted")
            time.sleep(_LOOK_AGAIN)
        return refused

    def _is_good(self, place: Place, item: Json, planned: Mapping[Place, Json]) -> bool:
        """Whether an object may stay, to be changed where it differs."""
        metadata = item["metadata"]
        return place in planned and metadata["labels"].get(CUT) == self._labels[CUT] and not _is_going(metadata)

    def _labelled(self, collections: Iterable[tuple[str, str]]) -> dict[Place, Found]:
        """Every object of the collections that carries the group's label."""
        selector = f"{KEPT_BY}={self._labels[KEPT_BY]}"
        return {
            Place(kind, item["metadata"]["name"]): Found(f"{path}/{item['metadata']['name']}", item)
            for kind, path in collections
            for item in persistently(self._patience, partial(self._api.items, path, selector))
        }

    def _for_each(self, places: Iterable[Place], act: Callable[[Place], None]) -> dict[Place, str]:
        """Do something for several objects at a time; gives the server's reason where it refused."""

        def attempt(place: Place) -> tuple[Place, str]:
            try:
                act(place)
            except RequestError as error:
                return place, str(error)
            return place, ""

        with ThreadPoolExecutor(_AT_A_TIME) as workers:
            return {place: reason for place, reason in workers.map(attempt, places) if reason}

    def _collections(self, *groups: Mapping[Place, Json]) -> set[tuple[str, str]]:
        """Kinds with the paths of their collections, one a namespace."""
        return {(place.kind, self._collection(manifest)) for group in groups for place, manifest in group.items()}

    def _collection(self, manifest: Json) -> str:
        version, namespace = manifest["apiVersion"], manifest["metadata"].get("namespace")
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        return f"{root}{f'/namespaces/{namespace}' if namespace else ''}/{self._plurals[manifest['kind']]}"


def restored(value: Any) -> Any:
    """A value as it was before the engine's wire, on which all numbers are floating-point ones."""
    if isinstance(value, dict):
        return {key: restored(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [restored(inner) for inner in value]
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


def _is_going(metadata: Json) -> bool:
    return "deletionTimestamp" in metadata


def _as_far_as(known: Json, item: Json) -> Json:
    """An object with the fields that the known one has, too; a listing may leave its kind out."""
    named = {key: known[key] for key in ("apiVersion", "kind")}
    return {**_common(known, item), **named}


def _common(known: Any, found: Any) -> Any:
    if isinstance(known, dict) and isinstance(found, dict):
        return {key: _common(value, found[key]) for key, value in known.items() if key in found}
    return found
