"""A clock that goes on by being looked at, for waits that are to come to their end."""

from __future__ import annotations

from itertools import count


class FastTime:
    """In the place of the module `time`: whenever somebody looks, a tenth of a second has passed."""

    def __init__(self) -> None:
        self._tenths = count()

    def monotonic(self) -> float:
        return next(self._tenths) / 10
