"""Today's date, for commands that depend on it: plans and rendered plans never do."""

from __future__ import annotations

from datetime import UTC, date, datetime


def today() -> date:
    """Today's date in UTC."""
    return datetime.now(UTC).date()
