"""`gpu-fabric review`: a comment on what a change does to all stacks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpu_fabric.base.clock import today
from gpu_fabric.cli.conversation import Output, print_text, refuse, say
from gpu_fabric.cli.standard_streams import print_document
from gpu_fabric.report.terminal_progress import show_progress

if TYPE_CHECKING:
    from gpu_fabric.changes.review import NoPlans, Review, Side


def review(
    base: Annotated[Path, typer.Argument(help="folder of the plans before, from `plan --all --out`")],
    head: Annotated[Path, typer.Argument(help="folder of the plans after")],
    guard: Annotated[
        bool,
        typer.Option("--guard", help="end with 1 where what is lost is not acknowledged, with 2 where it cannot judge"),
    ] = False,
    output: Output = "text",
    pages: Annotated[
        Path | None,
        typer.Option("--pages", metavar="DIR", help="also write a page, before and after, for each stack that differs"),
    ] = None,
) -> None:
    """Print one Markdown comment on what a change does to every stack; ends with 2 where one cannot be planned."""
    # Imported here: no other command needs it.
    from gpu_fabric.changes.review import ReviewError, comment, read_base, read_side
    from gpu_fabric.changes.review import review as reviewed

    try:
        with show_progress() as progress:
            progress.step("reading the plans")
            after, before = read_side(head), read_base(base)
            progress.step("comparing the plans")
            found = reviewed(before, after, today())
            text = found.model_dump_json(by_alias=True, indent=2) + "\n" if output == "json" else comment(found)
    except ReviewError as error:
        refuse(str(error))
    print_document(text) if output == "json" else print_text(text)
    if pages is not None:
        _write_pages(pages, before, after, found)
    failures = (
        (not found.planned, 2, "not every stack can be planned"),
        (guard and not found.judged, 2, "the guard has not judged every stack: some have no earlier plan"),
        (guard and not found.passes, 1, "the guard stops it: what is lost is not acknowledged"),
    )
    status = 0
    for fails, its_status, reason in failures:
        if fails:
            say(reason)
            status = max(status, its_status)
    raise typer.Exit(status)


def _write_pages(folder: Path, before: Side | NoPlans, after: Side, found: Review) -> None:
    """Write the pages; refuses a folder that cannot be written, once the comment is printed."""
    from gpu_fabric.changes.change_page import change_pages
    from gpu_fabric.changes.review import NoPlans
    from gpu_fabric.render.folder import FolderError, write_files
    from gpu_fabric.render.layout import stacks_index

    try:
        with show_progress() as progress:
            progress.step("drawing the pages")
            drawn = {} if isinstance(before, NoPlans) else change_pages(before, after, found)
            write_files(folder, drawn | stacks_index(drawn), progress)
    except FolderError as error:
        refuse(str(error))
