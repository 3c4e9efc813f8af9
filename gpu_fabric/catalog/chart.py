"""Charts: their images, the types of their values, and the history of the values' keys.

All is in the operators' files (`operators/`), but for the types (`chart_versions.yaml`) and the known keys
(`chart_keys.yaml`).

Helm silently ignores a key that a chart does not read, because none of the charts has a schema for its values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import cached_property
from typing import Any, Literal, NamedTuple

from pydantic import Field, JsonValue

from gpu_fabric.base.api_objects import field
from gpu_fabric.base.enumeration import grouped
from gpu_fabric.catalog.release import ChartName, Digest
from gpu_fabric.catalog.version import Version, VersionText
from gpu_fabric.model import FrozenModel


def value_at(values: Mapping[str, Any], path: str) -> Any:
    """The chart value at a dotted path; None if there is none."""
    return field(values, *path.split("."))


class Part(FrozenModel):
    """A part of a chart that runs if all values of `when` are true, and at least one of `any_of` if that is not empty.

    Both have dotted paths with the chart's defaults.
    """

    when: dict[str, bool] = {}
    any_of: dict[str, bool] = {}

    def runs(self, values: Mapping[str, JsonValue]) -> bool:
        """Whether the part runs with these values."""
        return all(map(bool, _settings(values, self.when))) and (not self.any_of or any(_settings(values, self.any_of)))


class ChartImage(Part):
    """An image: the parts of its reference, and the chart value of each part.

    The first part begins with the registry. The last of several parts is the tag, which is empty if it is not known.
    With `at`, the chart's `keys` are below that path. `digest_key` is a value that replaces the tag. `note` describes
    what the reference leaves open.
    """

    image: tuple[str, ...] = Field(min_length=1, max_length=3)
    at: str | None = None
    keys: tuple[str, ...] = ()
    digest_key: str | None = None
    note: str | None = None


class DescribedPart(Part):
    """A part that is not named by a value; `what` describes it."""

    what: str


class UnknownImage(DescribedPart):
    """A part whose image is not known here."""


class PullSecretKeys(FrozenModel):
    """The values in which a chart takes the names of Secrets for pulling its images, as dotted paths.

    `names` are lists of names, `objects` lists of objects with the key `name`; `single` have room for one name. The
    pods of `lacking` get none, whatever the values are.
    """

    source: str
    names: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    single: tuple[str, ...] = ()
    lacking: tuple[DescribedPart, ...] = ()


class ProxyVariables(Part):
    """A list of environment variables for pods that download from the internet: the dotted path of the value."""

    at: str


def _settings(values: Mapping[str, JsonValue], defaults: Mapping[str, bool]) -> list[bool]:
    found = ((value_at(values, path), default) for path, default in defaults.items())
    return [default if value is None else value is True for value, default in found]


ProblemKind = Literal["removed", "ignored", "too-new", "unknown"]
ProblemSeverity = Literal["error", "warning"]

# Helm passes this key to every subchart of every chart.
_ALWAYS_KNOWN = "global"


class ChartKey(FrozenModel):
    """The history of one key. `*` matches any one name, `[]` every entry of a list.

    An error is a key whose loss changes what is installed, a warning one whose loss leaves the stack as it is without.

    `ignored_in` is the first version that ignores the key although its values or documentation have it.
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

    @cached_property
    def segments(self) -> tuple[str, ...]:
        """The names of the key, from the outermost."""
        return tuple(self.key.split("."))

    def names(self, segments: tuple[str, ...]) -> bool:
        """Whether the row applies to this path, which is as long as its key."""
        return all(word in ("*", name) for word, name in zip(self.segments, segments, strict=True))

    def problem_at(self, version: Version) -> tuple[ProblemKind, Version] | None:
        """The key's problem in a version of the chart, with the version that caused or solved it; None without one."""
        if self.removed_in is not None and version.has_reached(self.removed_in):
            return "removed", self.removed_in
        if self.ignored_in is not None and version.has_reached(self.ignored_in):
            return "ignored", self.ignored_in
        if self.added_in is not None and not version.has_reached(self.added_in):
            return "too-new", self.added_in
        return None


class KeyProblem(FrozenModel):
    """One key that the chart ignores. `path` is dotted, with list entries as `[0]`; `remedy` is an instruction.

    `version` is the chart version that removed, began to ignore or added the key; None for unknown keys.
    """

    path: str
    kind: ProblemKind
    version: str | None = None
    severity: ProblemSeverity
    why: str
    remedy: str


class ChartKeys(FrozenModel):
    """Histories of keys, and the names in the charts' own values, two levels deep.

    `known_keys` is chart -> version -> top-level key -> keys below it; an empty list where the chart does not have a
    map with fixed names, so that any name is allowed. `subcharts` are top-level keys whose values another chart reads:
    the list has only the keys that the parent chart sets, so other names are allowed.
    """

    rows: tuple[ChartKey, ...]
    subcharts: dict[ChartName, tuple[str, ...]]
    known_keys: dict[ChartName, dict[str, dict[str, tuple[str, ...]]]]

    def key_findings(self, chart: ChartName, version: str, values: Mapping[str, JsonValue]) -> list[KeyProblem]:
        """All keys in `values` that the chart ignores, in the order of `values`.

        Unknown names are found only for versions in `known_keys`.

        Raises:
            ValueError: `version` is not a valid version.
        """
        return list(self._below(chart, Version.parse(version), (), dict(values)))

    @cached_property
    def _rows_by_length(self) -> Mapping[tuple[ChartName, int], list[ChartKey]]:
        """The rows of a chart whose keys have a number of names."""
        return grouped(self.rows, lambda row: (row.chart, len(row.segments)))

    def names(self, chart: ChartName, version: Version) -> Mapping[str, tuple[str, ...]] | None:
        """The known keys of a chart version; None for a version that is not in the table."""
        return self._names_by_version.get((chart, version))

    @cached_property
    def _names_by_version(self) -> Mapping[tuple[ChartName, Version], Mapping[str, tuple[str, ...]]]:
        return {
            (chart, Version.parse(text)): names
            for chart, tables in self.known_keys.items()
            for text, names in tables.items()
        }

    def _below(
        self, chart: ChartName, version: Version, above: tuple[str, ...], values: JsonValue
    ) -> Iterator[KeyProblem]:
        for name, value in _entries(values):
            path = (*above, name)
            known = _history(self._rows_by_length.get((chart, len(path)), ()), path, version)
            problem = known or self._unknown(chart, version, path)
            if problem is not None:
                yield problem
            else:
                yield from self._below(chart, version, path, value)

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


def _history(rows: Iterable[ChartKey], path: tuple[str, ...], version: Version) -> KeyProblem | None:
    """The problems of a path; rows that match it more exactly override the others."""
    segments = tuple("[]" if name.startswith("[") else name for name in path)
    about = [row for row in rows if row.names(segments)]
    closest = min((row.key.count("*") for row in about), default=0)
    for row in about:
        if row.key.count("*") == closest and (problem := row.problem_at(version)) is not None:
            kind, when = problem
            return KeyProblem(
                path=_dotted(path), kind=kind, version=str(when), severity=row.severity, why=row.why, remedy=row.remedy
            )
    return None


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


_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")


class WrongType(NamedTuple):
    """A value whose type differs from the chart's: its place, and the chart's type."""

    keys: tuple[str, ...]
    wanted: str


class ChartTypes(FrozenModel):
    """The booleans and numbers among the values of one chart version, as dotted paths; empty if they are not known."""

    switches: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()

    def wrong(self, values: Mapping[str, JsonValue]) -> Iterator[WrongType]:
        """The values of another type, in the order of `values`; null is allowed, since it removes a value in Helm."""
        switches, numbers = set(self.switches), set(self.numbers)
        every = switches | numbers
        mappings = {path[:place] for path in every for place in range(len(path)) if path[place] == "."}
        yield from _wrong(values, (), switches, numbers, mappings)


def _wrong(
    values: Mapping[str, JsonValue], above: tuple[str, ...], switches: set[str], numbers: set[str], mappings: set[str]
) -> Iterator[WrongType]:
    for key, value in values.items():
        keys = (*above, key)
        path = ".".join(keys)
        if value is None:
            continue
        if path in switches:
            if not isinstance(value, bool):
                yield WrongType(keys, "true or false, without quotes")
        elif path in numbers:
            if isinstance(value, bool) or not (isinstance(value, int | float) or _is_number(value)):
                yield WrongType(keys, "a number")
        elif path in mappings and not isinstance(value, dict):
            yield WrongType(keys, "a mapping of keys to values")
        elif isinstance(value, dict):
            yield from _wrong(value, keys, switches, numbers, mappings)


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, str) and _NUMBER.fullmatch(value) is not None


class ChartVersion(FrozenModel):
    """One version of a chart: its images, and the types of its values.

    `operands` are images that the stack's own object of the operator names, by its operands. `digest` is the chart's
    own. The value `override`, if set, replaces the first part of every image. `unjudged` is why the names of its
    values' keys are not known, so that every key that a stack writes goes to the chart. `known_keys` are these names,
    unless `chart_keys.yaml` has them.
    """

    source: str
    pull_secrets: PullSecretKeys
    proxy: tuple[ProxyVariables, ...] = ()
    digest: Digest | None = None
    keys: tuple[str, ...] = ()
    override: str | None = None
    images: tuple[ChartImage, ...]
    unknown: tuple[UnknownImage, ...] = ()
    operands: dict[str, str] = {}
    unjudged: str | None = None
    known_keys: dict[str, tuple[str, ...]] = {}
    types: ChartTypes = ChartTypes()

    def keys_of(self, row: ChartImage) -> tuple[str, ...]:
        """The dotted paths of the values of the image's parts."""
        return row.keys if row.at is None else tuple(f"{row.at}.{key}" for key in self.keys)


ChartVersionTable = dict[str, dict[str, ChartVersion]]
"""By chart and version."""
