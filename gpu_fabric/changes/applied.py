"""The output `applied`: writing, reading and packing. Similar resources are stored as one group."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from pydantic import JsonValue

from gpu_fabric.changes.addresses import Holders
from gpu_fabric.changes.footprint import OF_CONTRACT, SCHEMA, Applied, Footprint
from gpu_fabric.render.places import is_object, object_identity

_OF_ONE = ("name", "identity", "properties")
_EMPTY: dict[str, Any] = {"file": "", "handling": {}, "loss": {}, "properties": {}}


def applied_document(found: Footprint) -> dict[str, JsonValue]:
    """Write the output `applied`; equal footprints give equal documents."""
    document = found.applied.model_dump(
        mode="json", by_alias=True, exclude_defaults=True, exclude={"resources": {"__all__": {"file"}}}
    )
    return {"schemaVersion": SCHEMA, **document, "resources": list(_groups(document["resources"]))}


def footprint_of_outputs(outputs: Mapping[str, Any]) -> Footprint | None:
    """Read the footprint of the last `up` from a stack's outputs; None where they hold none of this version.

    Raises ValueError, KeyError or TypeError where an output is damaged.
    """
    applied, addresses, contract = (
        _whole_numbers(unpack(outputs.get(key))) for key in ("applied", "addressPlan", "fabric")
    )
    if not isinstance(applied, dict) or applied.get("schemaVersion") != SCHEMA:
        return None
    return Footprint(
        applied=Applied.model_validate({**applied, "resources": list(_ungrouped(applied["resources"]))}),
        # A stack that creates only a cluster has neither of these outputs.
        addresses=Holders.of(addresses or {}),
        contract={key: value for key, value in dict(contract or {}).items() if key in OF_CONTRACT},
        known_id=outputs.get("clusterId"),
    )


def _groups(resources: list[dict[str, Any]]) -> Iterator[dict[str, JsonValue]]:
    for _, alike in groupby(resources, lambda entry: json.dumps(_in_common(entry), sort_keys=True)):
        entries = list(alike)
        members: list[JsonValue] = [
            {key: entry[key] for key in _OF_ONE if entry[key] and (key != "identity" or entry[key] != _identity(entry))}
            for entry in entries
        ]
        yield {**_in_common(entries[0]), "members": members}


def _ungrouped(groups: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for group in groups:
        common = {key: value for key, value in group.items() if key != "members"}
        for member in group["members"]:
            entry = {**_EMPTY, **common, **member}
            yield {"identity": _identity(entry), **entry}


def _in_common(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key not in _OF_ONE and value != {}}


def _identity(entry: Mapping[str, Any]) -> str:
    """The identity of a Kubernetes object, by its type and metadata; empty for other resources."""
    metadata = entry["properties"].get("metadata", {})
    if not is_object(entry["type"]) or "name" not in metadata:
        return ""
    _, version, kind = entry["type"].split(":")
    return object_identity(f"{version.removeprefix('core/')} {kind}", metadata)


def _whole_numbers(value: Any) -> Any:
    """Pulumi's outputs have one type of number; whole numbers become integers again."""
    if isinstance(value, dict):
        return {key: _whole_numbers(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_whole_numbers(entry) for entry in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def pack(document: dict[str, JsonValue]) -> str:
    """Write a document as compressed JSON in base64: `base64 -d | gunzip` gives the JSON.

    Of an object, and of a JSON text, Pulumi would print every field on a line of its own.
    """
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def unpack(value: Any) -> Any:
    """Read what `pack` wrote; any other value, such as an object of an older version, is returned unchanged.

    Raises:
        ValueError: the text is not a packed document.
    """
    if not isinstance(value, str):
        return value
    try:
        return json.loads(gzip.decompress(base64.b64decode(value, validate=True)))
    except (OSError, EOFError, ValueError) as error:
        raise ValueError("no packed document") from error
