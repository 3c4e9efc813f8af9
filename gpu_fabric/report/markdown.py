"""A plan as Markdown for the summary of a pull request's job: most important parts first, long tables folded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from gpu_fabric.plan import Plan
from gpu_fabric.report.content import (
    CHART_COLUMNS,
    IMAGE_COLUMNS,
    POOL_COLUMNS,
    RAIL_COLUMNS,
    address_summary,
    by_weight,
    chart_rows,
    image_rows,
    job_rows,
    overview_rows,
    pool_rows,
    proof_lines,
    rail_rows,
    share_lines,
)
from gpu_fabric.report.lines import lines

# Characters that begin markup inside a line; texts are never at the beginning of a line.
_MARKUP = re.compile(r"([\\`*_\[\]|~$#>])")
_CODE = re.compile(r"(?<![`\\])(`[^`]*[^`\\]`)(?!`)")
_FENCE = "`" * 4


def markdown_report(plan: Plan) -> str:
    """The whole report; it depends on the plan only. The user's text never becomes markup."""
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
    yield from _folded("Applied, in this order", _table(("step", "what", "then wait for"), lines(plan)))
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
    """Text that is shown as written, in a paragraph or a table cell; `code` in it becomes a code span."""
    parts = _CODE.split(" ".join(value.split()))
    return "".join(_code(part) if index % 2 else _escaped(part) for index, part in enumerate(parts))


def _code(part: str) -> str:
    # In a code span, only the bar that ends a cell is markup.
    return part.replace("|", "\\|")


def _escaped(part: str) -> str:
    return _MARKUP.sub(r"\\\1", part.replace("&", "&amp;").replace("<", "&lt;"))


def _table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    head = list(columns)
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(map(text, row))} |"


def _folded(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield from ("", f"<details><summary>{title}</summary>", "", *lines, "", "</details>")
