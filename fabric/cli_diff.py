"""`python -m fabric diff`: what lies between two rendered plans."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from fabric.cli_input import refuse
from fabric.render import RenderedPlanError, read_rendered


def diff(
    base: Annotated[Path, typer.Argument(help="folder of the plan before, from `plan --out`")],
    head: Annotated[Path, typer.Argument(help="folder of the plan after")],
    as_json: Annotated[bool, typer.Option("--json", help="print everything as JSON")] = False,
    fail_on_loss: Annotated[
        bool, typer.Option("--fail-on-loss", help="end with 1 where something is taken away")
    ] = False,
) -> None:
    """Print as Markdown what a change creates, changes, replaces and deletes, and what is lost with it."""
    # Only here: no other command needs it.
    from fabric.diff import DifferentStacks, markdown, plan_diff

    try:
        found = plan_diff(read_rendered(base), read_rendered(head))
    except (RenderedPlanError, DifferentStacks) as error:
        refuse(str(error))
    text = found.model_dump_json(by_alias=True, indent=2) + "\n" if as_json else markdown(found)
    # In UTF-8 whatever the terminal has: it becomes a comment, or a file.
    sys.stdout.buffer.write(text.encode())
    if fail_on_loss and found.loses:
        raise typer.Exit(1)
