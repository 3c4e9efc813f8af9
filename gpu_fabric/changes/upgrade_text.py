"""A route of release lines as text, for people at a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.base.enumeration import first_names
from gpu_fabric.catalog.upgrade import Fact, FieldChange
from gpu_fabric.changes.upgrade import RESTARTED, ChartHop, Hop, ImageHop, ResourceCounts, Route
from gpu_fabric.resources import Loss

_MOST_NAMES = 6
_MOST_FIELDS = 4
_QUARTER = 92
_STATES = {"supported": "supported", "deprecated": "deprecated", "ended": "no longer supported"}
_FACTS = {
    "by-hand": "by hand",
    "one-way": "cannot be taken back",
    "default": "another default",
    "behaviour": "works otherwise",
}


def upgrade_lines(route: Route) -> Iterator[str]:
    """The whole way, hop by hop, and what to do for the first of them."""
    way = " -> ".join((route.old, *(hop.new for hop in route.hops)))
    yield f"Upgrade of stack {route.stack} from release line {route.old} to {route.new}: {way}"
    each = ", one `up` each" if len(route.hops) > 1 else ""
    yield f"{_count(len(route.hops), 'hop')}{each}; NVIDIA supports {route.rule} ({route.source})"
    aged = ": so far each quarter had a new line, so look at NVIDIA's page first" if route.days > _QUARTER else ""
    yield f"by NVIDIA's rule {route.life_cycle}; its lines as of {route.as_of}, {_count(route.days, 'day')} ago{aged}"
    yield from (f"not planned here: {text}" for text in route.beyond)
    for number, hop in enumerate(route.hops, 1):
        yield ""
        yield from _hop_lines(hop, number)
    yield ""
    yield from _steps(route)


def _hop_lines(hop: Hop, number: int) -> Iterator[str]:
    state = "supported by NVIDIA" if hop.supported else "NOT SUPPORTED BY NVIDIA"
    yield f"{number}. {hop.old} -> {hop.new}: {state}; {hop.new} is {_STATES[hop.support]}"
    if hop.old_kubernetes != hop.new_kubernetes:
        yield f"   Kubernetes {hop.old_kubernetes} -> {hop.new_kubernetes}"
    if not hop.charts:
        yield "   the stack installs none of NVIDIA's operators: who installed them upgrades them"
    for chart in hop.charts:
        yield from _chart_lines(chart)
    if hop.refused:
        yield f"   cannot be planned, {_count(len(hop.refused), 'problem')}:"
        for finding in hop.refused:
            yield from finding.lines("     ")
    if hop.resources is not None:
        yield from _resource_lines(hop.resources)
        yield from _image_lines(hop)
    for fact in hop.facts:
        yield from _fact_lines(fact)
    for warning in hop.warnings:
        yield f"   new {warning}"


def _chart_lines(chart: ChartHop) -> Iterator[str]:
    yield f"   {chart.name} {chart.old} -> {chart.new}"
    if chart.skipped:
        yield f"     leaves out NVIDIA's {', '.join(chart.skipped)}: no supported way leads over them at once"
    if chart.moves:
        yield (
            f"     moves from namespace {chart.old_namespace} to {chart.new_namespace}: the release is deleted and "
            "installed again, and all that its operator owns with it"
        )
    found = chart.definitions
    if not (found.new or found.gone or found.changed):
        return
    how = (
        f"its own job applies them first ({chart.applied_by})"
        if chart.applied_by and not chart.moves
        else "Helm leaves older ones as they are: apply the chart's own, or delete them where no object is left"
    )
    yield f"     definitions: {how}"
    for name in found.new:
        yield f"       new: {name}"
    for name in found.gone:
        yield f"       gone: {name}"
    for name, change in found.changed.items():
        yield f"       {name}: {_fields(change)}"


def _fields(change: FieldChange) -> str:
    parts = []
    for verb, paths in (("gains", change.adds), ("loses", change.drops)):
        if paths:
            parts.append(f"{verb} {first_names(paths, _MOST_FIELDS)}")
    return "; ".join(parts)


def _resource_lines(found: ResourceCounts) -> Iterator[str]:
    yield (
        f"   resources of the stack: {found.created} created, {found.changed} changed in place, "
        f"{len(found.replaced)} replaced, {len(found.deleted)} deleted"
    )
    for verb, names in (("replaced", found.replaced), ("deleted", found.deleted)):
        if names:
            yield f"     {verb}: {first_names(names, _MOST_NAMES)}"
    if found.lost != Loss():
        yield f"     lost: {found.lost}"
    if found.acknowledge:
        yield f"     the guard asks for an acknowledgement of {first_names(found.acknowledge, _MOST_NAMES)}"


def _image_lines(hop: Hop) -> Iterator[str]:
    drained = hop.of("drains")
    if hop.held:
        yield "   drains no node while gpu-fabric:upgrade.action is hold"
    elif hop.nodes:
        size = "one node each" if hop.at_a_time == 1 else f"{hop.at_a_time} nodes at most"
        waves = f"{_count(-(-hop.nodes // hop.at_a_time), 'wave')} of {size}"
        yield f"   drains {_count(hop.nodes, 'node')} of jobs, one after another: {waves}"
        for image in drained:
            yield f"     {_version(image)}: {image.what}"
    else:
        yield "   drains no node"
    restarted = [image for image in hop.of("restarts") if image.what != RESTARTED]
    for image in restarted:
        yield f"   restarts {_version(image)}: {image.what}"
    others = [image.name for image in hop.of("restarts") if image.what == RESTARTED]
    if others:
        yield f"   restarts, without an effect on jobs: {', '.join(others)}"


def _version(image: ImageHop) -> str:
    return f"{image.name} {image.old or 'none'} -> {image.new or 'none'}"


def _fact_lines(fact: Fact) -> Iterator[str]:
    yield f"   {_FACTS[fact.kind]} ({fact.chart} {fact.since}): {fact.what}"
    if fact.do:
        yield f"     -> {fact.do}"


def _steps(route: Route) -> Iterator[str]:
    first = route.hops[0]
    yield f"To do, for {first.old} -> {first.new}:"
    steps: list[str] = []
    if first.refused:
        steps.append("correct what the hop is refused for, in the stack file")
    if not first.supported:
        steps.append(
            "nothing of this hop is tested by NVIDIA: try it on a cluster like this one first, or install afresh in a "
            "second stack and move the jobs"
        )
    steps += [fact.do for fact in first.facts if fact.do and fact.kind == "by-hand"]
    if any(chart.moves for chart in first.charts):
        steps.append("let all jobs end: the fabric's networks and pools are made again")
    if first.resources is not None and first.resources.acknowledge:
        names = first_names(first.resources.acknowledge, _MOST_NAMES)
        steps.append(f"acknowledge what is lost or not supported in the section gpu-fabric:guard: {names}")
    if first.held and first.charts:
        steps.append(
            "write gpu-fabric:upgrade.action: continue when nodes may change: with hold, which the file has, they keep "
            "what runs on them"
        )
    elif first.nodes and not first.by_waves:
        steps.append(
            f"write the section gpu-fabric:upgrade, so that `up` takes the {_count(first.nodes, 'node')} in waves and "
            "proves each before jobs return (docs/upgrading.md); without it the operators take their own order"
        )
    steps.append(
        f'write software.releaseLine: "{first.new}" (--write does it), look at `make preview`, and run `make up`'
    )
    if len(route.hops) > 1:
        steps.append(f"prove the fabric, and ask again for the way from {first.new}: one hop at a time")
    for number, step in enumerate(steps, 1):
        yield f"  {number}. {step}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
