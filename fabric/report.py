"""A plan for people: the whole of it as text, or the summary that ends `make up`."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from fabric.plain_console import plain_console
from fabric.plan import Plan
from fabric.plan_steps import steps
from fabric.report_content import (
    POOL_COLUMNS,
    RAIL_COLUMNS,
    address_summary,
    by_weight,
    job_rows,
    overview_rows,
    pool_rows,
    proof_lines,
    rail_rows,
    share_lines,
)
from fabric.rules import Severity

_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}


def plan_report(plan: Plan) -> RenderableType:
    """Everything the plan decides, on a screen or two."""
    fabric: list[RenderableType] = [
        _heading("Rails"),
        _table(RAIL_COLUMNS, rail_rows(plan)),
        _heading("Addresses"),
        _addresses(plan),
    ]
    job: list[RenderableType] = [_heading("A job's pod carries"), _pairs(job_rows(plan))]
    on_cluster = plan.part != "cluster"
    return Group(
        _heading(f"Plan of stack {plan.stack}"),
        _pairs(overview_rows(plan)),
        *(fabric if on_cluster else ()),
        _heading("Applied, in this order"),
        _table(("step", "what", "then wait for"), steps(plan)),
        *(job if on_cluster else ()),
        *_findings(plan),
    )


def summary(plan: Plan, file: str, options: str = "") -> RenderableType:
    """What `make up` has brought up, and what to do next.

    `file` is the stack's, as seen from the project; `options` are what `make` was given beside the stack.
    """
    return Group(
        _heading(f"Stack {plan.stack} is up"),
        _pairs(overview_rows(plan)),
        _next_steps(plan, file, options),
    )


def print_report(report: RenderableType, console: Console | None = None) -> None:
    """Print to stdout; wide tables stay whole when the output is a file."""
    target = console or plain_console()
    if not target.is_terminal:
        target = plain_console(width=160, file=target.file, no_color=True)
    target.print(report)


def _heading(text: str) -> RenderableType:
    return Text(f"\n{text}", style="bold")


def _table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def _pairs(rows: dict[str, str]) -> Table:
    columns = (Column(overflow="fold") for _ in range(2))
    table = Table(*columns, box=None, padding=(0, 2, 0, 0), show_header=False)
    for name, value in rows.items():
        table.add_row(Text(name, style="dim"), value)
    return table


def _addresses(plan: Plan) -> RenderableType:
    if not plan.addresses.pools:
        return Text(address_summary(plan))
    table = _table(POOL_COLUMNS, pool_rows(plan))
    return Group(table, Text("\n".join(share_lines(plan))), Text(), Text("\n".join(proof_lines(plan))))


def _findings(plan: Plan) -> list[RenderableType]:
    if not plan.findings:
        return []
    parts: list[RenderableType] = [_heading("Findings")]
    for entry in by_weight(plan):
        severity = (entry.severity.value, _COLOURS[entry.severity])
        parts.append(Text.assemble(severity, f" {entry.id} {entry.path}: {entry.message}"))
        parts.append(Padding(Text(f"-> {entry.remedy}"), (0, 0, 0, 4)))
    return parts


def _kubectl(plan: Plan) -> str:
    kubeconfig = plan.cluster.kubeconfig
    if kubeconfig is None:
        return "kubectl --kubeconfig <kubeconfig>"
    # The sandbox lays a kubectl of its own beside its kubeconfig.
    folder = kubeconfig.rpartition("/")[0]
    return f"{folder}/bin/kubectl" if folder.endswith(".sandbox") else f"kubectl --kubeconfig {kubeconfig}"


def _next_steps(plan: Plan, file: str, options: str) -> RenderableType:
    stack = f"STACK={plan.stack}{options}"
    return Group(
        _heading("Next"),
        _pairs(
            {
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
