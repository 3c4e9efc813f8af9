"""The output `applied`, written and read: resources that are alike stand together."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from pydantic import JsonValue

from fabric.guard.footprint import OF_CONTRACT, SCHEMA, Addresses, Applied, Footprint
from fabric.plan.addresses import AddressPool, numbered
from fabric.render.places import is_object, object_identity

_OF_ONE = ("name", "identity", "properties")
_EMPTY: dict[str, Any] = {"file": "", "handling": {}, "loss": {}, "properties": {}}
_NO_ADDRESSES = Addresses((), ())


def applied_document(found: Footprint) -> dict[str, JsonValue]:
    """The output `applied`; the same footprint gives the same."""
    document = found.applied.model_dump(
        mode="json", by_alias=True, exclude_defaults=True, exclude={"resources": {"__all__": {"file"}}}
    )
    return {"schemaVersion": SCHEMA, **document, "resources": list(_groups(document["resources"]))}


def footprint_of_outputs(outputs: Mapping[str, Any]) -> Footprint | None:
    """The footprint of what was applied last, by a stack's outputs; None where they hold none of this version.

    Raises ValueError, KeyError or TypeError where an output is not as it was written.
    """
    applied, addresses, contract = (_whole_numbers(outputs.get(key)) for key in ("applied", "addressPlan", "fabric"))
    if not isinstance(applied, dict) or applied.get("schemaVersion") != SCHEMA:
        return None
    return Footprint(
        applied=Applied.model_validate({**applied, "resources": list(_ungrouped(applied["resources"]))}),
        # A stack that makes a cluster alone has neither of these.
        addresses=_NO_ADDRESSES if addresses is None else _addresses(addresses),
        contract={key: value for key, value in dict(contract or {}).items() if key in OF_CONTRACT},
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
    """What a Kubernetes object is by its type and metadata; nothing for all else."""
    metadata = entry["properties"].get("metadata", {})
    if not is_object(entry["type"]) or "name" not in metadata:
        return ""
    _, version, kind = entry["type"].split(":")
    return object_identity(f"{version.removeprefix('core/')} {kind}", metadata)


def _addresses(document: Mapping[str, Any]) -> Addresses:
    """The addresses of the output `addressPlan`, which leaves out what is empty and has what follows from the rest."""
    aliases = {name: field.alias or name for name, field in AddressPool.model_fields.items() if name != "shares"}
    pools = ({name: pool.get(alias) for name, alias in aliases.items()} for pool in document["pools"])
    return Addresses(
        pools=tuple(map(AddressPool.model_validate, pools)),
        nodes=numbered(document["nodeNames"], document["nodeNumbers"] or range(document["proof"]["nodes"])),
    )


def _whole_numbers(value: Any) -> Any:
    """A value of the engine's, whose wire knows one kind of numbers only."""
    if isinstance(value, dict):
        return {key: _whole_numbers(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_whole_numbers(entry) for entry in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
