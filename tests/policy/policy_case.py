"""What a policy is shown by itself: resources that it passes, finds and leaves alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from recording import Registration


@dataclass(frozen=True)
class Case:
    """Resources that a policy passes, finds and leaves alone; `says` is a part of what it says of the bad ones."""

    good: tuple[Registration, ...]
    bad: tuple[Registration, ...]
    says: str
    irrelevant: tuple[Registration, ...]
    settings: dict[str, Any] = field(default_factory=dict)


def case(
    good: Registration | list[Registration],
    bad: Registration | list[Registration],
    says: str,
    irrelevant: Registration | list[Registration],
    **settings: Any,
) -> Case:
    def listed(given: Registration | list[Registration]) -> tuple[Registration, ...]:
        return tuple(given) if isinstance(given, list) else (given,)

    return Case(listed(good), listed(bad), says, listed(irrelevant), settings)
