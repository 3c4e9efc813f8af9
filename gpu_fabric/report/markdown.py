"""A plan as Markdown for the summary of a pull request's job: most important parts first, long tables folded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from gpu_fabric.plan import Plan
from gpu_fabric.report import alike, content
from gpu_fabric.report.figures import plan_figures
from gpu_fabric.report.template import fill_template

# Characters that begin markup inside a line; texts are never at the beginning of a line.
_MARKUP = re.compile(r"([\\`*_\[\]|~$#>])")
_CODE = re.compile(r"(?<![`\\])(`[^`]*[^`\\]`)(?!`)")


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


def text(value: str) -> str:
    """Text that is shown as written, in a paragraph or a table cell; `code` in it becomes a code span."""
    parts = _CODE.split(" ".join(value.split()))
    # In a code span, only the bar that ends a cell is markup.
    return "".join(part.replace("|", "\\|") if index % 2 else _escaped(part) for index, part in enumerate(parts))


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


def _text_table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    return "\n".join(table(columns, (map(text, row) for row in rows)))
