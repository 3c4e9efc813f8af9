"""`gpu-fabric alarms`: list a stack's alarms, or write them, their tests and a dashboard as files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpu_fabric.cli.conversation import print_lines, refuse, say
from gpu_fabric.cli.stack_choice import StackChoice, StackFile, StackName, chosen_stack, planning

if TYPE_CHECKING:
    from gpu_fabric.plan.monitoring.watched import Watched


def alarms(
    stack: StackName = None,
    stack_file: StackFile = None,
    out: Annotated[
        Path | None, typer.Option(help="write the rules, promtool's tests of them and the dashboard into this folder")
    ] = None,
) -> None:
    """List the alarms of a stack with what each needs, or write them as files for Prometheus and Grafana."""
    fabrics = _watched(chosen_stack(stack, stack_file))
    if out is None:
        from gpu_fabric.report.alarms import alarm_list

        print_lines(alarm_list(fabrics))
        return
    from gpu_fabric.render.alarms import alarm_files
    from gpu_fabric.render.folder import FolderError, write_files
    from gpu_fabric.render.layout import stacks_index

    found = alarm_files(fabrics)
    try:
        write_files(out, found | stacks_index(found))
    except FolderError as error:
        refuse(str(error))
    say(f"{out}: alarms and dashboards of {len(fabrics)} fabrics in {len(found)} files")


def _watched(choice: StackChoice) -> tuple[Watched, ...]:
    """The fabrics of a stack as alarms see them; refuses a stack with errors, with every reason."""
    from gpu_fabric.render.alarms import watched_fabrics
    from gpu_fabric.spec.load import validated

    with planning() as progress:
        plan = choice.plan(progress)
        spec = validated(choice.read())
    if plan.part == "cluster":
        refuse(f"stack {plan.stack} creates a cluster only; the fabric is in the stack with part platform")
    return watched_fabrics(spec)
