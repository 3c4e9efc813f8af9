"""How many things there are, and the first of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

Entry = TypeVar("Entry")
Key = TypeVar("Key")


def quantity(number: int, word: str) -> str:
    """A number with its word, such as `1 node` and `2 addresses`."""
    end = "" if number == 1 else "es" if word.endswith("s") else "s"
    return f"{number} {word}{end}"


def first_to_last(names: Sequence[str]) -> str:
    """A run of names by its ends, such as `rdma_0 to rdma_7`, or the name that all have."""
    return names[0] if len(set(names)) == 1 else f"{names[0]} to {names[-1]}"


def grouped(entries: Iterable[Entry], key: Callable[[Entry], Key]) -> dict[Key, list[Entry]]:
    """Entries by a common key, in the order of the first of each."""
    groups: dict[Key, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(key(entry), []).append(entry)
    return groups


def first(entries: Sequence[Entry], most: int | None) -> tuple[Sequence[Entry], int]:
    """The entries that are listed, and the number of the others."""
    shown = entries if most is None else entries[:most]
    return shown, len(entries) - len(shown)


def first_words(words: Sequence[str], most: int | None) -> list[str]:
    """The first words, and the number of the others."""
    shown, left = first(words, most)
    return [*shown, f"{left} more"] if left else [*shown]


def first_names(names: Sequence[str], most: int | None) -> str:
    """The first names as text, and the number of the others."""
    shown, left = first(names, most)
    return ", ".join(shown) + (f" and {left} more" if left else "")
