"""Changes that need an acknowledgement although no resource is lost, as dangers."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.catalog import catalog
from gpu_fabric.changes.model import Danger, Effect, PlanDiff
from gpu_fabric.changes.software_diff import LINE, NIC_OWNER, eviction
from gpu_fabric.changes.watched import alternative
from gpu_fabric.plan.waves import HOOK, WAVES
from gpu_fabric.resources import Loss

# The row of the table with the remedy for programs that have root on nodes.
_PROGRAMS = "programs"


def software_names() -> set[str]:
    """The names that an acknowledgement can use in addition to those of resources."""
    known = catalog()
    return {
        LINE,
        NIC_OWNER,
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
    if (step := found.owner) is not None:
        yield _danger(NIC_OWNER, NIC_OWNER, "the NICs of the nodes", "handed_over", step.why, step.key)
    for program in found.programs:
        what = f"image {program.image}" + (f", command {program.command}" if program.command else "")
        yield _danger(program.resource, _PROGRAMS, program.identity, "runs", what)
    for version in found.versions:
        effect: Effect = "skips" if version.left_out else "lowered"
        yield _danger(version.resource, LINE, f"version of {version.resource}", effect, "; ".join(version.words))


def _danger(resource: str, component: str, identity: str, effect: Effect, why: str, *keys: str) -> Danger:
    return Danger(
        resource=resource,
        component=component,
        type="",
        identity=identity,
        effect=effect,
        why=why,
        lost=Loss(),
        alternative=alternative("", component, effect, keys),
    )
