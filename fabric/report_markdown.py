"""A plan as Markdown for the summary of a pull request's job: what matters first, long tables folded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

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
from fabric.report_versions import CHART_COLUMNS, IMAGE_COLUMNS, chart_rows, image_rows

# What begins markup within a line; no text of ours stands at the beginning of one.
_MARKUP = re.compile(r"([\\`*_\[\]|~$#>])")
_FENCE = "`" * 4


def markdown_report(plan: Plan) -> str:
    """The whole report; the same plan gives the same bytes. Nothing a user wrote becomes markup."""
    return "\n".join(_lines(plan)) + "\n"


def _lines(plan: Plan) -> Iterator[str]:
    findings = by_weight(plan)
    yield f"# Fabric plan of {text(plan.stack)}"
    yield ""
    yield from _table(("", ""), overview_rows(plan).items())
    yield from ("", "## Findings", "")
    if findings:
        rows = ((row.severity.value, row.id, row.path or "stack", row.message, row.remedy) for row in findings)
        yield from _table(("severity", "rule", "where", "what", "remedy"), rows)
    else:
        yield "None: every rule holds."
    if plan.part != "cluster":
        yield from _addresses(plan)
    yield from ("", "## Versions", "")
    charts, images = list(chart_rows(plan)), list(image_rows(plan))
    yield from _table(CHART_COLUMNS, charts) if charts else ("No chart is installed.",)
    if images:
        yield from _folded("Images that the stack names itself", _table(IMAGE_COLUMNS, images))
    yield from _folded("Applied, in this order", _table(("step", "what", "then wait for"), steps(plan)))
    if plan.part == "cluster":
        return
    yield from ("", "## Contract", "")
    yield from _table(("", ""), job_rows(plan).items())
    contract = plan.workload.model_dump_json(by_alias=True, indent=2)
    yield from _folded("The contract as JSON", (f"{_FENCE}json", contract, _FENCE))


def _addresses(plan: Plan) -> Iterator[str]:
    yield from ("", "## Addresses", "")
    if plan.addresses.pools:
        yield from (f"- {text(line)}" for line in (*proof_lines(plan), *share_lines(plan)))
        yield from _folded("Pools", _table(POOL_COLUMNS, pool_rows(plan)))
    else:
        yield f"{text(address_summary(plan))}."
    if plan.rails:
        yield from _folded("Rails", _table(RAIL_COLUMNS, rail_rows(plan)))


def text(value: str) -> str:
    """Text that shows as it is written, in a paragraph as in a cell of a table."""
    escaped = _MARKUP.sub(r"\\\1", value.replace("&", "&amp;").replace("<", "&lt;"))
    return " ".join(escaped.split())


def _table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    head = list(columns)
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(map(text, row))} |"


def _folded(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield from ("", f"<details><summary>{title}</summary>", "", *lines, "", "</details>")
