"""Fields of an object: what was written in them, what they are, and who changed them."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gpu_fabric.changes.markup import shorten
from gpu_fabric.changes.properties import Difference, differences
from gpu_fabric.live.cluster import Json, field, is_own_manager

AsWritten = Callable[[Json], Json | None]
"""The object as it would be once a manifest is applied, by a dry run; None where the user may not ask for that."""

_LONGEST = 100
# Fields that every write changes, and that no manifest sets.
_OF_THE_SERVER = {"managedFields", "resourceVersion", "generation", "creationTimestamp"}
# Managers whose fields Pulumi takes over by itself, by the beginnings of their names (pulumi-kubernetes 4.25,
# pkg/await/await.go, fixCSAFieldManagers; fluxcd/pkg ssa 0.46, PatchReplaceFieldsManagers). With any other that has a
# field with another value, server-side apply ends in a conflict, whatever the operation was.
_TAKEN_OVER = ("kubectl", "before-first-apply")
# Where a workload's pods are restarted by hand: what they run does not change.
_RESTARTED = ("spec", "template", "metadata", "annotations")


def changed_fields(live: Json, manifest: Json, as_written: AsWritten) -> list[Difference]:
    """The fields of a manifest that the cluster's object has otherwise: `old` is the cluster's value.

    The API server itself judges what differs, since it writes some values in another form. Where it does not, an empty
    value that the object lacks is not a difference: of one that its definition does not declare, nothing is kept.
    """
    manifest = _intended(manifest)
    if is_covered(manifest, live):
        return []
    written = as_written(manifest)
    after = overlaid(live, manifest) if written is None else written
    found = [entry for entry in differences(_compared(live), _compared(after)) if _writes(manifest, entry.keys)]
    return found if written is not None else [entry for entry in found if not _is_empty_addition(entry)]


def _is_empty_addition(entry: Difference) -> bool:
    return entry.kind == "added" and entry.new in ({}, [])


def _intended(manifest: Json) -> Json:
    """A manifest as the API server keeps it: without null values and status, the text of a Secret as its data."""
    found = _without_nulls({key: entry for key, entry in manifest.items() if key not in ("status", "stringData")})
    texts = {key: base64.b64encode(str(text).encode()).decode() for key, text in manifest.get("stringData", {}).items()}
    return {**found, "data": {**(found.get("data") or {}), **texts}} if texts else found


def _without_nulls(value: Any) -> Any:
    """A value without nulls, which Helm does not send."""
    if isinstance(value, Mapping):
        return {key: _without_nulls(entry) for key, entry in value.items() if entry is not None}
    return [_without_nulls(entry) for entry in value] if isinstance(value, list) else value


def is_covered(manifest: Any, live: Any) -> bool:
    """Whether an object has everything that a manifest states, in the same form."""
    if isinstance(manifest, Mapping):
        return isinstance(live, Mapping) and all(
            key in live and is_covered(entry, live[key]) for key, entry in manifest.items()
        )
    if isinstance(manifest, list):
        same_length = isinstance(live, list) and len(live) == len(manifest)
        return same_length and all(map(is_covered, manifest, live))
    return bool(manifest == live)


def overlaid(live: Any, manifest: Any) -> Any:
    """An object with a manifest's values in the place of its own."""
    if isinstance(live, Mapping) and isinstance(manifest, Mapping):
        return {**live, **{key: overlaid(live.get(key), entry) for key, entry in manifest.items()}}
    if isinstance(live, list) and isinstance(manifest, list) and len(live) == len(manifest):
        return list(map(overlaid, live, manifest))
    return manifest


def _compared(document: Json) -> Json:
    metadata = {key: value for key, value in document["metadata"].items() if key not in _OF_THE_SERVER}
    kept = {key: value for key, value in document.items() if key not in ("status", "apiVersion", "kind")}
    return {**kept, "metadata": metadata}


def _writes(written: Any, keys: tuple[str, ...]) -> bool:
    """Whether a manifest has a field, or a part of it; other changes by the server do not count."""
    if not keys:
        return True
    if isinstance(written, list):
        return any(_writes(entry, keys) for entry in written)
    if not isinstance(written, Mapping):
        return True
    return keys[0] in written and _writes(written[keys[0]], keys[1:])


def added_fields(live: Json, manifest: Json, *known: str) -> dict[str, list[str]]:
    """What others have added to the spec or the data of an object, by their names; managers in `known` may."""
    found: dict[str, list[str]] = {}
    for entry in field(live, "metadata", "managedFields") or ():
        manager = str(entry.get("manager", ""))
        if is_own_manager(manager) or manager in known or entry.get("subresource"):
            continue
        for keys in _paths(entry.get("fieldsV1") or {}):
            if keys[0] in ("spec", "data") and keys[:4] != _RESTARTED and not _writes(manifest, keys):
                found.setdefault(manager, []).append(".".join(keys))
    return found


def author(live: Json, keys: tuple[str, ...]) -> str:
    """Who changed a field last, of those that are not the stack's own, with the time."""
    # A field that was removed has no manager: then the manager that wrote the object last.
    candidates = holders(live, keys) or _others(live)
    if not (found := max(candidates, key=lambda entry: str(entry.get("time", "")), default=None)):
        return "no other client is recorded"
    when = f" at {found['time']}" if found.get("time") else ""
    return f"by {found.get('manager') or 'a client without a name'}{when}"


def rival(live: Json, keys: tuple[str, ...]) -> str | None:
    """The manager with which Pulumi ends in a conflict when it writes another value into a field; None without one."""
    names = (str(entry.get("manager") or "a client without a name") for entry in holders(live, keys))
    return next((name for name in names if not name.startswith(_TAKEN_OVER)), None)


def holders(live: Json, keys: tuple[str, ...]) -> list[Json]:
    """Entries of managers that have a field, of those that are not the stack's own."""
    return [
        entry for entry in _others(live) if any(_meets(found, keys) for found in _paths(entry.get("fieldsV1") or {}))
    ]


def _others(live: Json) -> list[Json]:
    entries = [entry for entry in field(live, "metadata", "managedFields") or () if not entry.get("subresource")]
    return [entry for entry in entries if not is_own_manager(str(entry.get("manager", "")))]


def _meets(found: tuple[str, ...], keys: tuple[str, ...]) -> bool:
    return found[: len(keys)] == keys or keys[: len(found)] == found


def _paths(fields: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The leaves of `fieldsV1`, without the places in lists."""
    inner = {key: value for key, value in fields.items() if key != "."}
    if not inner and above:
        yield above
    for key, value in inner.items():
        yield from _paths(value or {}, (*above, key.removeprefix("f:")) if key.startswith("f:") else above)


def words(kind: str, entry: Difference) -> str:
    """A changed field for people; of secrets and of containers' variables the place alone."""
    if is_hidden(kind, entry.path):
        return f"{entry.path} is not as written"
    if entry.kind == "added":
        return f"{entry.path} was removed, which was {value(entry.new)}"
    return f"{entry.path} is {value(entry.old)} instead of {value(entry.new)}"


def is_hidden(kind: str, path: str) -> bool:
    """Whether a value must not be in a log."""
    return kind == "Secret" or ".env[" in path


def value(found: object) -> str:
    """A value for people, of a long one the beginning."""
    return shorten(repr(found), _LONGEST)
