"""The console that prints all output exactly as written, and tables and pairs that fit the width of a screen."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from io import StringIO

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text

plain_console = partial(Console, markup=False, emoji=False, highlight=False)
"""Creates a console that interprets neither markup nor emoji names.

Printed text contains names, paths and texts from stack files. Rich's defaults would change (`:guard:`), drop
(`[draft]`) or refuse (`[/2026]`) some of them. Style the program's own text with `Text`; a test forbids any other
console.
"""


_GAP = 2
_FENCE = re.compile(r"\s*```")
# A line that a person copies: a command of ours or of the programs that pages name, with what it is for.
_TO_COPY = re.compile(r"\s+(gpu-fabric|make|pulumi|python|kubectl|helm|pip) ")
_CELLS = re.compile(r"(?<!\\)\|")


def report_text(report: RenderableType, width: int) -> str:
    """A report as in a file of some width, independent of the terminal and its settings."""
    text = StringIO()
    target = plain_console(file=text, width=width, color_system=None, force_terminal=False, _environ={})
    target.print(report, crop=False)
    return "".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines())


def fitted(text: str, width: int) -> str:
    """A text on a screen: lines wider than it continue in the next, between words and further to the right.

    A table of Markdown that is wider is a table or a paragraph a row; what is fenced, a command that stands alone and
    a word that is wider stay whole.
    """
    lines, found = text.split("\n"), list[str]()
    fenced, index = False, 0
    while index < len(lines):
        line = lines[index]
        fenced ^= _FENCE.match(line) is not None
        end = index + 1
        if line.startswith("|") and not fenced:
            while end < len(lines) and lines[end].startswith("|"):
                end += 1
            table = lines[index:end]
            found += table if max(map(cell_len, table)) <= width else _table_lines(table, width)
        elif fenced or cell_len(line) <= width or _TO_COPY.match(line):
            found.append(line)
        else:
            body = line.lstrip()
            start = " " * (len(line) - len(body))
            found += [start + part for part in _lines(body, width - len(start), indent=_hanging(body))]
        index = end
    return "\n".join(found)


def _hanging(body: str) -> int:
    """How much further to the right the next lines of a text begin."""
    mark = re.match(r"(->|[-*]|[0-9]+\.) ", body)
    return 4 if mark is None else mark.end()


def _table_lines(rows: Sequence[str], width: int) -> list[str]:
    """A table of Markdown for a screen; the row under its head is the line between them."""
    head, _, *others = ([cell.strip() for cell in _CELLS.split(row.strip())[1:-1]] for row in rows)
    return report_text(FittingTable(head, others), width).splitlines()


class FittingTable:
    """A table; if its words are wider than the screen, it becomes one paragraph per row with the columns' names.

    Cells wrap between words only. Columns in `right` are aligned to the right. Columns in `spare` are left out, the
    last first, to fit each row on one line. In a paragraph the names of columns in `unnamed` are left out.
    """

    def __init__(
        self,
        columns: Iterable[str],
        rows: Iterable[Iterable[str]],
        *,
        right: Sequence[str] = (),
        spare: Sequence[str] = (),
        unnamed: Sequence[str] = (),
    ) -> None:
        self.columns = tuple(columns)
        self.rows = [tuple(row) for row in rows]
        self.right = right
        self.spare = tuple(spare)
        self.unnamed = unnamed

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        widths = self._widths(options.max_width)
        if self.spare and (widths is None or widths != self._wanted()):
            yield from self._drop_column(self.spare[-1]).__rich_console__(console, options)
            return
        if widths is None:
            yield from self._paragraphs(options.max_width)
            return
        for cells, style in ((self.columns, "dim"), *((row, "") for row in self.rows)):
            wrapped = [_lines(cell, width) for cell, width in zip(cells, widths, strict=True)]
            for index in range(max(map(len, wrapped))):
                parts = [
                    _pad(lines[index] if index < len(lines) else "", width, right=column in self.right)
                    for column, lines, width in zip(self.columns, wrapped, widths, strict=True)
                ]
                yield _whole((" " * _GAP).join(parts).rstrip(), style)

    def _drop_column(self, left_out: str) -> FittingTable:
        kept = [index for index, name in enumerate(self.columns) if name != left_out]
        rows = ([row[index] for index in kept] for row in self.rows)
        columns = (self.columns[index] for index in kept)
        return FittingTable(columns, rows, right=self.right, spare=self.spare[:-1], unnamed=self.unnamed)

    def _widths(self, most: int) -> list[int] | None:
        """The width of each column; None if even the longest words do not fit side by side."""
        columns = list(zip(self.columns, *self.rows, strict=True))
        least = [max(_longest_word(cell) for cell in column) for column in columns]
        wanted = self._wanted()
        free = most - sum(least) - _GAP * (len(columns) - 1)
        if free < 0:
            return None
        widths = list(least)
        # Narrow columns first: they need little, and the widest columns share the rest.
        for index in sorted(range(len(columns)), key=lambda column: wanted[column] - least[column]):
            given = min(wanted[index] - least[index], free)
            widths[index] += given
            free -= given
        return widths

    def _wanted(self) -> list[int]:
        return [max(map(cell_len, column)) for column in zip(self.columns, *self.rows, strict=True)]

    def _paragraphs(self, width: int) -> Iterator[Text]:
        named = [f"{name} " if name not in self.unnamed else "" for name in self.columns]
        for row in self.rows:
            head = f"{named[0]}{row[0]}:"
            parts = [f"{name}{cell}" for name, cell in zip(named[1:], row[1:], strict=True) if cell]
            yield from (_whole(line) for line in _lines(f"{head} {', '.join(parts)}", width, indent=4))


class Pairs:
    """Names with values; a value wraps between words, next to its name."""

    def __init__(self, rows: Mapping[str, str]) -> None:
        self.rows = dict(rows)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        names = max(map(cell_len, self.rows), default=0)
        for name, value in self.rows.items():
            lines = _lines(value, options.max_width - names - _GAP)
            for index, line in enumerate(lines):
                label = Text(_pad("" if index else name, names), style="dim")
                yield _whole(label.append(" " * _GAP).append(line, style="not dim"))


class Indented:
    """A text that is indented by some columns and wraps between words; a word wider than the screen stays whole.

    Rich's Padding cuts such a word, and every text that does not fold, at the edge of the screen.
    """

    def __init__(self, text: str, columns: int) -> None:
        self.text = text
        self.columns = columns

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in _lines(self.text, options.max_width - self.columns):
            yield _whole(" " * self.columns + line)


class Line:
    """A line that continues in the next on a screen that it is wider than, and is one line of a file of any width.

    Its first word has the style.
    """

    def __init__(self, text: str, style: str = "") -> None:
        self.text = text
        self.style = style

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        text = fitted(self.text, options.max_width) if options.is_terminal else self.text
        for index, line in enumerate(text.split("\n")):
            shown = _whole(line)
            shown.stylize("" if index else self.style, 0, len(line.partition(" ")[0]))
            yield shown


def _whole(line: str | Text, style: str = "") -> Text:
    """A line that is printed unchanged, even if a word is wider than the screen."""
    text = Text(line, style=style) if isinstance(line, str) else line
    text.no_wrap, text.overflow = True, "ignore"
    text.rstrip()
    return text


def _longest_word(cell: str) -> int:
    return max(map(cell_len, cell.split()), default=0)


def _pad(text: str, width: int, *, right: bool = False) -> str:
    space = " " * max(width - cell_len(text), 0)
    return space + text if right else text + space


def _lines(text: str, width: int, indent: int = 0) -> list[str]:
    """A text wrapped to a width, between words only; its own line ends stay."""
    found: list[str] = []
    for paragraph in text.split("\n"):
        line = ""
        for word in paragraph.split(" "):
            longer = f"{line} {word}" if line else word
            if line.strip() and cell_len(longer) > width:
                found.append(line)
                line = " " * indent + word
            else:
                line = longer
        found.append(line)
    return found
