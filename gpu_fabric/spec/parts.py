"""The sections of a split stack: a platform stack inherits `cluster`, a cluster stack has no platform sections."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gpu_fabric.findings import ConfigurationError, Finding, finding
from gpu_fabric.spec.places import dotted
from gpu_fabric.spec.stack_text import StackDocument

CLUSTER_SECTION, SPLIT_SECTION = "cluster", "split"
PLATFORM_SECTIONS = ("fabric", "fabrics", "software", "verification", "monitoring")
"""Sections about what runs on a cluster."""

# A stack of part cluster is planned with an unused fabric; the model that needs no further keys depends on the cloud.
_UNUSED_FABRIC: dict[str, dict[str, Any]] = {"oke": {"model": "host-network"}}
_PLACE = dotted((SPLIT_SECTION, "clusterStack"))

Read = Callable[[str, Path], tuple[StackDocument, tuple[Finding, ...]]]
"""Reads a stack's document by its name, with all of its problems."""


class Joined(NamedTuple):
    """The sections to plan, and the problems between a stack file and its other part."""

    sections: dict[str, Any]
    problems: tuple[Finding, ...] = ()


def part_of(sections: Mapping[str, Any]) -> str:
    """The part that a stack file configures; `all` if it has no valid `split`."""
    split = sections.get(SPLIT_SECTION)
    return str(split.get("part", "all")) if isinstance(split, dict) else "all"


def cluster_stack_of(sections: Mapping[str, Any]) -> str | None:
    """The cluster stack that a platform's file names; None for other parts and without a name."""
    named = sections[SPLIT_SECTION].get("clusterStack") if part_of(sections) == "platform" else None
    return named if isinstance(named, str) and named else None


def cluster_stack_findings(file: str, found: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """The problems of the cluster stack's file, as findings of the platform stack."""
    return tuple(
        finding("SPL002", _PLACE, f"{file}: {f'{entry.path}: ' if entry.path else ''}{entry.message}", entry.remedy)
        for entry in found
    )


def joined(document: StackDocument, read: Read) -> Joined:
    """A document's sections, completed from its other part.

    A platform gets the section `cluster` even if that is invalid, so that further problems can be reported.
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
        tuple(finding("SPL003", dotted((name,))) for name in written),
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
        return Joined(own, (*problems, *cluster_stack_findings(error.file, error.findings)))
    if part_of(other.sections) != "cluster":
        message = f"{other.file} is not a stack of part cluster"
        remedy = f"write gpu-fabric:split: {{part: cluster}} in {other.file}, or name another stack"
        return Joined(own, (*problems, finding("SPL002", _PLACE, message, remedy)))
    whole = {**own, CLUSTER_SECTION: other.sections.get(CLUSTER_SECTION)}
    return Joined(whole, (*problems, *cluster_stack_findings(other.file, wrong)))
