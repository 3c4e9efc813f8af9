"""`gpu-fabric plan`: everything that a stack would create, printed or as files."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gpu_fabric.cli.conversation import refuse, say
from gpu_fabric.cli.progress import shown_progress
from gpu_fabric.cli.stack_choice import StackArgument, StackChoice, StackFile, StackName, named_stack, planning
from gpu_fabric.cli.standard_streams import print_document
from gpu_fabric.findings import ConfigurationError
from gpu_fabric.plan import Plan
from gpu_fabric.prepare import prepare, prepare_stack
from gpu_fabric.render import FolderError, files, refused_files, rendered, stacks_index, write_files
from gpu_fabric.report.text import plan_report, print_report, summary
from gpu_fabric.spec import stack_names
from gpu_fabric.spec.places import printable

# File endings of reports, by format.
_ENDINGS = {"html": "html", "markdown": "md"}


class Format(StrEnum):
    """How a result is printed."""

    TEXT = "text"
    JSON = "json"
    HTML = "html"
    MARKDOWN = "markdown"


def plan(
    named: StackArgument = None,
    stack: StackName = None,
    stack_file: StackFile = None,
    output: Annotated[Format, typer.Option("--format", help="how to print it")] = Format.TEXT,
    for_up: Annotated[bool, typer.Option("--for-up", help="also refuse what `up` would refuse")] = False,
    only_summary: Annotated[bool, typer.Option("--summary", help="print only the summary that ends `make up`")] = False,
    out: Annotated[Path | None, typer.Option("--out", help="write it into this folder instead, as files")] = None,
    all_stacks: Annotated[
        bool, typer.Option("--all", help="write, with --out, a folder for every stack file; with a --format, a report")
    ] = False,
) -> None:
    """Print everything that a stack would create, with the proof that its addresses fit."""
    choice = named_stack(stack, stack_file, named)
    if all_stacks:
        if choice is not None:
            refuse("--all is every stack of the project: name none beside it")
        if out is None or only_summary or output is Format.JSON:
            refuse("--all writes files: it needs --out, and takes --format html or markdown for reports")
        write_all(Path.cwd(), out, None if output is Format.TEXT else output.value, for_up=for_up)
        return
    if out is not None and (only_summary or output is not Format.TEXT):
        refuse("--out writes files, and --format and --summary say how to print: leave one out")
    if only_summary and stack_file is not None:
        refuse("--summary is what `make up` ends with, for a stack of the project: leave it or -f out")
    choice = choice or StackChoice()
    with planning(as_json=output is Format.JSON) as progress:
        progress.step(f"reading stack {choice.name}")
        document = choice.read()
        planned = prepare(document, for_up=for_up, progress=progress)
    if out is not None:
        write_plan(planned, out)
    elif output is Format.JSON:
        print_plan(planned)
    elif output in (Format.HTML, Format.MARKDOWN):
        print_page(planned, output.value)
    else:
        print_report(summary(planned, document.file) if only_summary else plan_report(planned))


def write_plan(plan: Plan, folder: Path) -> None:
    """Write the rendered plan; refuses a folder that cannot be written, with the reason."""
    try:
        with shown_progress() as progress:
            found = rendered(plan, progress)
            written = files(found, progress)
            write_files(folder, written, progress)
    except FolderError as error:
        refuse(str(error))
    say(f"{folder}: plan of stack {plan.stack}, {len(found.resources)} resources in {len(written)} files")


def write_all(root: Path, folder: Path, form: str | None, *, for_up: bool) -> None:
    """Write a folder with the rendered plan, or a report file, for every stack of a checkout.

    A stack that cannot be planned gets a folder with the reasons, or no report. The other stacks are still written, and
    the command ends with the status for bad input.
    """
    found: dict[str, str] = {}
    names = stack_names(root)
    refused = []
    try:
        with shown_progress() as progress:
            for name in names:
                progress.step(f"planning stack {name}")
                try:
                    planned = prepare_stack(name, root, for_up=for_up)
                except ConfigurationError as error:
                    refused.append(error)
                    written = refused_files(error) if form is None else {}
                else:
                    written = files(rendered(planned)) if form is None else {_page(name, form): _report(planned, form)}
                found |= {f"{printable(name)}/{path}" if form is None else path: text for path, text in written.items()}
            write_files(folder, found | stacks_index(found), progress)
    except FolderError as error:
        refuse(str(error))
    what = "plans" if form is None else "reports"
    say(f"{folder}: {what} of {len(names) - len(refused)} of {len(names)} stacks, {len(found)} files")
    for reasons in refused:
        say(str(reasons))
    if refused:
        raise typer.Exit(2)


def _page(stack: str, form: str) -> str:
    return f"{stack}.{_ENDINGS[form]}"


def print_page(plan: Plan, form: str) -> None:
    """Print the report as `html` or `markdown`, always in UTF-8: the output becomes a file."""
    with shown_progress() as progress:
        progress.step("drawing the report")
        document = _report(plan, form)
    print_document(document)


def print_plan(plan: Plan) -> None:
    """Print everything that the plan decides, with every node's share of every pool."""
    with shown_progress() as progress:
        progress.step("listing the addresses of every node")
        # pydantic's own writer is fast: a plan of thousands of nodes has a million lines.
        document = plan.with_shares().model_dump_json(by_alias=True, indent=2, exclude=set(plan.not_its_own))
    print_document(document + "\n")


def _report(plan: Plan, form: str) -> str:
    # Imported here: the templates take longer to import than a small plan takes to compute.
    from gpu_fabric.report.html import html_report
    from gpu_fabric.report.markdown import markdown_report

    return {"html": html_report, "markdown": markdown_report}[form](plan)
