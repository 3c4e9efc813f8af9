"""A budget: what was measured in this run, what it is held against, and how much is allowed."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Budget:
    """One line of the result; `reference` is None for a figure that has a limit of its own.

    `floor` is the part of the figure that no code of this project can take away, such as the engine's own time; None
    where the reference is that floor, or where there is none.
    """

    name: str
    measured: float
    reference: float | None
    unit: str
    limit: float
    floor: float | None = None

    @property
    def value(self) -> float:
        """What the limit is for: the ratio, or the figure itself."""
        return self.measured if self.reference is None else self.measured / self.reference

    @property
    def kept(self) -> bool:
        """Whether the budget holds."""
        return self.value <= self.limit

    def row(self) -> tuple[str, ...]:
        """The line as cells."""
        against = ("-", "-") if self.reference is None else (self._figure(self.reference), f"{self.value:.2f}")
        limit = f"{self.limit:g} {self.unit}" if self.reference is None else f"{self.limit:g}"
        floor = "-" if self.floor is None else self._figure(self.floor)
        return self.name, self._figure(self.measured), *against, floor, limit, "kept" if self.kept else "BROKEN"

    def document(self) -> dict[str, object]:
        """The line as JSON has it, in the unit that it names."""
        return {**asdict(self), "value": self.value, "kept": self.kept}

    def _figure(self, value: float) -> str:
        return f"{value:.2f} {self.unit}" if value < 10 else f"{value:.1f} {self.unit}"
