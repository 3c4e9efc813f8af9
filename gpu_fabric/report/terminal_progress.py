"""Progress of long work on a terminal: one line on standard error, which is erased at the end."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import TYPE_CHECKING

from gpu_fabric.progress import NO_PROGRESS, Progress

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Live

PATIENCE_S = 0.5
"""Shorter work shows no progress."""
INTERVAL_S = 0.1


class _Latest(Progress):
    """Stores the current step only, so that reporting a step is cheap, however often the work does it."""

    def __init__(self) -> None:
        self.doing = "starting"

    def step(self, doing: str) -> None:
        self.doing = doing


@contextmanager
def show_progress() -> Iterator[Progress]:
    """Show the steps of the work in this context, on an interactive terminal.

    The line is erased at the end, also after an error; print results and refusals only after this context. Nothing is
    shown in a pipe, in a file, on a terminal that cannot move its cursor, and if `CI` is set.
    """
    if not sys.stderr.isatty() or os.environ.get("CI"):
        yield NO_PROGRESS
        return
    # Here, since nothing else of most commands needs it.
    from gpu_fabric.report.console import plain_console

    console = plain_console(stderr=True)
    if not console.is_interactive:
        yield NO_PROGRESS
        return
    latest, ended = _Latest(), Event()
    # In a thread, the work never waits for the terminal, and the time of a long step still advances.
    thread = Thread(target=_show, args=(console, latest, ended), daemon=True)
    thread.start()
    try:
        yield latest
    finally:
        ended.set()
        thread.join()


def live_line(console: Console, *, auto_refresh: bool = True) -> Live:
    """A line with a spinner, the step and the elapsed time, erased at the end; standard output is not redirected."""
    from rich.progress import Progress as Live
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    return Live(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
        console=console,
        auto_refresh=auto_refresh,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )


def _show(console: Console, latest: _Latest, ended: Event) -> None:
    # A terminal that is closed ends the display, but not the work.
    with suppress(OSError, ValueError):
        line = live_line(console, auto_refresh=False)
        task = line.add_task(latest.doing, total=None)
        if ended.wait(PATIENCE_S):
            return
        line.update(task, description=latest.doing)
        with line:
            while not ended.wait(INTERVAL_S):
                line.update(task, description=latest.doing, refresh=True)
