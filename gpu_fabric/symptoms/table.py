"""The table of symptoms: error texts as their software prints them, each with its cause, source and remedies."""

from __future__ import annotations

from functools import cache
from pathlib import Path

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
    many causes, and says nothing where another row fits. What it `follows` are the rows whose fault brings it about.
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
