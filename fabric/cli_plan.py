"""`python -m fabric plan --out`: the rendered plan."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from fabric.cli_input import refuse, say
from fabric.cli_progress import shown_progress
from fabric.plan import Plan
from fabric.prepare import prepare_stack
from fabric.render import FolderError, files, refused_files, rendered, stacks_index, write_files
from fabric.rules import ConfigurationError
from fabric.spec import stack_names
from fabric.spec.places import printable

# Of the files with reports, by the name of the format.
_ENDINGS = {"html": "html", "markdown": "md"}


def write_plan(plan: Plan, folder: Path) -> None:
    """Write the rendered plan; refuses, with the reason, a folder that cannot be written."""
    try:
        with shown_progress() as progress:
            found = rendered(plan, progress)
            written = files(found, progress)
            write_files(folder, written, progress)
    except FolderError as error:
        refuse(str(error))
    say(f"{folder}: plan of stack {plan.stack}, {len(found.resources)} resources in {len(written)} files")


def write_all(root: Path, folder: Path, form: str | None, *, for_up: bool) -> None:
    """Write for every stack of a checkout its rendered plan, a folder each, or its report, a file each.

    A stack that cannot be planned has a folder with the reasons instead, or no report; the others are written all the
    same. Then it ends with the status of bad input.
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


def print_document(plan: Plan, form: str) -> None:
    """Print the report as `html` or `markdown`, in UTF-8 whatever the terminal has: it becomes a file."""
    with shown_progress() as progress:
        progress.step("drawing the report")
        document = _report(plan, form)
    sys.stdout.buffer.write(document.encode())


def print_json(plan: Plan) -> None:
    """Print everything that the plan decides, with every node's share of every pool."""
    with shown_progress() as progress:
        progress.step("listing the addresses of every node")
        # pydantic's own writer: a plan of thousands of nodes has a million lines.
        document = plan.with_shares().model_dump_json(by_alias=True, indent=2, exclude=set(plan.not_its_own))
    print(document)


def _report(plan: Plan, form: str) -> str:
    # Only here: templates take longer to import than a small plan to make.
    from fabric.report_html import html_report
    from fabric.report_markdown import markdown_report

    return {"html": html_report, "markdown": markdown_report}[form](plan)
