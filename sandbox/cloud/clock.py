"""The simulated clouds' time: waits pass faster than on a real cloud, and the date can be moved on."""

from __future__ import annotations

import json
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ..home import write_private

MINUTE_S = 1.0
"""Real seconds that a minute of the simulated clouds takes, for waits and time limits."""


class Clock:
    """Time on a simulated cloud: all amounts are its own seconds unless a name says `real`.

    A simulated minute takes `minute_s` real seconds. Dates are the real ones plus the sum of all `advance` calls:
    a kubeconfig that expires in a week does so after a real week, or after the date has been advanced.
    """

    def __init__(self, folder: Path, minute_s: float = MINUTE_S) -> None:
        self._file = folder / "clock.json"
        self._minute_s = minute_s

    def today(self) -> datetime:
        """The cloud's date and time, in UTC."""
        return datetime.now(UTC) + self._ahead()

    def advance(self, seconds: float) -> None:
        """Move the date on, for good."""
        ahead = self._ahead().total_seconds() + seconds
        write_private(self._file, json.dumps({"aheadSeconds": ahead}) + "\n")

    def on_real_clock(self, moment: datetime) -> datetime:
        """When a moment of the cloud's date comes, or came, on this machine's clock."""
        return moment - self._ahead()

    def real_seconds(self, seconds: float) -> float:
        return seconds / 60 * self._minute_s

    def real_deadline(self, seconds: float) -> float:
        """The Unix time at which so much of the cloud's time will have passed."""
        return time.time() + self.real_seconds(seconds)

    def stopwatch(self) -> Stopwatch:
        return Stopwatch(self)

    def _ahead(self) -> timedelta:
        try:
            return timedelta(seconds=json.loads(self._file.read_text())["aheadSeconds"])
        except FileNotFoundError:
            return timedelta()


class Stopwatch:
    """How much of the cloud's time has passed since it was made."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._start = time.monotonic()

    def reached(self, seconds: float) -> bool:
        return time.monotonic() - self._start >= self._clock.real_seconds(seconds)

    def wait_until(self, seconds: float, cancelled: threading.Event) -> None:
        """Sleep until so much has passed since the start; returns at once when cancelled."""
        cancelled.wait(max(0.0, self._start + self._clock.real_seconds(seconds) - time.monotonic()))
