"""`python -m fabric review`: one comment on all stacks of a change."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fabric.cli_input import refuse, say
from fabric.cli_progress import shown_progress
from fabric.clock import today

if TYPE_CHECKING:
    from fabric.review import Side


def review(
    base: Annotated[Path, typer.Argument(help="folder of the plans before, from `plan --all --out`; may be missing")],
    head: Annotated[Path, typer.Argument(help="folder of the plans after")],
    guard: Annotated[
        bool, typer.Option("--guard", help="end with 1 where what is lost is not acknowledged in the stack files")
    ] = False,
) -> None:
    """Print one Markdown comment on what a change does to every stack; ends with 2 where one cannot be planned."""
    # Only here: no other command needs it.
    from fabric.review import ReviewError, comment, read_side
    from fabric.review import review as reviewed

    try:
        with shown_progress() as progress:
            progress.step("reading the plans")
            after, before = read_side(head), _before(base)
            progress.step("comparing the plans")
            found = reviewed(before, after, today())
            text = comment(found)
    except ReviewError as error:
        refuse(str(error))
    # In UTF-8 whatever the terminal has: it becomes a comment.
    sys.stdout.buffer.write(text.encode())
    if not found.planned:
        say("not every stack can be planned")
        raise typer.Exit(2)
    if guard and not found.passes:
        say("the guard stops it: what is lost is not acknowledged")
        raise typer.Exit(1)


def _before(folder: Path) -> Side | None:
    from fabric.review import ReviewError, read_side

    try:
        return read_side(folder)
    except ReviewError:
        return None
