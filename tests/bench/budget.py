"""A budget: what was measured in this run, what it is held against, and how much is allowed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Budget:
    """One line of the result; `reference` is None for a figure that has a limit of its own."""

    name: str
    measured: float
    reference: float | None
    unit: str
    limit: float

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
        against = ("-", "-") if self.reference is None else (f"{self.reference:.1f} {self.unit}", f"{self.value:.2f}")
        limit = f"{self.limit:g} {self.unit}" if self.reference is None else f"{self.limit:g}"
        return self.name, f"{self.measured:.1f} {self.unit}", *against, limit, "kept" if self.kept else "BROKEN"
