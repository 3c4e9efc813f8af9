"""The table of symptoms: error texts as their software prints them, each with its cause, source and remedies."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from gpu_fabric.base.tables import read_rows
from gpu_fabric.model import FrozenModel

_FOLDER = Path(__file__).parent


class Subject(FrozenModel):
    """A kind of software that prints errors: a row of `subjects.yaml`, and a file of rows of its name.

    `words` is a regular expression of what its texts speak of, by which a text that no row knows is still given a
    place to look (`look`) and a page.
    """

    name: str
    title: str
    words: str
    look: str
    page: str

    @property
    def rows(self) -> tuple[Symptom, ...]:
        """The error texts of this software."""
        return read_rows(_FOLDER / "rows" / f"{self.name}.yaml", Symptom)


class Symptom(FrozenModel):
    """An error text. `says` are its forms: `<name>` is a part without blanks that varies, `<...>` any part of a line.

    `posted` are the public threads with it, as `owner/repository#number`. A `general` text only wraps others, or has
    many causes, and says nothing where another row fits. What it `follows` are the rows whose fault is its cause.
    `rules` are those by which this program finds the same fault.
    """

    name: str
    printed_by: str
    versions: str
    source: str
    posted: tuple[str, ...]
    says: tuple[str, ...]
    general: bool = False
    follows: tuple[str, ...] = ()
    means: str
    rules: tuple[str, ...] = ()
    do: tuple[str, ...]
    page: str = ""


def subjects() -> tuple[Subject, ...]:
    """The kinds of software, a cause before what it brings about: drivers before pods, pods before jobs."""
    return read_rows(_FOLDER / "subjects.yaml", Subject)


@cache
def symptoms() -> dict[str, Symptom]:
    """All rows by name, in the order of their subjects."""
    return {row.name: row for subject in subjects() for row in subject.rows}


_VARYING = re.compile(r"(<(?:[a-z][a-z_]*|\.\.\.)>)")
# At most so many letters, so that no text takes long.
_PART, _LINE = r"\S{0,200}?", r".{0,400}?"
# Texts are quoted again by each program that hands them on, and programs that format text change the marks.
_PLAIN = str.maketrans("\u201c\u201d\u2018\u2019", "\"\"''")


class Recognised(NamedTuple):
    """A symptom with what was seen of it, and the line in which it begins, from 1."""

    symptom: Symptom
    seen: str
    line: int


def recognised(text: str) -> list[Recognised]:
    """The symptoms in a text, causes first; none where the table knows nothing in it."""
    plain = re.sub(r"\\+([\"'])", r"\1", text).translate(_PLAIN)
    small = _spaced(plain)
    found = []
    for row, forms in _forms():
        if hits := [hit for part, says in forms if part in small and (hit := _pattern(says).search(plain))]:
            first = min(hits, key=re.Match.start)
            seen = " ".join(first[0].split())
            found.append(Recognised(row, seen, plain.count("\n", 0, first.start()) + 1))
    found = [entry for entry in found if not entry.symptom.general] or found
    names = {entry.symptom.name for entry in found}
    return sorted(found, key=lambda entry: _depth(entry.symptom, names))


def advice(text: str) -> str | None:
    """What mends what a text says, for a line of a report; None where no row knows its cause."""
    row = next((entry.symptom for entry in recognised(text) if not entry.symptom.general), None)
    return None if row is None else first_step(row)


def first_step(row: Symptom) -> str:
    """The first of a row's steps, and the command that prints all."""
    return f"{row.do[0].rstrip('.')}; `gpu-fabric explain {row.name}` has more"


def _depth(row: Symptom, names: set[str]) -> int:
    """How many of some symptoms come before one, each brought about by the one before."""
    table = symptoms()
    return max((1 + _depth(table[name], names - {row.name}) for name in row.follows if name in names), default=0)


@cache
def _forms() -> tuple[tuple[Symptom, tuple[tuple[str, str], ...]], ...]:
    """Each row's forms, and before each its longest part that does not vary: a text without it is not searched."""
    return tuple((row, tuple((_longest_part(says), says) for says in row.says)) for row in symptoms().values())


def _longest_part(says: str) -> str:
    return max((_spaced(part) for part in _VARYING.split(says) if not _VARYING.fullmatch(part)), key=len)


def _spaced(text: str) -> str:
    """A text in small letters with one blank between words, as the expressions see it."""
    return " ".join(text.lower().split())


@cache
def _pattern(says: str) -> re.Pattern[str]:
    """A form as a regular expression; words at its ends are whole words, and blanks may be of any number."""
    middle = "".join(_expressions(says))
    head = r"(?<![A-Za-z0-9])" if says[0].isalnum() else ""
    tail = r"(?![A-Za-z0-9])" if says[-1].isalnum() else ""
    return re.compile(f"{head}{middle}{tail}", re.IGNORECASE)


def _expressions(says: str) -> Iterator[str]:
    for part in _VARYING.split(says):
        if _VARYING.fullmatch(part):
            yield _LINE if part == "<...>" else _PART
        else:
            yield re.sub(r"(\\ )+", lambda _: r"\s+", re.escape(part))
