"""The lines of NCCL's log as data: how they are read, whatever the release, and how each release writes them.

The script on the node keeps lines by the same expressions by which the verdict judges them (`filter_file`). What plays
NCCL writes its lines from the forms (`Writer`), so that no line is written from memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from gpu_fabric.base.tables import read_table
from gpu_fabric.model import FrozenModel

_BEGINS = re.compile(r"NCCL (INFO|WARN) ")
# Host, process and thread, GPU: what every release writes before the rest of a line's beginning, which has changed
# three times (time, source file, function).
_HOST = re.compile(r"([A-Za-z0-9._-]+):[0-9]+(?::[0-9]+)? \[-?[0-9]+\]")
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_VALUE = re.compile(r"<([a-z_]+)>")
_WARNING = "WARN"


class LogForm(FrozenModel):
    """How releases from the first to the last of `of` write a line. `<name>` stands for a value."""

    of: tuple[str, str]
    text: str
    source: str
    file: str = ""
    function: str = ""


class LogLine(FrozenModel):
    """A line of one meaning. `read` is an extended regular expression of POSIX; none where the line is not read.

    A `part` is a piece of another line.
    """

    says: str
    read: str | None = None
    part: bool = False
    forms: tuple[LogForm, ...]

    @property
    def is_kept(self) -> bool:
        """Whether the script on the node keeps the line."""
        return self.read is not None and not self.part


class Warnings(FrozenModel):
    """How warnings about the network are found, by source file or text, and how releases write each kind."""

    place: str
    read: str
    left_out: str
    kinds: dict[str, tuple[LogForm, ...]]

    def are_meant(self, place: str, text: str) -> bool:
        """Whether a warning is about the network, and not about a device that NCCL then leaves out."""
        found = re.search(self.read, text) or re.search(self.place, place)
        return found is not None and re.search(self.left_out, text) is None


class OtherLine(FrozenModel):
    """A line of another program in the same output; one that is not kept does not leave the pod of a verification."""

    says: str
    is_kept: bool = True
    read: str
    text: str
    source: str


class LogTable(FrozenModel):
    """The whole table. The last release stands for a branch before its release."""

    releases: tuple[str, ...]
    info: tuple[LogForm, ...]
    warn: tuple[LogForm, ...]
    lines: dict[str, LogLine]
    warnings: Warnings
    others: dict[str, OtherLine]

    def read(self, name: str) -> re.Pattern[str]:
        """The expression of a line that is read.

        Raises:
            KeyError: the line is not read.
        """
        expression = self.lines[name].read
        if expression is None:
            raise KeyError(name)
        return re.compile(expression)


@cache
def log_table() -> LogTable:
    """Read the table."""
    return LogTable.model_validate(read_table(Path(__file__).with_name("log_lines.yaml")))


class LoggedLine(NamedTuple):
    """A line of NCCL's: the host that wrote it, its level (INFO or WARN), the source file if it is named, the text."""

    host: str
    level: str
    place: str
    text: str


def logged_line(line: str) -> LoggedLine | None:
    """The parts of a line of NCCL's, with whatever another program put before it; None for any other line."""
    if (begins := _BEGINS.search(line)) is None:
        return None
    before, text = line[: begins.start()], line[begins.end() :]
    host = _HOST.search(before)
    return None if host is None else LoggedLine(host[1], begins[1], before[host.end() :].strip(), text.strip())


def log_texts(log: bytes) -> Iterator[str]:
    """The lines of a log without a terminal's colours."""
    yield from _COLOURS.sub("", log.decode("utf-8", "replace")).splitlines()


def filter_file() -> str:
    """The expressions for the script on the node, a line each: its use, a tab, the expression.

    `info` keeps a line of NCCL's by its text, once a host; `once` keeps it once for all hosts; `place` and `warn` keep
    a warning by its beginning and its text, and `other` a line of another program.
    """
    table = log_table()
    read = {line.read: "once" if name == "setting" else "info" for name, line in table.lines.items() if line.is_kept}
    rows = [
        *((use, expression) for expression, use in read.items()),
        ("place", table.warnings.place),
        ("warn", table.warnings.read),
        *(("other", line.read) for line in table.others.values() if line.is_kept),
    ]
    return "".join(f"{use}\t{expression}\n" for use, expression in rows)


class Writer(NamedTuple):
    """Writes lines as a release of NCCL does."""

    release: str

    def has(self, name: str) -> bool:
        """Whether the release writes a line, or a warning of a kind."""
        table = log_table()
        forms = table.lines[name].forms if name in table.lines else table.warnings.kinds[name]
        return self._form(forms) is not None

    def text(self, name: str, **values: object) -> str:
        """The text of a line, or of a warning of a kind.

        Raises:
            KeyError: the release does not write it, or a value is missing.
        """
        table = log_table()
        forms = table.lines[name].forms if name in table.lines else table.warnings.kinds[name]
        return _filled(self._found(forms, name).text, values)

    def line(self, name: str, host: str, gpu: int = 0, **values: object) -> str:
        """A whole line that NCCL writes on a host; a warning has an empty line before it.

        Raises:
            KeyError: as for `text`.
        """
        table, start = log_table(), {"host": host, "pid": 200 + gpu, "thread": 300 + gpu, "gpu": gpu}
        if name in table.lines:
            return _filled(self._found(table.info, "info").text, start) + self.text(name, **values)
        form = self._found(table.warnings.kinds[name], name)
        start |= {"file": form.file, "line": form.source.rpartition(":")[2], "function": form.function}
        before = self._found(table.warn, _WARNING).text
        return _filled(before, {**start, "time": "2026-01-01 00:00:30"}) + self.text(name, **values)

    def _found(self, forms: tuple[LogForm, ...], name: str) -> LogForm:
        if (form := self._form(forms)) is None:
            raise KeyError(f"NCCL {self.release} writes no {name}")
        return form

    def _form(self, forms: tuple[LogForm, ...]) -> LogForm | None:
        place = log_table().releases.index
        own = place(self.release)
        return next((form for form in forms if place(form.of[0]) <= own <= place(form.of[1])), None)


def _filled(text: str, values: dict[str, object]) -> str:
    return _VALUE.sub(lambda match: str(values[match[1]]), text)
