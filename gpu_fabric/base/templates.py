"""Manifests as tables with places for values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_PLACE = re.compile(r"\{(\w+)\}")


def filled(template: Any, values: Mapping[str, Any]) -> Any:
    """A copy of a table, with values in the places that name them between braces.

    A text that is one place becomes the value, of whatever type; in a list, the entries of a list or tuple. A key whose
    value is None is left out.

    Raises:
        KeyError: no value has the name of a place.
    """
    if isinstance(template, dict):
        entries = ((key, filled(entry, values)) for key, entry in template.items())
        return {key: value for key, value in entries if value is not None}
    if isinstance(template, list):
        return [value for entry in template for value in _entries(entry, values)]
    if not isinstance(template, str):
        return template
    whole = _PLACE.fullmatch(template)
    return values[whole[1]] if whole else _PLACE.sub(lambda place: str(values[place[1]]), template)


def _entries(entry: Any, values: Mapping[str, Any]) -> Iterator[Any]:
    value = filled(entry, values)
    if isinstance(entry, str) and isinstance(value, list | tuple):
        yield from value
    else:
        yield value
