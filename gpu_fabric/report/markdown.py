"""A plan as Markdown for the summary of a pull request's job: most important parts first, long tables folded."""

from __future__ import annotations

from collections.abc import Iterable

from gpu_fabric.plan import Plan
from gpu_fabric.report import alike, content
from gpu_fabric.report.figures import plan_figures
from gpu_fabric.report.markdown_text import table, text
from gpu_fabric.report.template import fill_template


def markdown_report(plan: Plan) -> str:
    """The whole report; it depends on the plan only. The user's text never becomes markup."""
    return fill_template(
        "report.md.j2",
        plan=plan,
        content=content,
        alike=alike,
        figures=plan_figures(plan),
        text=text,
        table=_text_table,
    )


def _text_table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    return "\n".join(table(columns, (map(text, row) for row in rows)))
