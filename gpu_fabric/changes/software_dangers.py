"""Changes that need an acknowledgement although no resource is lost, as dangers."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.catalog import catalog
from gpu_fabric.changes.model import Danger, Effect, PlanDiff
from gpu_fabric.changes.software_diff import LINE, eviction
from gpu_fabric.changes.watched import alternative
from gpu_fabric.plan.waves import HOOK, WAVES
from gpu_fabric.resources import Loss

# The row of the table with the remedy for programs that have root on nodes.
_PROGRAMS = "programs"


def software_names() -> set[str]:
    """The names that an acknowledgement can use beside those of resources."""
    known = catalog()
    return {
        LINE,
        HOOK,
        WAVES,
        *known.upgrades.effects,
        *(name for line in known.releases.values() for name in line.charts),
    }


def software_dangers(diff: PlanDiff) -> Iterator[Danger]:
    """What needs an acknowledgement although no resource is lost."""
    found = diff.software
    if found is None:
        return
    if found.evicts_after is not None:
        yield _danger(WAVES, WAVES, "the waves of nodes", "evicts", f"jobs are evicted: {eviction(found)}")
    for program in found.programs:
        what = f"image {program.image}" + (f", command {program.command}" if program.command else "")
        yield _danger(program.resource, _PROGRAMS, program.identity, "runs", what)
    for step in found.versions:
        effect: Effect = "skips" if step.left_out else "lowered"
        yield _danger(step.resource, LINE, f"version of {step.resource}", effect, "; ".join(step.words))


def _danger(resource: str, component: str, identity: str, effect: Effect, why: str) -> Danger:
    return Danger(
        resource=resource,
        component=component,
        type="",
        identity=identity,
        effect=effect,
        why=why,
        lost=Loss(),
        alternative=alternative("", component, effect, ()),
    )
