"""A plan as Markdown for the summary of a pull request's job: most important parts first, long tables folded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from gpu_fabric.plan import Plan
from gpu_fabric.report import content

# Characters that begin markup inside a line; texts are never at the beginning of a line.
_MARKUP = re.compile(r"([\\`*_\[\]|~$#>])")
_CODE = re.compile(r"(?<![`\\])(`[^`]*[^`\\]`)(?!`)")
_FENCE = "`" * 4


def markdown_report(plan: Plan) -> str:
    """The whole report; it depends on the plan only. The user's text never becomes markup."""
    return "\n".join(_lines(plan)) + "\n"


def _lines(plan: Plan) -> Iterator[str]:
    findings = content.by_weight(plan)
    yield f"# Fabric plan of {text(plan.stack)}"
    yield ""
    yield from _table(("", ""), content.overview_rows(plan).items())
    yield from ("", "## Findings", "")
    if findings:
        rows = ((row.severity.value, row.id, row.path or "stack", row.message, row.remedy) for row in findings)
        yield from _table(("severity", "rule", "where", "what", "remedy"), rows)
    else:
        yield "None: every rule holds."
    if plan.part != "cluster":
        yield from _addresses(plan)
    yield from ("", "## Versions", "")
    charts, images = list(content.chart_rows(plan)), list(content.image_rows(plan))
    yield from _table(content.CHART_COLUMNS, charts) if charts else ("No chart is installed.",)
    if images:
        yield from fold("Images that the stack names itself", _table(content.IMAGE_COLUMNS, images))
    yield from fold("Applied, in this order", _table(content.STEP_COLUMNS, content.step_rows(plan)))
    if plan.part == "cluster":
        return
    yield from ("", "## Contract", "")
    yield from _table(("", ""), content.job_rows(plan).items())
    contract = plan.workload.model_dump_json(by_alias=True, indent=2)
    yield from fold("The contract as JSON", (f"{_FENCE}json", contract, _FENCE))


def _addresses(plan: Plan) -> Iterator[str]:
    yield from ("", "## Addresses", "")
    if plan.addresses.pools:
        yield from (f"- {text(line)}" for line in (*content.proof_lines(plan), *content.share_lines(plan)))
        yield from fold("Pools", _table(content.POOL_COLUMNS, content.pool_rows(plan)))
    else:
        yield f"{text(content.address_summary(plan))}."
    if plan.rails:
        yield from fold("Rails", _table(content.RAIL_COLUMNS, content.rail_rows(plan)))


def text(value: str) -> str:
    """Text that is shown as written, in a paragraph or a table cell; `code` in it becomes a code span."""
    parts = _CODE.split(" ".join(value.split()))
    return "".join(_code(part) if index % 2 else _escaped(part) for index, part in enumerate(parts))


def _code(part: str) -> str:
    # In a code span, only the bar that ends a cell is markup.
    return part.replace("|", "\\|")


def _escaped(part: str) -> str:
    return _MARKUP.sub(r"\\\1", part.replace("&", "&amp;").replace("<", "&lt;"))


def table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """A table whose cells are already Markdown."""
    head = list(columns)
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)


def fold(title: str, lines: Iterable[str]) -> Iterator[str]:
    """A folded section; the title must be this project's own text."""
    yield from ("", f"<details><summary>{title}</summary>", "", *lines, "", "</details>")


def _table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    return table(columns, (map(text, row) for row in rows))
