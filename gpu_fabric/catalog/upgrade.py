"""The way from one release line to the next (`upgrades.yaml`): what no comparison of two lines shows."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Literal

from pydantic import Field

from gpu_fabric.catalog.release import ChartName
from gpu_fabric.catalog.version import Version, VersionText
from gpu_fabric.model import FrozenModel

EffectKind = Literal["drains", "restarts"]
FactKind = Literal["by-hand", "one-way", "default", "behaviour"]


class Policy(FrozenModel):
    """Which upgrades the vendor supports."""

    rule: str
    source: str


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
    """The vendor's lines in their order, and what their versions bring; `effects` are by an image's last name."""

    supported: Policy
    lines: dict[ChartName, tuple[str, ...]]
    applied_by: dict[ChartName, DefinitionsJob]
    effects: dict[str, ImageEffect]
    facts: tuple[Fact, ...]
    definitions: dict[ChartName, dict[str, DefinitionsOf]]

    def skipped(self, chart: ChartName, old: str, new: str) -> tuple[str, ...]:
        """The vendor's lines between those of two versions of a chart; none where the next one follows."""
        order = self.lines[chart]
        first, last = (order.index(vendor_line(version)) for version in (old, new))
        return order[first + 1 : last]

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
