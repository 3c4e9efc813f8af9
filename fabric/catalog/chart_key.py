"""Values that a chart no longer reads, does not read yet, or never did: `chart_keys.yaml`.

Helm drops such keys in silence, because none of the charts has a schema for its values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Literal, Self

from pydantic import JsonValue, model_validator

from fabric.catalog.release import ChartName
from fabric.catalog.version import Version, VersionText
from fabric.model import FrozenModel

ProblemKind = Literal["removed", "ignored", "too-new", "unknown"]
ProblemSeverity = Literal["error", "warning"]

# Helm hands this key to every subchart of every chart.
_ALWAYS_KNOWN = "global"


class ChartKey(FrozenModel):
    """The history of one key. `*` stands for any one name, `[]` for every entry of a list.

    `ignored_in` is the first version that does not heed the key although its values or its documentation have it.
    """

    chart: ChartName
    key: str
    added_in: VersionText | None = None
    removed_in: VersionText | None = None
    ignored_in: VersionText | None = None
    severity: ProblemSeverity
    why: str
    remedy: str
    source: str

    @model_validator(mode="after")
    def _says_when(self) -> Self:
        if self.added_in is self.removed_in is self.ignored_in is None:
            raise ValueError(f"{self.chart} {self.key}: give addedIn, removedIn or ignoredIn")
        return self

    def names(self, segments: tuple[str, ...]) -> bool:
        """Whether the row is about this path."""
        own = self.key.split(".")
        return len(own) == len(segments) and all(word in ("*", name) for word, name in zip(own, segments, strict=True))

    def problem_at(self, version: Version) -> tuple[ProblemKind, Version] | None:
        """What is wrong with the key in a version of the chart, and since or until when; None if nothing is."""
        if self.removed_in is not None and version.has_reached(self.removed_in):
            return "removed", self.removed_in
        if self.ignored_in is not None and version.has_reached(self.ignored_in):
            return "ignored", self.ignored_in
        if self.added_in is not None and not version.has_reached(self.added_in):
            return "too-new", self.added_in
        return None


class KeyProblem(FrozenModel):
    """One key that the chart will not heed. `path` is dotted, with list entries as `[0]`; `remedy` is an instruction.

    `version` is the chart's that removed, began to ignore or will bring the key; None for unknown keys.
    """

    path: str
    kind: ProblemKind
    version: str | None = None
    severity: ProblemSeverity
    why: str
    remedy: str


class ChartKeys(FrozenModel):
    """Histories of keys, and the names that the charts' own values hold, two levels deep.

    `known_keys` is chart -> version -> top-level key -> keys below; an empty list where the chart has no map with names
    there, so that everything goes. `subcharts` are top-level keys whose values another chart reads: the list under
    them is only what the parent sets, so other names go.
    """

    rows: tuple[ChartKey, ...]
    subcharts: dict[ChartName, tuple[str, ...]]
    known_keys: dict[ChartName, dict[str, dict[str, tuple[str, ...]]]]

    def key_findings(self, chart: ChartName, version: str, values: Mapping[str, JsonValue]) -> list[KeyProblem]:
        """Everything in `values` that the chart would drop, in the order of `values`.

        Names that are merely unknown are found only for versions in `known_keys`.

        Raises:
            ValueError: `version` is none.
        """
        found = Version.parse(version)
        rows = [row for row in self.rows if row.chart == chart and row.problem_at(found) is not None]
        return list(self._below(chart, found, rows, (), dict(values)))

    def names(self, chart: ChartName, version: Version) -> Mapping[str, tuple[str, ...]] | None:
        """The known keys of a chart's version; None for a version that is not in the table."""
        tables = self.known_keys.get(chart, {})
        return next((names for text, names in tables.items() if Version.parse(text) == version), None)

    def _below(
        self, chart: ChartName, version: Version, rows: list[ChartKey], above: tuple[str, ...], values: JsonValue
    ) -> Iterator[KeyProblem]:
        for name, value in _entries(values):
            path = (*above, name)
            known = next((problem for row in rows if (problem := _history(row, path, version))), None)
            problem = known or self._unknown(chart, version, path)
            if problem is not None:
                yield problem
            else:
                yield from self._below(chart, version, rows, path, value)

    def _unknown(self, chart: ChartName, version: Version, path: tuple[str, ...]) -> KeyProblem | None:
        names = self.names(chart, version)
        if names is None or path[0] == _ALWAYS_KNOWN:
            return None
        if len(path) == 1:
            return None if path[0] in names else _unknown_key(path, names)
        below = names[path[0]]
        if len(path) > 2 or not below or path[1] in below or path[0] in self.subcharts.get(chart, ()):
            return None
        return _unknown_key(path, below)


def _entries(values: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    if isinstance(values, dict):
        yield from values.items()
    elif isinstance(values, list):
        yield from ((f"[{place}]", value) for place, value in enumerate(values))


def _history(row: ChartKey, path: tuple[str, ...], version: Version) -> KeyProblem | None:
    segments = tuple("[]" if name.startswith("[") else name for name in path)
    if not row.names(segments) or (problem := row.problem_at(version)) is None:
        return None
    kind, when = problem
    return KeyProblem(
        path=_dotted(path), kind=kind, version=str(when), severity=row.severity, why=row.why, remedy=row.remedy
    )


def _unknown_key(path: tuple[str, ...], known: Iterable[str]) -> KeyProblem:
    matches = get_close_matches(path[-1], list(known), n=1, cutoff=0.6)
    guess = f"write {_dotted((*path[:-1], matches[0]))} if that is meant, " if matches else ""
    return KeyProblem(
        path=_dotted(path),
        kind="unknown",
        severity="warning",
        why="the chart's own values have no such key, and Helm drops it in silence",
        remedy=f"{guess}{'else ' if guess else ''}leave it out",
    )


def _dotted(path: tuple[str, ...]) -> str:
    return ".".join(path).replace(".[", "[")
