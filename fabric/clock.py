"""Today, for commands that judge by it: no plan, and nothing that is written of one, depends on the day."""

from __future__ import annotations

from datetime import UTC, date, datetime


def today() -> date:
    """Today's date in UTC."""
    return datetime.now(UTC).date()
