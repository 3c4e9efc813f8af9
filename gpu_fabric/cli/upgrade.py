"""`gpu-fabric upgrade`: the way of a stack to another release line or manager, before anything changes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpu_fabric.base.clock import today
from gpu_fabric.cli.conversation import Output, print_as, refuse, say
from gpu_fabric.cli.stack_choice import StackArgument, StackFile, StackName, chosen_stack, known_lines, planning
from gpu_fabric.findings import ConfigurationError

if TYPE_CHECKING:
    from gpu_fabric.changes.upgrade import Route
    from gpu_fabric.findings import Finding
    from gpu_fabric.plan import Plan
    from gpu_fabric.progress import Progress
    from gpu_fabric.spec.stack_text import StackDocument


def upgrade(
    named: StackArgument = None,
    stack: StackName = None,
    stack_file: StackFile = None,
    to: Annotated[
        str | None,
        typer.Option(help="the release line; by default the newest that is planned here", autocompletion=known_lines),
    ] = None,
    output: Output = "text",
    write: Annotated[
        bool,
        typer.Option("--write", help="also write the first hop's line into the stack file, which keeps its comments"),
    ] = False,
) -> None:
    """Show the way of a stack to another release line, hop by hop; ends with 1 where one cannot be planned.

    Without --to, a stack with upgrade.fromManager has the way of its nodes from one manager to another.
    """
    from gpu_fabric.changes.upgrade import LineError
    from gpu_fabric.changes.upgrade_text import upgrade_lines

    choice = chosen_stack(stack, stack_file, named)
    with planning(output) as progress:
        document = choice.read()
        if to is None and not write and (document.sections.get("upgrade") or {}).get("fromManager"):
            return _print_manager_change(document, output, progress)
        try:
            found = _route(document, to, progress)
        except LineError as error:
            reason = str(error)
        else:
            reason = ""
    if reason:
        refuse(reason)
    print_as(output, found, upgrade_lines(found))
    if write:
        _write(choice.file or document.root / document.file, document, found)
    if any(hop.refused for hop in found.hops):
        raise typer.Exit(1)


def _print_manager_change(document: StackDocument, output: str, progress: Progress) -> None:
    from gpu_fabric.changes.manager_change import manager_change, manager_change_lines
    from gpu_fabric.prepare import prepare

    found = manager_change(prepare(document, for_up=False, progress=progress).plan)
    print_as(output, found, manager_change_lines(found))


def _route(document: StackDocument, to: str | None, progress: Progress) -> Route:
    from gpu_fabric.catalog import catalog
    from gpu_fabric.catalog.release import newest_line
    from gpu_fabric.changes.upgrade import LineError, hop, lines_on_the_way, route
    from gpu_fabric.prepare import prepare

    known = catalog()
    plan = prepare(document, for_up=False, progress=progress).plan
    if plan.part == "cluster":
        raise LineError(f"stack {plan.stack} creates a cluster only; its operators are in the stack with part platform")
    old = plan.release_line
    lines = lines_on_the_way(known, old, newest_line(known.releases) if to is None else to)
    hops = []
    held = (document.sections.get("upgrade") or {}).get("action") == "hold"
    for line in lines[1:]:
        head = _planned(document, line, progress)
        found = hop(known, plan, head, line, today())
        hops.append(found.model_copy(update={"held": held}))
        if isinstance(head, tuple):
            break
        plan = head
    return route(known, plan.stack, lines, tuple(hops), today())


def _planned(document: StackDocument, line: str, progress: Progress) -> Plan | tuple[Finding, ...]:
    """The plan of the stack in another line, or the errors for which there is none."""
    from gpu_fabric.prepare import prepare

    sections = {**document.sections, "software": {**(document.sections.get("software") or {}), "releaseLine": line}}
    try:
        return prepare(document.model_copy(update={"sections": sections}), for_up=False, progress=progress).plan
    except ConfigurationError as error:
        return error.findings


def _write(file: Path, document: StackDocument, route: Route) -> None:
    from gpu_fabric.spec.written_line import with_release_line

    first = route.hops[0]
    text = with_release_line(document.text, first.new)
    if first.refused:
        refuse(f"{document.file}: not written, since the stack cannot be planned in {first.new}: correct that first")
    if text is None:
        refuse(f'{document.file}: write releaseLine: "{first.new}" below gpu-fabric:software by hand')
    try:
        file.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        refuse(f"{document.file}: {error.strerror}")
    say(f"{document.file}: software.releaseLine is {first.new} now")
