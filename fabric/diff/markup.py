"""Text of others within Markdown: it shows as it is written, and never becomes markup, a link or a mention."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from fabric.report_markdown import text

# What a terminal or a browser would act on instead of showing it: control characters, and turns of direction.
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
_LONGEST = 160
_MOST_LINES = 2000
"""Texts of more lines are counted, not compared: a comparison takes time that grows with their product."""


def span(value: str) -> str:
    """Text as a code span, which may stand in a cell of a table; a long one ends with its length."""
    shown = shortened(_seen(" ".join(value.split())), _LONGEST)
    fence = backticks(shown, 1)
    space = " " if not shown or shown[0] in "` " or shown[-1] in "` " else ""
    return f"{fence}{space}{shown}{space}{fence}".replace("|", "\\|")


def value_span(value: Any) -> str:
    """A property's value as a code span; values that are no text as JSON."""
    return span(value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False))


def plain(value: str) -> str:
    """Text as a sentence among others."""
    return unlinked(_seen(text(value)))


def unlinked(value: str) -> str:
    """Text that mentions nobody: GitHub takes a name behind `@` for a mention, whether it is written so or escaped.

    A word joiner between them is not seen, and keeps them together. For escaped text, of which `&` is no entity.
    """
    return value.replace("@", "@\u2060")


def is_long_text(old: Any, new: Any) -> bool:
    """Whether two values are told line by line."""
    return any(isinstance(value, str) and "\n" in value.strip() for value in (old, new))


def line_changes(old: Any, new: Any, most: int | None) -> Iterator[str]:
    """The lines of two texts that differ, in a fence; nothing where none are wanted, and a count of those left out."""
    before, after = (str(value or "").splitlines() for value in (old, new))
    if most == 0 or max(len(before), len(after)) > _MOST_LINES:
        return
    lines = [_seen(line) for line in difflib.unified_diff(before, after, n=1, lineterm="")][2:]
    shown = lines if most is None else lines[:most]
    fence = backticks("\n".join(shown), 3)
    yield from (f"{fence}diff", *(shortened(line, _LONGEST) for line in shown), fence)
    if len(shown) < len(lines):
        yield f"and {counted(len(lines) - len(shown), 'line')} more"


def backticks(value: str, least: int) -> str:
    """A code span's or block's mark: more backticks than stand together anywhere within, and at least so many."""
    runs = [len(run) for run in re.findall(r"`+", value)]
    return "`" * max([least, *(run + 1 for run in runs)])


def shortened(value: str, most: int) -> str:
    """The beginning of a long text, with the length of the whole."""
    return value if len(value) <= most else f"{value[:most]}… ({len(value)} characters)"


def counted(number: int, word: str) -> str:
    """A number with its word, such as `1 node` and `2 addresses`."""
    end = "" if number == 1 else "es" if word.endswith("s") else "s"
    return f"{number} {word}{end}"


def listed(names: Iterable[str], most: int | None) -> str:
    """Names as code spans, with the number of those left out."""
    found = list(names)
    shown = found if most is None else found[:most]
    rest = len(found) - len(shown)
    words = [", ".join(map(span, shown))] if shown else []
    return " and ".join([*words, *([f"{rest} more" if shown else f"{rest}"] if rest else [])])


def folded(title: str, lines: Iterable[str]) -> Iterator[str]:
    """A section that opens on a click; its title is this project's own text."""
    yield from ("", f"<details><summary>{title}</summary>", "", *lines, "", "</details>")


def table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """A table of cells that are Markdown already."""
    head = list(columns)
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _seen(value: str) -> str:
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", value)
