"""How a long build shows that it moves: live on a terminal, a plain line every half minute elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.text import Text

from gpu_fabric.report.console import plain_console
from gpu_fabric.report.terminal_progress import live_line

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
    """Prints what is being built, its progress, and its duration; without a console of its own, to standard error."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or plain_console(stderr=True)

    def say(self, line: str) -> None:
        self.console.print(Text(line), soft_wrap=True)

    @contextmanager
    def binary(self, name: str, number: int, total: int, minutes: int) -> Iterator[Counter]:
        """Show one build while it runs; ``minutes`` is what a cold one takes on two cores."""
        with self._work("building", f"{name} ({number} of {total})", f"about {minutes} min when cold", "built") as show:
            yield Counter(show)

    @contextmanager
    def download(self, name: str) -> Iterator[Callable[[str], None]]:
        """Show one download while it runs; what is yielded takes the words for how far it is."""
        with self._work("downloading", name, "starting", "downloaded") as show:
            yield show

    @contextmanager
    def _work(self, doing: str, what: str, first: str, done: str) -> Iterator[Callable[[str], None]]:
        title = f"{doing} {what}"
        started = time.monotonic()
        if self.console.is_terminal:
            with live_line(self.console) as live:
                task = live.add_task(f"{title}: {first}", total=None)
                yield lambda text: live.update(task, description=f"{title}: {text}")
        else:
            self.say(f"{title}, {first} …")
            last = started

            def every_half_minute(text: str) -> None:
                nonlocal last
                if time.monotonic() - last >= PLAIN_INTERVAL_S:
                    last = time.monotonic()
                    self.say(f"  {title}: {text}, {duration(last - started)} so far")

            yield every_half_minute
        self.say(f"{done} {what} in {duration(time.monotonic() - started)}")


def duration(seconds: float) -> str:
    """A duration in words: "45 s", "6 min 02 s"."""
    whole = round(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60:02d} s"
