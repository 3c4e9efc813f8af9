"""A plan as text: the whole plan, or the summary at the end of `make up`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.text import Text

from gpu_fabric.base.simulators import simulator_of
from gpu_fabric.findings import Severity
from gpu_fabric.plan import Plan
from gpu_fabric.report import content
from gpu_fabric.report.alike import folded_rails
from gpu_fabric.report.console import FittingTable, Indented, Line, Pairs, plain_console, report_text

_UNWRAPPED = 100_000
"""Columns of a file, wider than any content."""
_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}


def plan_report(plan: Plan) -> RenderableType:
    """Everything that the plan decides, on one or two screens."""
    fabric: list[RenderableType] = []
    job: list[RenderableType] = []
    for of, one in content.fabric_titles(plan).items():
        fabric += [
            _heading(f"Rails{of}"),
            # A cloud says of its NICs what they have in common, and little of each.
            FittingTable(content.RAIL_COLUMNS, folded_rails(one) if one.cluster.profile else content.rail_rows(one)),
            _heading(f"Addresses{of}"),
            _addresses(one),
        ]
        job += [_heading(f"A job's pod carries{of}"), Pairs(content.job_rows(one))]
    on_cluster = plan.part != "cluster"
    return Group(
        _heading(f"Plan of stack {plan.stack}"),
        Pairs(content.overview_rows(plan)),
        *(fabric if on_cluster else ()),
        _heading("Applied, in this order"),
        FittingTable(content.STEP_COLUMNS, content.step_rows(plan), unnamed=content.STEP_COLUMNS[:2]),
        *(job if on_cluster else ()),
        *_findings(plan),
        *_not_asked_for(plan),
    )


def summary(plan: Plan, file: str, options: str = "") -> RenderableType:
    """The stack that `make up` has created, and the next steps.

    `file` is the stack file, relative to the project; `options` are the other options of `make`.
    """
    return Group(
        _heading(f"Stack {plan.stack} is up"),
        Pairs(content.overview_rows(plan)),
        _next_steps(plan, file, options),
    )


def print_report(report: RenderableType, console: Console | None = None) -> None:
    """Print to stdout; in a file or a pipe, each row and finding is one line, without blanks at the end."""
    target = console or plain_console()
    if target.is_terminal:
        target.print(report, crop=False)
    else:
        target.file.write(report_text(report, _UNWRAPPED))


def _heading(text: str) -> RenderableType:
    return Text(f"\n{text}", style="bold")


def _addresses(plan: Plan) -> RenderableType:
    if not plan.addresses.pools:
        return _text([content.address_summary(plan)])
    table = FittingTable(content.POOL_COLUMNS, content.pool_rows(plan))
    return Group(table, _text(content.share_lines(plan)), Text(), _text(content.proof_lines(plan)))


def _text(lines: Iterable[str]) -> RenderableType:
    return Group(*map(Line, list(lines) or [""]))


def _findings(plan: Plan) -> list[RenderableType]:
    if not plan.findings:
        return []
    parts: list[RenderableType] = [_heading("Findings")]
    for entry in content.findings_by_weight(plan):
        line, *rest = entry.lines()
        parts += [Line(line, _COLOURS[entry.severity]), *(Indented(more.strip(), 4) for more in rest)]
    return parts


def _not_asked_for(plan: Plan) -> list[RenderableType]:
    rows = content.not_asked_for_rows(plan)
    return [_heading("Not asked for"), Pairs(rows)] if rows else []


def _access(plan: Plan, options: str) -> dict[str, str]:
    """The command for the kubeconfig of a cluster that a stack creates; empty if the kubeconfig is a file."""
    if plan.cluster.kubeconfig is not None:
        return {}
    creator = plan.split.cluster_stack if plan.split is not None else plan.stack
    return {"get its kubeconfig": f"make kubeconfig STACK={creator}{options} > {_own_kubeconfig(plan)}"}


def _own_kubeconfig(plan: Plan) -> str:
    return f"~/.kube/{plan.stack}"


def _kubectl(plan: Plan) -> str:
    kubeconfig = plan.cluster.kubeconfig
    if kubeconfig is None:
        return f"kubectl --kubeconfig {_own_kubeconfig(plan)}"
    simulator = simulator_of(kubeconfig)
    return str(Path(kubeconfig).parent / simulator.kubectl) if simulator else f"kubectl --kubeconfig {kubeconfig}"


def _next_steps(plan: Plan, file: str, options: str) -> RenderableType:
    stack = f"STACK={plan.stack}{options}"
    return Group(
        _heading("Next"),
        Pairs(
            {
                **_access(plan, options),
                "see the nodes": f"{_kubectl(plan)} get nodes",
                "see what the platform reads" if plan.part == "cluster" else "see what a job must carry": (
                    f"make outputs {stack}"
                ),
                "see the whole plan": f"make plan STACK={plan.stack}",
                "change something": f"edit {file}, then make preview {stack}",
                "take it down": f"make destroy {stack}",
            }
        ),
    )
