"""The nearest known word for a mistyped one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(word: str, known: Iterable[str]) -> str:
    """`did you mean …? ` for the closest known word, or nothing when none is close."""
    matches = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"did you mean {matches[0]!r}? " if matches else ""
