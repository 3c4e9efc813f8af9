"""Today's date, the time and pauses, for commands that depend on time: plans and rendered plans never do."""

from __future__ import annotations

import time
from datetime import UTC, date, datetime


def today() -> date:
    """Today's date in UTC."""
    return datetime.now(UTC).date()


def seconds() -> float:
    """Seconds since 1970."""
    return time.time()


def utc(ago: float = 0) -> str:
    """The time in UTC as Kubernetes writes it, or that of so many seconds ago."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - ago))


def pause(seconds: float) -> None:
    """Wait so long, for commands that wait for a cluster."""
    time.sleep(seconds)
