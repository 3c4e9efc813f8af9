"""Oracle's ids: ocid1.KIND.REALM.[REGION].UNIQUE."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any

_LETTERS = "abcdefghijklmnopqrstuvwxyz234567"
_LENGTH = 60


def new_ocid(kind: str, region: str = "") -> str:
    """A new id; what is the whole tenancy's names no region. A region outside the table's has realm oc1."""
    from gpu_fabric.catalog import catalog

    known = catalog().oke_clusters.regions.get(region)
    realm, key = (known.realm, known.key) if known else ("oc1", region)
    return f"ocid1.{kind}.{realm}.{key}.{''.join(secrets.choice(_LETTERS) for _ in range(_LENGTH))}"


def kind_of(text: str) -> str:
    """The kind that an id is of; empty for any other text."""
    parts = text.split(".")
    return parts[1] if len(parts) >= 5 and parts[0] == "ocid1" and not any(letter.isspace() for letter in text) else ""


def ids_in(value: Any) -> Iterator[str]:
    """Every text in a value, at any depth, that is an id as a whole."""
    if isinstance(value, str):
        if kind_of(value):
            yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from ids_in(part)
    elif isinstance(value, list):
        for part in value:
            yield from ids_in(part)
