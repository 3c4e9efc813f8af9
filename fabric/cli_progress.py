"""Long work on a terminal: one line of standard error says what is being done, and is gone when it is done."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

from rich.console import Console
from rich.progress import Progress as Live
from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

from fabric.plain_console import plain_console
from fabric.progress import UNHEARD, Progress

PATIENCE_S = 0.5
"""Work that takes no longer says nothing."""
INTERVAL_S = 0.1


class _Latest(Progress):
    """Keeps the step that the work is at: saying it costs the work nothing, however often it does."""

    def __init__(self) -> None:
        self.doing = "starting"

    def step(self, doing: str) -> None:
        self.doing = doing


@contextmanager
def shown_progress() -> Iterator[Progress]:
    """Show the steps of what is done within, where a person sits at a terminal.

    Nothing of it stays, also when what is done within fails; print results and refusals only behind it. In a pipe, in a
    file, on a terminal that cannot move its cursor, and where `CI` is set, nothing is shown.
    """
    console = plain_console(stderr=True)
    if not (console.is_interactive and console.file.isatty()) or os.environ.get("CI"):
        yield UNHEARD
        return
    latest, ended = _Latest(), Event()
    # The work itself never waits for the terminal, and steps that last are shown as they last.
    thread = Thread(target=_show, args=(console, latest, ended), daemon=True)
    thread.start()
    try:
        yield latest
    finally:
        ended.set()
        thread.join()


def live_line(console: Console, *, auto_refresh: bool = True) -> Live:
    """A line that turns, says what is done and for how long; nothing of it stays. Standard output is left alone."""
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
    # A terminal that goes away ends what is shown, and not the work.
    with suppress(OSError, ValueError):
        line = live_line(console, auto_refresh=False)
        task = line.add_task(latest.doing, total=None)
        if ended.wait(PATIENCE_S):
            return
        line.update(task, description=latest.doing)
        with line:
            while not ended.wait(INTERVAL_S):
                line.update(task, description=latest.doing, refresh=True)
