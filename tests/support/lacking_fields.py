"""What an object of an API server lacks of an object that was sent to it."""

from collections.abc import Mapping
from typing import Any


def lacking(wanted: Any, found: Any, path: str = "") -> list[str]:
    """Where an object differs from what was wanted, however much more it has."""
    if isinstance(wanted, Mapping) and isinstance(found, Mapping):
        # An empty value and none are the same to the API server.
        asked = {key: value for key, value in wanted.items() if value not in ({}, [])}
        return [line for key, value in asked.items() for line in lacking(value, found.get(key), f"{path}.{key}")]
    if isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        pairs = enumerate(zip(wanted, found, strict=True))
        return [line for place, (one, other) in pairs for line in lacking(one, other, f"{path}[{place}]")]
    return [] if wanted == found else [f"{path}: {found!r} instead of {wanted!r}"]
