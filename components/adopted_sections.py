"""Sections that a stack adds to an object which exists, and takes out again.

Server-side apply by a field manager of the stack's own, never by force: what other software wrote is not changed. The
state records the class's name, so the class keeps its name and module (as in `kept_objects`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import pulumi
from pulumi.dynamic import CreateResult, ReadResult, UpdateResult

from gpu_fabric.base.api_objects import field
from gpu_fabric.resources.dynamic import adoption_resource

from .engine.cluster_api import APPLY, PATIENCE, ClusterApi, Json, RequestError, counts_as_deleted, find, merge
from .engine.object_writing import common_fields, restore_integers
from .engine.registration import DynamicProvider, DynamicResource

_CONFLICT = 409
_SHOWN = 200

Path = tuple[str, ...]


class AdoptionError(pulumi.RunError):
    """Sections could not be added or taken out; Pulumi prints the message without a traceback."""


def apply_sections(api: ClusterApi, path: str, manifest: Json, manager: str) -> Json:
    """Add the sections to the object at the path; returns the object as it was before.

    Raises:
        AdoptionError: the object does not exist, or a field has another value by other software.
        RequestError: the API server refused the request for another reason, or was not reached.
    """
    before = find(api, path)
    kind, name = manifest["kind"], manifest["metadata"]["name"]
    if before is None:
        raise AdoptionError(
            f"there is no {kind} {name} to adopt: write policy: own, and the stack creates it. Nothing was changed"
        )
    # The identity, so that an object that was deleted in between is not created.
    body = {**manifest, "metadata": {"name": name, "uid": before["metadata"]["uid"]}}
    query = {"fieldManager": manager, "force": "false"}
    try:
        api.request("PATCH", f"{path}?{urlencode(query)}", body, {"Content-Type": APPLY})
    except RequestError as error:
        if error.status != _CONFLICT:
            raise
        differing = [f"  {line}" for line in _differing(manifest["spec"], before.get("spec") or {})]
        raise AdoptionError(
            "\n".join(
                [
                    f"{kind} {name} has other values in what the fabric needs, and they stay: {error}",
                    *differing,
                    "-> take these sections out of it, or write policy: theirs and plan with what it offers "
                    "(docs/existing-operators.md). Nothing was changed",
                ]
            )
        ) from None
    return before


class AdoptedSectionsProvider(DynamicProvider):
    """Adds sections to an object, and takes them out.

    `absent` has the paths that the object did not have before: only those are deleted where the API server leaves
    defaults or empty sections behind.
    """

    identity = ("cluster", "path", "manager")
    deletes_first = True

    def create(self, props: dict[str, Any]) -> CreateResult:
        """Raises AdoptionError."""
        return CreateResult(props["path"], self._written(restore_integers(props), []))

    def update(self, _id: str, old: dict[str, Any], new: dict[str, Any]) -> UpdateResult:
        """Raises AdoptionError."""
        before, wanted = restore_integers(old), restore_integers(new)
        written = self._written(wanted, before["absent"])
        self._take_out(before, unless=wanted["manifest"]["spec"])
        return UpdateResult(written)

    def delete(self, _id: str, props: dict[str, Any]) -> None:
        """Raises AdoptionError."""
        kept = restore_integers(props)
        try:
            self._relinquish(kept)
            self._take_out(kept, unless={})
        except RequestError as error:
            if counts_as_deleted(error):
                return
            raise AdoptionError(f"the sections could not be taken out of {kept['path']}: {error}") from None

    def read(self, id_: str, props: dict[str, Any]) -> ReadResult:
        """The sections on the cluster, limited to the written fields; the next run corrects the differences.

        Raises:
            AdoptionError: the cluster cannot be read.
        """
        kept = restore_integers(props)
        try:
            found = find(_api(kept), kept["path"])
        except RequestError as error:
            if not counts_as_deleted(error):
                raise AdoptionError(f"the cluster: {error}") from None
            found = None
        if found is None:
            # Pulumi drops a resource without an id from the state.
            return ReadResult("", {})
        manifest = {**kept["manifest"], "spec": common_fields(kept["manifest"]["spec"], found.get("spec") or {})}
        outs = {**kept, "manifest": manifest}
        inputs = {name: value for name, value in outs.items() if name != "absent"}
        return ReadResult(id_, outs, None if manifest == kept["manifest"] else inputs)

    def _written(self, wanted: dict[str, Any], absent: Sequence[Sequence[str]]) -> dict[str, Any]:
        try:
            before = apply_sections(_api(wanted), wanted["path"], wanted["manifest"], wanted["manager"])
        except RequestError as error:
            raise AdoptionError(f"the cluster: {error}") from None
        # What the stack added in an earlier run was not there before that.
        new = [list(path) for path in _absent(wanted["manifest"]["spec"], before.get("spec") or {})]
        return {**wanted, "absent": [*map(list, absent), *(path for path in new if path not in absent)]}

    def _relinquish(self, kept: Mapping[str, Any]) -> None:
        """Give up every field; those that no other manager has are then removed."""
        api, path, manifest = _api(kept), kept["path"], kept["manifest"]
        found = find(api, path)
        if found is None:
            return
        metadata = {"name": manifest["metadata"]["name"], "uid": found["metadata"]["uid"]}
        body = {**{key: manifest[key] for key in ("apiVersion", "kind")}, "metadata": metadata}
        query = urlencode({"fieldManager": kept["manager"], "force": "false"})
        api.request("PATCH", f"{path}?{query}", body, {"Content-Type": APPLY})

    def _take_out(self, kept: Mapping[str, Any], unless: Json) -> None:
        """Delete what is left of sections that were absent, are not wanted, and belong to no other manager.

        Defaults of the definition are left where the stack's own fields were, and have no manager.
        """
        api, path = _api(kept), kept["path"]
        found = find(api, path)
        if found is None:
            return
        spec, metadata = found.get("spec") or {}, found["metadata"]
        owned = [
            (entry.get("fieldsV1") or {}).get("f:spec") or {}
            for entry in metadata.get("managedFields") or ()
            if entry.get("manager") != kept["manager"]
        ]
        left = [
            tuple(each)
            for each in kept["absent"]
            if field(spec, *each) is not None
            and field(unless, *each) is None
            and not any(field(fields, *(f"f:{key}" for key in each)) is not None for fields in owned)
        ]
        if not left:
            return
        patch: Json = {"metadata": {"resourceVersion": metadata["resourceVersion"]}}
        for each in left:
            here = patch.setdefault("spec", {})
            for key in each[:-1]:
                here = here.setdefault(key, {}) if isinstance(here, dict) else None
                if here is None:
                    break
            if isinstance(here, dict):
                here[each[-1]] = None
        merge(api, path, patch)


class AdoptedSections(
    DynamicResource,
    name="AdoptedSections",
    provider=AdoptedSectionsProvider,
    planned=adoption_resource,
    of_stack=True,
    outputs=("absent",),
):
    """Sections in an object of the cluster; see AdoptedSectionsProvider."""


def _api(props: Mapping[str, Any]) -> ClusterApi:
    return ClusterApi(props["kubeconfig"], props.get("context"), 1, PATIENCE)


def _absent(wanted: Json, there: Json) -> Iterator[Path]:
    """The paths of what is not there, the outermost of each."""
    for key, value in wanted.items():
        if there.get(key) is None:
            yield (key,)
        elif isinstance(value, dict) and isinstance(there[key], dict):
            yield from ((key, *rest) for rest in _absent(value, there[key]))


def _differing(wanted: Json, there: Json, path: Path = ("spec",)) -> Iterator[str]:
    """A line for every field that has another value than the wanted one; long ones are cut."""
    for key, value in wanted.items():
        found = there.get(key)
        if isinstance(value, dict) and isinstance(found, dict):
            yield from _differing(value, found, (*path, key))
        elif found is not None and found != value:
            yield f"{'.'.join((*path, key))}: it is {_short(found)}, and the plan has {_short(value)}"


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
