"""Values that may be in a list only once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from pydantic import AfterValidator


def repeated(values: Iterable[Any]) -> list[Any]:
    """The values that occur more than once, sorted."""
    return sorted(value for value, count in Counter(values).items() if count > 1)


def require_unique(key: Callable[[Any], Any], message: str) -> AfterValidator:
    """A check that no two entries have the same key; `{}` in the message stands for the repeated keys."""

    def check(entries: tuple[Any, ...]) -> tuple[Any, ...]:
        if found := repeated(map(key, entries)):
            raise ValueError(message.format(", ".join(map(str, found))))
        return entries

    return AfterValidator(check)
