"""The way of a stack from its release line to another: each hop with what it changes, restarts and drains.

Versions, images, namespaces and values are compared between the plans of both lines; the catalog's table of upgrades
adds what no comparison shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date

from gpu_fabric.catalog import Catalog, ChartName
from gpu_fabric.catalog.release import OF_THE_VENDOR
from gpu_fabric.catalog.upgrade import DefinitionsOf, EffectKind, Fact, SupportState
from gpu_fabric.catalog.version import RangeText, Version
from gpu_fabric.changes.guard import judge_plans
from gpu_fabric.changes.model import VersionDiff
from gpu_fabric.changes.plan_diff import plan_diff
from gpu_fabric.findings import Finding
from gpu_fabric.model import FrozenModel
from gpu_fabric.plan import Plan
from gpu_fabric.plan.images import image_list
from gpu_fabric.plan.records import PlannedWaves
from gpu_fabric.plan.waves import WAVES
from gpu_fabric.render.rendering import rendered
from gpu_fabric.resources import Loss

RESTARTED = "its pods are exchanged; pods of jobs are not concerned"
"""What an image does that has no row of its own: an operator's or a controller's."""


class LineError(ValueError):
    """There is no way between two lines; the message says why and what to do."""


class ChartHop(FrozenModel):
    """A chart on a hop. `skipped` are the vendor's lines that the hop leaves out: with any, it is not supported.

    `moves`: it gets another namespace, so that the release is deleted and installed again. `applied_by` is the value by
    which the new chart applies its definitions itself; None where that is for the user to do.
    """

    name: ChartName
    old: str
    new: str
    old_namespace: str
    new_namespace: str
    skipped: tuple[str, ...]
    applied_by: str | None
    definitions: DefinitionsOf

    @property
    def moves(self) -> bool:
        """Whether the release is deleted and installed again."""
        return self.old_namespace != self.new_namespace


class ImageHop(FrozenModel):
    """An image that changes. `old` and `new` are tags, None where it does not run."""

    name: str
    old: str | None
    new: str | None
    kind: EffectKind
    what: str


class ResourceCounts(FrozenModel):
    """How many resources a hop creates, changes, replaces and deletes; names of the latter two."""

    created: int
    changed: int
    replaced: tuple[str, ...]
    deleted: tuple[str, ...]
    lost: Loss
    acknowledge: tuple[str, ...]


class Hop(FrozenModel):
    """A step from one line to the next one of the catalog; `support` is the worst state of the new line's charts.

    `refused` are the errors for which the stack cannot be planned in the new line; `resources` is None then. `warnings`
    are findings that come with it. The ranges are of Kubernetes versions. `nodes`: how many nodes its drains concern, 0
    if it drains none; `at_a_time`: how many of them together; `by_waves`: whether the stack has waves; `held`: whether
    its file has them hold.
    """

    old: str
    new: str
    supported: bool
    support: SupportState
    old_kubernetes: RangeText
    new_kubernetes: RangeText
    charts: tuple[ChartHop, ...]
    facts: tuple[Fact, ...]
    images: tuple[ImageHop, ...] = ()
    versions: tuple[VersionDiff, ...] = ()
    resources: ResourceCounts | None = None
    warnings: tuple[str, ...] = ()
    refused: tuple[Finding, ...] = ()
    nodes: int = 0
    at_a_time: int = 1
    by_waves: bool = False
    held: bool = False

    def of(self, kind: EffectKind) -> tuple[ImageHop, ...]:
        """The images that have this effect."""
        return tuple(image for image in self.images if image.kind == kind)


class Route(FrozenModel):
    """The whole way, hop by hop; `rule` is which upgrades the vendor supports, with its source.

    `life_cycle` is which lines it supports, by its lines as of `as_of`, so many days ago; `beyond` are those of them
    after the last hop that are not planned here.
    """

    stack: str
    old: str
    new: str
    rule: str
    source: str
    life_cycle: str
    as_of: date
    days: int
    beyond: tuple[str, ...]
    hops: tuple[Hop, ...]

    @property
    def supported(self) -> bool:
        """Whether the vendor supports every hop."""
        return all(hop.supported for hop in self.hops)


def lines_on_the_way(known: Catalog, old: str, new: str) -> tuple[str, ...]:
    """The lines from the old one to the new one, both included, the oldest first.

    Raises:
        LineError: the new line is unknown, the same, or older.
    """
    order = sorted(known.releases, key=Version.parse)
    if new not in order:
        why = known.upgrades.named_only(new)
        raise LineError(f"there is no release line {new}{f': {why}' if why else ''}; write one of {', '.join(order)}")
    if new == old:
        raise LineError(f"the stack is in release line {old} already; newer ones: {_newer(order, old)}")
    if order.index(new) < order.index(old):
        raise LineError(
            f"release line {new} is older than the stack's, {old}: NVIDIA supports no way back, since definitions and "
            "objects keep what the newer line wrote; destroy the stack and bring it up in the older line, or create a "
            f"second stack in {new}"
        )
    return tuple(order[order.index(old) : order.index(new) + 1])


def _newer(order: list[str], line: str) -> str:
    return ", ".join(order[order.index(line) + 1 :]) or "none"


def route(known: Catalog, stack: str, lines: tuple[str, ...], hops: tuple[Hop, ...], today: date) -> Route:
    """The way over these lines."""
    rule, vendor = known.upgrades.supported, [known.upgrades.lines[name] for name in OF_THE_VENDOR]
    as_of = min(each.as_of for each in vendor)
    last = [known.releases[lines[-1]].charts[name].version for name in OF_THE_VENDOR]
    newer = dict.fromkeys(line for each, version in zip(vendor, last, strict=True) for line in each.newer(version))
    beyond = (known.upgrades.named_only(line) for line in newer if line not in known.releases)
    return Route(
        stack=stack,
        old=lines[0],
        new=lines[-1],
        rule=rule.rule,
        source=rule.source,
        life_cycle=known.upgrades.life_cycle.rule,
        as_of=as_of,
        days=(today - as_of).days,
        beyond=tuple(filter(None, beyond)),
        hops=hops,
    )


def hop(known: Catalog, base: Plan, head: Plan | tuple[Finding, ...], line: str, today: date) -> Hop:
    """The hop from a plan to that of the same stack in another line, or to the errors for which there is none."""
    installed = [release.name for release in base.releases]
    charts = tuple(_charts(known, base.release_line, line, installed))
    running = _tags(image.reference for image in image_list(base, known, {}).images)
    facts = tuple(
        fact for chart in charts for fact in known.upgrades.facts_between(chart.name, chart.old, chart.new, running)
    )
    before, after = known.releases[base.release_line], known.releases[line]
    shared = {
        "old": base.release_line,
        "new": line,
        "supported": not any(chart.skipped for chart in charts),
        "support": known.upgrades.worst_state(
            [(chart.name, chart.new) for chart in charts]
            or [(name, after.charts[name].version) for name in OF_THE_VENDOR]
        ),
        "old_kubernetes": before.kubernetes,
        "new_kubernetes": after.kubernetes,
        "charts": charts,
        "facts": facts,
    }
    if not isinstance(head, Plan):
        return Hop(**shared, refused=head)
    one, other = rendered(base), rendered(head)
    found = plan_diff(one, other)
    judgement = judge_plans(found, one, other, today)
    images = tuple(_images(known, base, head))
    waves = head.record(PlannedWaves, WAVES)
    nodes = sum(pool.nodes for pool in head.cluster.pools)
    # With waves nothing of the GPU Operator changes on a node with jobs.
    by_waves = waves is not None and any(chart.name == "gpu-operator" and chart.old != chart.new for chart in charts)
    drains = by_waves or any(image.kind == "drains" for image in images)
    return Hop(
        **shared,
        images=images,
        versions=found.versions,
        resources=ResourceCounts(
            created=len(found.of("created")),
            changed=len(found.of("changed")),
            replaced=tuple(entry.name for entry in found.of("replaced")),
            deleted=tuple(entry.name for entry in found.of("deleted")),
            lost=found.lost,
            acknowledge=tuple(dict.fromkeys(answer.danger.resource for answer in judgement.refused)),
        ),
        warnings=tuple(
            entry.text
            for entry in found.findings
            if entry.is_new and entry.severity == "warning" and entry.id not in ("REL015", "REL016")
        ),
        nodes=nodes if drains else 0,
        at_a_time=1 if waves is None else waves.at_a_time(nodes),
        by_waves=waves is not None,
    )


def _charts(known: Catalog, old: str, new: str, installed: list[str]) -> Iterator[ChartHop]:
    before, after = known.releases[old].charts, known.releases[new].charts
    for name in OF_THE_VENDOR:
        if name not in installed:
            continue
        one, other = before[name], after[name]
        job = known.upgrades.applied_by[name]
        yield ChartHop(
            name=name,
            old=one.version,
            new=other.version,
            old_namespace=one.namespace,
            new_namespace=other.namespace,
            skipped=known.upgrades.skipped(name, one.version, other.version),
            applied_by=job.value if Version.parse(other.version).has_reached(job.since) else None,
            definitions=known.upgrades.definitions_between(name, one.version, other.version),
        )


def _images(known: Catalog, base: Plan, head: Plan) -> Iterator[ImageHop]:
    before, after = (_tags(image.reference for image in image_list(plan, known, {}).images) for plan in (base, head))
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        effect = known.upgrades.effects.get(name)
        yield ImageHop(
            name=name,
            old=old,
            new=new,
            kind="restarts" if effect is None else effect.kind,
            what=RESTARTED if effect is None else effect.what,
        )


def _tags(references: Iterable[str]) -> dict[str, str]:
    """The tags of images by their last name; of several with one name they are listed."""
    found: dict[str, list[str]] = {}
    for reference in references:
        name, _, tag = reference.rpartition("/")[2].partition(":")
        found.setdefault(name, []).append(tag)
    return {name: ", ".join(sorted(set(tags))) for name, tags in found.items()}
