"""Damages as text and as data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gpu_fabric.findings import escaped
from gpu_fabric.live.difference import Difference


def damage_lines(found: Difference) -> Iterator[str]:
    """One damage: its rule, what was seen, what mends it."""
    yield f"{found.severity.value} {found.id}: {escaped(found.message)}"
    for seen in found.seen:
        yield f"    seen: {escaped(str(seen))}"
    if not found.is_mendable:
        yield f"    by hand: {escaped(found.remedy)}"
        return
    for words in step_words(found):
        yield f"    mends it: {escaped(words)}"
    if not found.is_own:
        yield f"    not of this stack alone, so only after a question; by hand: {escaped(found.remedy)}"


def step_words(found: Difference) -> tuple[str, ...]:
    """What is done to mend a damage."""
    return tuple(step.words for step in found.steps)


def damages_lines(stack: str, found: Sequence[Difference], unread_state: str) -> Iterator[str]:
    """All damages, and their number; `unread_state` is why the state was not judged."""
    yield f"stack {escaped(stack)}: " + ("nothing is damaged" if not found else f"{len(found)} damaged")
    if unread_state:
        yield f"its state was not judged: {escaped(unread_state)}"
    for entry in found:
        yield from damage_lines(entry)


def damages_document(
    stack: str, found: Sequence[Difference], mended: Sequence[str], remaining: Sequence[Difference], unread_state: str
) -> dict[str, Any]:
    """The same for scripts: what was found first, what was done, and what is left."""
    return {
        "stack": stack,
        "stateUnread": unread_state,
        "damages": [_entry(damage) for damage in found],
        "mended": list(mended),
        "remaining": [_entry(damage) for damage in remaining],
    }


def _entry(found: Difference) -> dict[str, Any]:
    document = found.model_dump(mode="json", by_alias=True, exclude={"steps", "is_own"})
    return {**document, "mends": list(step_words(found)), "own": found.is_own}
