"""How many things there are, and the first of them."""

from __future__ import annotations

from collections.abc import Sequence


def quantity(number: int, word: str) -> str:
    """A number with its word, such as `1 node` and `2 addresses`."""
    end = "" if number == 1 else "es" if word.endswith("s") else "s"
    return f"{number} {word}{end}"


def first_to_last(names: Sequence[str]) -> str:
    """A run of names by its ends, such as `rdma_0 to rdma_7`, or the name that all have."""
    return names[0] if len(set(names)) == 1 else f"{names[0]} to {names[-1]}"
