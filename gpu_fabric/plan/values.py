"""Chart values merged from several sources."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue


def merged(*layers: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """The layers merged deeply, later ones winning; a list replaces a list, as in Helm."""
    result: dict[str, JsonValue] = {}
    for layer in layers:
        for key, value in layer.items():
            present = result.get(key)
            result[key] = merged(present, value) if isinstance(present, dict) and isinstance(value, dict) else value
    return result
