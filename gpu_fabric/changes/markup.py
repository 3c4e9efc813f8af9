"""Markdown around text of users, which never becomes markup, a link or a mention; and how much of it is listed."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from gpu_fabric.base.enumeration import first, first_names, quantity
from gpu_fabric.report.markdown_text import table, text

# Control characters and changes of text direction, on which a terminal or a browser would act.
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
_LONGEST = 160
_MOST_LINES = 2000
"""Texts of more lines are counted and not compared: the time of a comparison grows with their product."""


def span(value: str) -> str:
    """Text as a code span, also for a cell of a table; a long text ends with its length."""
    shown = shorten(_seen(" ".join(value.split())), _LONGEST)
    fence = backticks(shown, 1)
    space = " " if not shown or shown[0] in "` " or shown[-1] in "` " else ""
    return f"{fence}{space}{shown}{space}{fence}".replace("|", "\\|")


def value_span(value: Any) -> str:
    """A property's value as a code span; a value that is not text is written as JSON."""
    return span(value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False))


def plain(value: str) -> str:
    """Text of a user as part of a sentence."""
    return unlink_mentions(_seen(text(value)))


def unlink_mentions(value: str) -> str:
    """Escaped text without mentions: GitHub takes a name behind `@` for a mention, even where the `@` is escaped.

    An invisible word joiner between them prevents that. The text must be escaped already, so that no `&` starts an
    entity.
    """
    return value.replace("@", "@\u2060")


def is_long_text(old: Any, new: Any) -> bool:
    """Whether two values are compared line by line."""
    return any(isinstance(value, str) and "\n" in value.strip() for value in (old, new))


def line_changes(old: Any, new: Any, most: int | None) -> Iterator[str]:
    """The lines that differ between two texts, in a fence, with the number of those left out; nothing for `most` 0."""
    before, after = (str(value or "").splitlines() for value in (old, new))
    if most == 0 or max(len(before), len(after)) > _MOST_LINES:
        return
    lines = [_seen(line) for line in difflib.unified_diff(before, after, n=1, lineterm="")][2:]
    shown = lines if most is None else lines[:most]
    fence = backticks("\n".join(shown), 3)
    yield from (f"{fence}diff", *(shorten(line, _LONGEST) for line in shown), fence)
    if len(shown) < len(lines):
        yield f"and {quantity(len(lines) - len(shown), 'line')} more"


def backticks(value: str, least: int) -> str:
    """The mark of a code span or block: at least `least` backticks, and more than the text has in a row."""
    runs = [len(run) for run in re.findall(r"`+", value)]
    return "`" * max([least, *(run + 1 for run in runs)])


def shorten(value: str, most: int) -> str:
    """The start of a long text, with the length of the whole."""
    return value if len(value) <= most else f"{value[:most]}… ({len(value)} characters)"


def name_list(names: Iterable[str], most: int | None) -> str:
    """Names as code spans, with the number of those left out."""
    found = [*map(span, names)]
    return str(len(found)) if found and most == 0 else first_names(found, most)


def _seen(value: str) -> str:
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", value)


class Level(NamedTuple):
    """The most entries that are listed: a rail's nodes, a text's lines, properties, names, and groups of resources.

    None lists all. `summarised` names what is only counted.
    """

    nodes: int | None
    lines: int | None
    properties: int | None
    names: int | None
    groups: int | None
    summarised: str


LEVELS = (
    Level(None, None, None, None, None, ""),
    Level(4, None, None, None, None, "addresses of a rail beyond 4 nodes"),
    Level(2, 20, 40, 40, None, "addresses, long texts and long lists"),
    Level(1, 0, 10, 8, 100, "addresses, texts, properties and long lists"),
    Level(0, 0, 3, 4, 40, "addresses, texts, most properties and most names"),
    Level(0, 0, 0, 2, 20, "addresses, texts, all properties and most names"),
    Level(0, 0, 0, 0, 8, "everything but numbers"),
)
"""From everything to numbers only; the last level is short for any plan."""


def first_bullets(lines: Sequence[str], most: int | None, word: str = "") -> Iterator[str]:
    """The first lines as a list, and the number of the others; `word` says what they are."""
    shown, left = first(lines, most)
    yield from (f"- {line}" for line in shown)
    if left:
        yield f"- {_more(left, word)}"


def first_rows(
    columns: Iterable[str], rows: Sequence[Iterable[str]], most: int | None, word: str = ""
) -> Iterator[str]:
    """A table of the first rows, and the number of the others; `word` says what they are."""
    shown, left = first(rows, most)
    yield from table(columns, shown)
    if left:
        yield from ("", _more(left, word))


def _more(left: int, word: str) -> str:
    return f"and {quantity(left, word) if word else left} more"
