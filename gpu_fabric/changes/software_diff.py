"""How what a plan decides other than its resources differs: programs with root, versions, eviction, owner of NICs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from gpu_fabric.base.enumeration import quantity
from gpu_fabric.catalog import catalog
from gpu_fabric.catalog.release import OF_THE_VENDOR
from gpu_fabric.catalog.upgrade import vendor_line
from gpu_fabric.changes.model import Danger, Effect, OwnerStep, PlanDiff, SoftwareDiff, VersionStep
from gpu_fabric.changes.properties import digest_long_texts
from gpu_fabric.changes.software import NicOwner, Program, Software
from gpu_fabric.changes.watched import alternative
from gpu_fabric.k8s.names import WAY_LABEL
from gpu_fabric.plan.waves import HOOK, WAVES
from gpu_fabric.plan.ways import WAYS
from gpu_fabric.resources import Loss

LINE = "release-line"
"""The name by which an acknowledgement permits another release line."""
NIC_OWNER = "nic-owner"
"""The name by which an acknowledgement permits that NICs get another owner on all nodes at once."""

_BY_CLAIMS = frozenset(name for name, way in WAYS.items() if way == "claims")


def software_diff(old: Software | None, new: Software | None) -> SoftwareDiff | None:
    """Compare what two plans decide; None without a difference, or where one of them is not known."""
    if old is None or new is None or not old.release_line or not new.release_line:
        return None
    found = SoftwareDiff(
        programs=tuple(_new_programs(old, new)),
        versions=tuple(_versions(old, new)),
        evicts_after=new.evicts_after if _evicts_more(old.evicts_after, new.evicts_after) else None,
        evicted_after=old.evicts_after,
        owner=_other_owner(old.owner, new.owner),
    )
    judged = (found.programs, found.versions, found.evicts_after is not None, found.owner)
    return found if any(judged) else None


def _other_owner(old: NicOwner | None, new: NicOwner | None) -> OwnerStep | None:
    """How NICs of nodes get another owner before their jobs have ended; None where they do not, or it is not known."""
    if old is None or new is None:
        return None
    home, changes, stated = old.of_unlabelled, old.manager != new.manager, new.from_manager
    rows: tuple[tuple[bool, str, str], ...] = (
        (
            not changes and old.devices != new.devices,
            "fabric.devices",
            f"{old.devices} → {new.devices}: all nodes at once, whatever pods have NICs",
        ),
        (
            changes and stated is None and not _BY_CLAIMS.isdisjoint({old.manager, new.manager}),
            "fabric.manager",
            f"{old.manager} → {new.manager}: all nodes at once, without upgrade.fromManager",
        ),
        (
            # A change that is over may begin again from the manager that all nodes then have.
            stated not in (None, home) and (changes or stated != new.manager),
            "upgrade.fromManager",
            f"it is {stated}, and nodes without the label {WAY_LABEL} have {home}",
        ),
        (
            changes and stated is not None and old.from_manager is None,
            "upgrade",
            f"{old.manager} does not choose its nodes by the label {WAY_LABEL} yet",
        ),
    )
    return next((OwnerStep(key=key, why=f"{key}: {why}") for is_so, key, why in rows if is_so), None)


def _evicts_more(old: int | None, new: int | None) -> bool:
    return new is not None and (old is None or new < old)


def _new_programs(old: Software, new: Software) -> Iterator[Program]:
    """Programs whose image or command is new, each once.

    Of the catalog's images only the registry counts, since their versions are the release line's; the command of a pod
    that comes with an operator is empty here.
    """
    seen = {_origin(program) for program in old.programs}
    commands = {"", *(command for _, _, command in seen)}
    for program in new.programs:
        registry, image, command = origin = _origin(program)
        is_known = not image and command in commands and registry in ("", *old.registries)
        if origin not in seen and not is_known:
            seen.add(origin)
            yield program


def _origin(program: Program) -> tuple[str, str, str]:
    """What distinguishes programs: for an image of the catalog the mirror, for any other the image; and the command."""
    # A record has digests of long texts.
    command = digest_long_texts(program.command)
    for reference in _catalog_images():
        if program.image == reference:
            return "", "", command
        if program.image.endswith(path := f"/{reference.partition('/')[2]}"):
            return program.image.removesuffix(path), "", command
    return "", program.image, command


@cache
def _catalog_images() -> tuple[str, ...]:
    """All images that the stack's own pods have by default, in any release line: with the digest, and without it.

    Records of earlier versions have none.
    """
    known = catalog()
    lines = known.releases.values()
    standalone = {entry.image.reference for line in lines for entry in line.standalone.values() if entry.image}
    named = standalone | {line.images.image(name).reference for line in lines for name in line.images.names}
    return tuple(sorted(named | {known.pinned(reference) for reference in named}))


def _versions(old: Software, new: Software) -> Iterator[VersionStep]:
    """Versions that go back, and release lines that leave out lines of the vendor."""
    order = catalog().upgrades.lines
    both = [(name, old.charts[name], version) for name, version in new.charts.items() if name in old.charts]
    back = [VersionStep(resource=name, old=one, new=other) for name, one, other in both if _is_back(one, other)]
    back += [
        VersionStep(resource=name, old=old.drivers[name], new=tag)
        for name, tag in new.drivers.items()
        if name in old.drivers and _is_back(old.drivers[name], tag)
    ]
    skipped = {
        name: catalog().upgrades.skipped(name, one, other)
        for name, one, other in both
        if name in OF_THE_VENDOR and {vendor_line(one), vendor_line(other)} <= set(order[name].order)
    }
    left_out = tuple(f"{name} {', '.join(lines)}" for name, lines in skipped.items() if lines)
    if _is_back(old.release_line, new.release_line) or left_out:
        # One line has all versions, so that they need no acknowledgement of their own.
        yield VersionStep(
            resource=LINE,
            old=old.release_line,
            new=new.release_line,
            left_out=left_out,
            also=tuple(step.words[0] for step in back),
        )
    else:
        yield from back


def _is_back(old: str, new: str) -> bool:
    """Whether a version is lower, number by number; a suffix of only one of them does not count, nor does a digest."""
    before, after = (
        [] if version.startswith("sha256:") else [int(number) for number in re.findall(r"[0-9]+", version)]
        for version in (old, new)
    )
    both = min(len(before), len(after))
    return after[:both] < before[:both]


def eviction(found: SoftwareDiff) -> str:
    """When waves evict the jobs on a node, before and after."""
    assert found.evicts_after is not None, "the caller has looked"
    before = "never" if found.evicted_after is None else f"after {quantity(found.evicted_after, 'minute')}"
    return f"{before} → after {quantity(found.evicts_after, 'minute')}"


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
