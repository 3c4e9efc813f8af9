"""Text, tables and folded sections in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

# Characters that begin markup inside a line; texts are never at the beginning of a line.
_MARKUP = re.compile(r"([\\`*_\[\]|~$#>])")
_CODE = re.compile(r"(?<![`\\])(`[^`]*[^`\\]`)(?!`)")


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
