"""`python -m fabric review`: one comment on all stacks of a change."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from fabric.cli_input import refuse, say
from fabric.cli_progress import shown_progress
from fabric.clock import today


def review(
    base: Annotated[Path, typer.Argument(help="folder of the plans before, from `plan --all --out`")],
    head: Annotated[Path, typer.Argument(help="folder of the plans after")],
    guard: Annotated[
        bool,
        typer.Option("--guard", help="end with 1 where what is lost is not acknowledged, with 2 where it cannot judge"),
    ] = False,
) -> None:
    """Print one Markdown comment on what a change does to every stack; ends with 2 where one cannot be planned."""
    # Only here: no other command needs it.
    from fabric.review import ReviewError, comment, read_base, read_side
    from fabric.review import review as reviewed

    try:
        with shown_progress() as progress:
            progress.step("reading the plans")
            after, before = read_side(head), read_base(base)
            progress.step("comparing the plans")
            found = reviewed(before, after, today())
            text = comment(found)
    except ReviewError as error:
        refuse(str(error))
    # In UTF-8 whatever the terminal has: it becomes a comment.
    sys.stdout.buffer.write(text.encode())
    failures = (
        (not found.planned, 2, "not every stack can be planned"),
        (guard and not found.judged, 2, "the guard has not judged every stack: of some there is no plan before"),
        (guard and not found.passes, 1, "the guard stops it: what is lost is not acknowledged"),
    )
    status = 0
    for fails, its_status, reason in failures:
        if fails:
            say(reason)
            status = max(status, its_status)
    raise typer.Exit(status)
