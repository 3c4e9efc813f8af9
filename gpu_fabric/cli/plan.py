"""`gpu-fabric plan`: everything that a stack would create, printed or as files."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

import typer

from gpu_fabric.cli.conversation import refuse, say
from gpu_fabric.cli.stack_choice import StackArgument, StackChoice, StackFile, StackName, named_stack, planning
from gpu_fabric.cli.standard_streams import print_document
from gpu_fabric.findings import ConfigurationError
from gpu_fabric.plan import Plan
from gpu_fabric.prepare import prepare
from gpu_fabric.report.terminal_progress import show_progress
from gpu_fabric.spec.load import own_stack_names, read_document
from gpu_fabric.spec.places import printable

Format = Literal["text", "json", "html", "markdown", "csv"]
"""How a result is printed."""

Target = Literal["kustomize", "argo", "flux"]
"""The tool that writes the cluster instead of Pulumi."""

# The file ending of each report.
_REPORTS = {"html": "html", "markdown": "md", "csv": "csv"}


def plan(
    named: StackArgument = None,
    stack: StackName = None,
    stack_file: StackFile = None,
    output: Annotated[
        Format, typer.Option("--format", help="how to print it; `--json` is short for `--format json`")
    ] = "text",
    for_up: Annotated[bool, typer.Option("--for-up", help="also refuse what `up` would refuse")] = False,
    only_summary: Annotated[bool, typer.Option("--summary", help="print only the summary that ends `make up`")] = False,
    out: Annotated[Path | None, typer.Option("--out", help="write it into this folder instead, as files")] = None,
    target: Annotated[
        Target | None,
        typer.Option("--as", help="with --out: write what it applies on the cluster for kustomize, Argo CD or Flux"),
    ] = None,
    git: Annotated[
        str | None, typer.Option("--git", metavar="URL", help="with --as argo: the Git repository with the files")
    ] = None,
    git_path: Annotated[
        str | None,
        typer.Option("--git-path", metavar="PATH", help="with --as: the folder in that repository; by default --out"),
    ] = None,
    all_stacks: Annotated[
        bool, typer.Option("--all", help="write, with --out, a folder for every stack; with a --format, a report")
    ] = False,
) -> None:
    """Print everything that a stack would create, with the proof that its addresses fit."""
    choice = named_stack(stack, stack_file, named)
    if target is None and (git is not None or git_path is not None):
        refuse("--git and --git-path say where the files of --as will be: give --as")
    if target is not None and (out is None or all_stacks):
        refuse(
            "--as writes the files of one stack: " + ("leave --all out" if all_stacks else "give a folder with --out")
        )
    if all_stacks:
        if choice is not None:
            refuse("--all is every stack of the project: name none with it")
        if out is None or only_summary or output == "json":
            refuse("--all writes files: it needs --out, and takes --format html, markdown or csv for reports")
        write_all(Path.cwd(), out, output, for_up=for_up)
        return
    if out is not None and (only_summary or output != "text"):
        refuse("--out writes files, and --format and --summary say how to print: leave one out")
    if only_summary and stack_file is not None:
        refuse("--summary is what `make up` ends with, for a stack of the project: leave it or -f out")
    choice = choice or StackChoice()
    with planning(output) as progress:
        progress.step(f"reading stack {choice.name}")
        document = choice.read()
        planned = prepare(document, for_up=for_up, progress=progress).plan
    if out is not None and target is not None:
        write_for(planned, out, target, git, git_path)
    elif out is not None:
        write_plan(planned, out)
    elif output == "json":
        print_plan(planned)
    elif output in _REPORTS:
        with show_progress() as progress:
            progress.step("drawing the report")
            report = report_of(planned, output)
        print_document(report)
    else:
        from gpu_fabric.report.text import plan_report, print_report, summary

        print_report(summary(planned, document.file) if only_summary else plan_report(planned))


def report_of(plan: Plan, output: Format) -> str:
    """The report as a page of HTML or Markdown, or every NIC as CSV."""
    if output == "html":
        from gpu_fabric.report.html import html_report

        return html_report(plan)
    if output == "csv":
        from gpu_fabric.report.csv_table import csv_report

        return csv_report(plan)
    from gpu_fabric.report.markdown import markdown_report

    return markdown_report(plan)


def write_plan(plan: Plan, folder: Path) -> None:
    """Write the rendered plan; refuses a folder that cannot be written, with the reason."""
    from gpu_fabric.render.folder import FolderError, write_files
    from gpu_fabric.render.layout import files
    from gpu_fabric.render.rendering import rendered

    try:
        with show_progress() as progress:
            found = rendered(plan, progress)
            written = files(found, progress)
            write_files(folder, written, progress)
    except FolderError as error:
        refuse(str(error))
    say(f"{folder}: plan of stack {plan.stack}, {len(found.resources)} resources in {len(written)} files")


def write_for(plan: Plan, folder: Path, target: Target, repository: str | None, path: str | None) -> None:
    """Write the files for a tool that writes the cluster; refuses a plan that the tool cannot be given."""
    from gpu_fabric.render.folder import FolderError, write_files
    from gpu_fabric.render.gitops.files import NOTES, GitOpsError, gitops_files, gitops_findings
    from gpu_fabric.render.gitops.place import Place

    is_below = not folder.is_absolute() and ".." not in folder.parts
    place = Place(
        stack=plan.stack,
        repository=repository,
        # A folder elsewhere is known by its name alone: a path of this machine means nothing in a repository.
        path=str(PurePosixPath(path if path is not None else folder.as_posix() if is_below else folder.resolve().name)),
    )
    try:
        with show_progress() as progress:
            written = gitops_files(plan, target, place)
            write_files(folder, written, progress)
    except (FolderError, GitOpsError) as error:
        refuse(str(error))
    say(f"{folder}: stack {plan.stack} for {target} in {len(written)} files; {NOTES} says how to use them")
    for entry in gitops_findings(plan):
        say("\n".join(entry.lines()))


def write_all(root: Path, folder: Path, output: Format, *, for_up: bool) -> None:
    """Write a folder with the rendered plan, or a report file, for every stack of a checkout (`own_stack_names`).

    A stack that cannot be planned gets a folder with the reasons, or no report. The other stacks are still written, and
    the command ends with the status for bad input.
    """
    from gpu_fabric.render.folder import FolderError, write_files
    from gpu_fabric.render.layout import files, refused_files, stacks_index
    from gpu_fabric.render.rendering import rendered

    found: dict[str, str] = {}
    names = own_stack_names(root)
    refused = []
    ending = _REPORTS.get(output)
    try:
        with show_progress() as progress:
            for name in names:
                progress.step(f"planning stack {name}")
                try:
                    planned = prepare(read_document(name, root), for_up=for_up).plan
                except ConfigurationError as error:
                    refused.append(error)
                    written = refused_files(error) if ending is None else {}
                else:
                    report = {} if ending is None else {f"{name}.{ending}": report_of(planned, output)}
                    written = report or files(rendered(planned))
                found |= {
                    f"{printable(name)}/{path}" if ending is None else path: text for path, text in written.items()
                }
            write_files(folder, found | stacks_index(found), progress)
    except FolderError as error:
        refuse(str(error))
    what = "plans" if ending is None else "reports"
    say(f"{folder}: {what} of {len(names) - len(refused)} of {len(names)} stacks, {len(found)} files")
    for reasons in refused:
        say(str(reasons))
    if refused:
        raise typer.Exit(2)


def print_plan(plan: Plan) -> None:
    """Print everything that the plan decides, with every node's share of every pool."""
    with show_progress() as progress:
        progress.step("listing the addresses of every node")
        document = plan_document(plan)
    print_document(document)


def plan_document(plan: Plan) -> str:
    """The plan as JSON, with every node's share of every pool."""
    # pydantic's own writer is fast: a plan of thousands of nodes has a million lines.
    return plan.with_shares().model_dump_json(by_alias=True, indent=2, exclude=set(plan.not_its_own)) + "\n"
