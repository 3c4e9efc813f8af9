"""`gpu-fabric diff`: the differences between two rendered plans."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gpu_fabric.base.clock import today
from gpu_fabric.cli.conversation import Output, print_json, print_text, refuse, say
from gpu_fabric.cli.standard_streams import print_document
from gpu_fabric.render.folder import RenderedPlanError, read_rendered
from gpu_fabric.report.terminal_progress import show_progress


def diff(
    base: Annotated[Path, typer.Argument(help="folder of the plan before, from `plan --out`")],
    head: Annotated[Path, typer.Argument(help="folder of the plan after")],
    output: Output = "text",
    as_html: Annotated[
        bool, typer.Option("--html", help="print a page with figures and drawings of both plans instead")
    ] = False,
    fail_on_loss: Annotated[
        bool, typer.Option("--fail-on-loss", help="end with 1 where something is taken away")
    ] = False,
    guard: Annotated[
        bool, typer.Option("--guard", help="end with 1 where what is lost is not acknowledged in the stack file")
    ] = False,
) -> None:
    """Print as Markdown what a change creates, changes, replaces and deletes, and what is lost with it."""
    # Imported here: no other command needs it.
    from gpu_fabric.changes.diff_markdown import markdown
    from gpu_fabric.changes.guard import explanation, judge_plans
    from gpu_fabric.changes.guard_section import section
    from gpu_fabric.changes.model import JudgedDiff, StatedJudgement
    from gpu_fabric.changes.plan_diff import DifferentStacks, plan_diff

    if output == "json" and as_html:
        refuse("--format json and --html say how to print: leave one out")
    try:
        with show_progress() as progress:
            before, after = read_rendered(base, progress), read_rendered(head, progress)
            found = plan_diff(before, after, progress)
    except (RenderedPlanError, DifferentStacks) as error:
        refuse(str(error))
    judgement = judge_plans(found, before, after, today())
    file = f"Pulumi.{found.stack}.yaml"
    if output == "json":
        stated = StatedJudgement.model_construct(**dict(judgement))
        print_json(JudgedDiff.model_construct(**dict(found), guard=stated))
    elif as_html:
        from gpu_fabric.changes.change_page import change_page

        print_document(change_page(found, before, after, judgement))
    else:
        print_text(markdown(found, guard=section(judgement, file)))
    if guard and not judgement.passes:
        say(explanation(judgement, file))
        raise typer.Exit(1)
    if fail_on_loss and found.loses:
        raise typer.Exit(1)
