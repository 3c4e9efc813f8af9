"""The way from one release line to the next (`upgrades.yaml`): what no comparison of two lines shows."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from datetime import date
from typing import Literal, get_args

from pydantic import Field

from gpu_fabric.catalog.release import ChartName
from gpu_fabric.catalog.version import Version, VersionText
from gpu_fabric.model import FrozenModel

SupportState = Literal["supported", "deprecated", "ended"]
EffectKind = Literal["drains", "restarts"]
FactKind = Literal["by-hand", "one-way", "default", "behaviour"]


class Policy(FrozenModel):
    """A rule of the vendor's."""

    rule: str
    source: str


class NamedRelease(FrozenModel):
    """A release of the vendor's that no line here has: what it brings, and what was not at hand to plan it."""

    what: str
    missing: str
    source: str


class VendorLines(FrozenModel):
    """The vendor's lines of a chart, the oldest first, as its pages had them on the day `as_of`.

    `by_name` are releases that are known by name only.
    """

    order: tuple[str, ...] = Field(min_length=1)
    as_of: date
    source: str
    by_name: dict[str, NamedRelease] = {}

    def state(self, version: str) -> SupportState:
        """What the vendor's rule says of a version: the newest line is supported, the one before it deprecated."""
        states = get_args(SupportState)
        state: SupportState = states[min(len(self.newer(version)), len(states) - 1)]
        return state

    def newer(self, version: str) -> tuple[str, ...]:
        """The vendor's lines after that of a version."""
        return self.order[self.order.index(vendor_line(version)) + 1 :]

    def patches(self, version: str) -> tuple[str, ...]:
        """The newer releases of a version's own line."""
        return tuple(name for name in self.by_name if vendor_line(name) == vendor_line(version))


class ImageEffect(FrozenModel):
    """What another image does to nodes and pods: it drains nodes of jobs, or leaves running pods alone."""

    kind: EffectKind
    what: str
    source: str


class DefinitionsJob(FrozenModel):
    """The value by which a chart applies its definitions before an upgrade, on by default from a version on."""

    value: str
    since: VersionText = Field(alias="from")


class Fact(FrozenModel):
    """What comes with a version of a chart; `do` is an instruction, empty if there is nothing to do.

    `image` is the name of an image without which a stack is not concerned, `unless` that of one with which it is not.
    """

    chart: ChartName
    since: VersionText = Field(alias="in")
    kind: FactKind
    what: str
    do: str = ""
    image: str | None = None
    unless: str | None = None
    source: str


class FieldChange(FrozenModel):
    """The highest fields that a definition gained and lost, as dotted paths."""

    adds: tuple[str, ...] = ()
    drops: tuple[str, ...] = ()


class DefinitionsOf(FrozenModel):
    """The definitions of a chart version against those of the version before; `present` in the oldest one."""

    present: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    changed: dict[str, FieldChange] = {}


class UpgradeTable(FrozenModel):
    """The vendor's lines in their order, and what their versions bring; `effects` are by an image's last name.

    `supported` is which upgrades the vendor supports, `life_cycle` which lines.
    """

    supported: Policy
    life_cycle: Policy
    lines: dict[ChartName, VendorLines]
    applied_by: dict[ChartName, DefinitionsJob]
    effects: dict[str, ImageEffect]
    facts: tuple[Fact, ...]
    definitions: dict[ChartName, dict[str, DefinitionsOf]]

    def skipped(self, chart: ChartName, old: str, new: str) -> tuple[str, ...]:
        """The vendor's lines between those of two versions of a chart; none where the next one follows."""
        order = self.lines[chart].order
        first, last = (order.index(vendor_line(version)) for version in (old, new))
        return order[first + 1 : last]

    def worst_state(self, versions: Iterable[tuple[ChartName, str]]) -> SupportState:
        """The worst of the states of several charts, each with its version."""
        return max((self.lines[chart].state(version) for chart, version in versions), key=get_args(SupportState).index)

    def named_only(self, line: str) -> str:
        """What is missing of a line that the vendor has and that is not planned here; empty for any other line."""
        return " and ".join(
            f"{chart} {version} is known by name only, {row.missing}"
            for chart, lines in self.lines.items()
            for version, row in lines.by_name.items()
            if vendor_line(version) == line
        )

    def facts_between(self, chart: ChartName, old: str, new: str, images: Container[str]) -> Iterator[Fact]:
        """What comes with the versions after the old one, up to the new one, for a stack that runs these images."""
        for fact in self.facts:
            concerned = (fact.image is None or fact.image in images) and (
                fact.unless is None or fact.unless not in images
            )
            if concerned and fact.chart == chart and _is_between(fact.since, old, new):
                yield fact

    def definitions_between(self, chart: ChartName, old: str, new: str) -> DefinitionsOf:
        """What definitions gain and lose on the way between two versions, each named once."""
        rows = [row for text, row in self.definitions[chart].items() if _is_between(Version.parse(text), old, new)]
        fresh = {name for row in rows for name in row.new}
        changed = {name for row in rows for name in row.changed} - fresh
        return DefinitionsOf(
            new=tuple(sorted(fresh)),
            gone=tuple(sorted({name for row in rows for name in row.gone})),
            changed={
                name: FieldChange(
                    adds=tuple(path for row in rows if name in row.changed for path in row.changed[name].adds),
                    drops=tuple(path for row in rows if name in row.changed for path in row.changed[name].drops),
                )
                for name in sorted(changed)
            },
        )


def vendor_line(version: str) -> str:
    """The vendor's line of a chart's version: `26.3` of `v26.3.3`."""
    year, month = version.removeprefix("v").split(".")[:2]
    return f"{year}.{month}"


def _is_between(version: Version, old: str, new: str) -> bool:
    return Version.parse(old) < version <= Version.parse(new)
