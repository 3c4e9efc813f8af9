"""The sections of a stack that is one of two: a platform's have its cluster stack's, a cluster's have no platform."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fabric.rules import ConfigurationError, Finding, finding
from fabric.spec.places import dotted

if TYPE_CHECKING:
    from fabric.spec.load import StackDocument

CLUSTER_SECTION, SPLIT_SECTION = "cluster", "split"
PLATFORM_SECTIONS = ("fabric", "software", "verification")
"""What only lies on a cluster."""

# A cluster by itself is planned as one whose fabric nobody uses; which manager needs nothing for that is the cloud's.
_UNUSED_FABRIC: dict[str, dict[str, Any]] = {"oke": {"model": "host-network"}}
_PLACE = dotted((SPLIT_SECTION, "clusterStack"))

Read = Callable[[str, Path], "tuple[StackDocument, tuple[Finding, ...]]"]
"""How to get at a stack's document by its name, with everything that is wrong in it."""


class Joined(NamedTuple):
    """Sections as they are planned, and what is wrong with how a stack file and its other part go together."""

    sections: dict[str, Any]
    problems: tuple[Finding, ...] = ()


def part_of(sections: Mapping[str, Any]) -> str:
    """The part that a stack file asks for; `all` where it says nothing that can be read."""
    split = sections.get(SPLIT_SECTION)
    return str(split.get("part", "all")) if isinstance(split, dict) else "all"


def cluster_stack_of(sections: Mapping[str, Any]) -> str | None:
    """The cluster stack that a platform's file names; None for another part, and where it names none."""
    named = sections[SPLIT_SECTION].get("clusterStack") if part_of(sections) == "platform" else None
    return named if isinstance(named, str) and named else None


def of_the_other(file: str, found: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """What is wrong in the cluster stack's file, as a platform says it."""
    return tuple(
        finding("SPL002", _PLACE, f"{file}: {f'{entry.path}: ' if entry.path else ''}{entry.message}", entry.remedy)
        for entry in found
    )


def joined(document: StackDocument, read: Read) -> Joined:
    """A document's sections with what its other part says.

    A platform has its cluster stack's section even where that is faulty, so that more can be said.
    """
    part = part_of(document.sections)
    if part == "cluster":
        return _cluster(document.sections)
    return _platform(document, read) if part == "platform" else Joined(document.sections)


def _cluster(sections: Mapping[str, Any]) -> Joined:
    written = [name for name in PLATFORM_SECTIONS if sections.get(name)]
    cluster = sections.get(CLUSTER_SECTION)
    provider = str(cluster.get("provider")) if isinstance(cluster, dict) else ""
    kept = {name: value for name, value in sections.items() if name not in PLATFORM_SECTIONS}
    return Joined(
        {**kept, "fabric": _UNUSED_FABRIC.get(provider, {})},
        tuple(
            finding(
                "SPL003",
                dotted((name,)),
                "a stack of part cluster makes nothing that lies on the cluster",
                "move this section to the file of the stack with part: platform",
            )
            for name in written
        ),
    )


def _platform(document: StackDocument, read: Read) -> Joined:
    own = {name: value for name, value in document.sections.items() if name != CLUSTER_SECTION}
    named = cluster_stack_of(document.sections)
    problems: tuple[Finding, ...] = ()
    if document.sections.get(CLUSTER_SECTION):
        of = f"the file of stack {named}" if named else "the cluster stack's file"
        problems = (
            finding(
                "SPL001",
                dotted((CLUSTER_SECTION,)),
                f"a stack of part platform takes this section from {of}",
                f"take it out; what is right in it belongs in {of}",
            ),
        )
    if named is None:
        return Joined(own, problems)
    try:
        other, wrong = read(named, document.root)
    except ConfigurationError as error:
        return Joined(own, (*problems, *of_the_other(error.file, error.findings)))
    if part_of(other.sections) != "cluster":
        message = f"{other.file} is not a stack of part cluster"
        remedy = f"write gpu-fabric:split: {{part: cluster}} in {other.file}, or name another stack"
        return Joined(own, (*problems, finding("SPL002", _PLACE, message, remedy)))
    whole = {**own, CLUSTER_SECTION: other.sections.get(CLUSTER_SECTION)}
    return Joined(whole, (*problems, *of_the_other(other.file, wrong)))
