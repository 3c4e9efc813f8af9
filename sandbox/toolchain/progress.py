"""How a long build shows that it moves: live on a terminal, a plain line every half minute elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.text import Text

from gpu_fabric.cli.progress import live_line

PLAIN_INTERVAL_S = 30.0


class Counter:
    """Counts what `go build -v` has printed so far, and has the display in use show it."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show

    def update(self, lines: list[str]) -> None:
        downloads = sum(line.startswith("go: downloading") for line in lines)
        compiled = f"{len(lines) - downloads} packages compiled"
        self._show(f"{downloads} modules downloaded, {compiled}" if downloads else compiled)


class Progress:
    """Prints on the given console (standard error) what is being built, its progress, and its duration."""

    def __init__(self, console: Console) -> None:
        self.console = console

    def say(self, line: str) -> None:
        self.console.print(Text(line), soft_wrap=True)

    @contextmanager
    def binary(self, name: str, number: int, total: int, minutes: int) -> Iterator[Counter]:
        """Show one build while it runs; ``minutes`` is what a cold one takes on two cores."""
        title = f"building {name} ({number} of {total})"
        started = time.monotonic()
        if self.console.is_terminal:
            with live_line(self.console) as live:
                task = live.add_task(f"{title}: starting, about {minutes} min when cold", total=None)
                yield Counter(lambda text: live.update(task, description=f"{title}: {text}"))
        else:
            self.say(f"{title}, about {minutes} min when cold …")
            last = started

            def every_half_minute(text: str) -> None:
                nonlocal last
                if time.monotonic() - last >= PLAIN_INTERVAL_S:
                    last = time.monotonic()
                    self.say(f"  {title}: {text}, {duration(last - started)} so far")

            yield Counter(every_half_minute)
        self.say(f"built {name} ({number} of {total}) in {duration(time.monotonic() - started)}")


def duration(seconds: float) -> str:
    """A duration in words: "45 s", "6 min 02 s"."""
    whole = round(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60:02d} s"
