"""The section `split`: files of two stacks that do not go together."""

from __future__ import annotations

from collections.abc import Iterator

from negative.base import Base
from negative.mistake import Kind, Mistake, provided_by, written

_PLATFORM_SECTIONS = ("fabric", "software", "verification")
_CLUSTER, _PLATFORM = {"part": "cluster"}, {"part": "platform", "clusterStack": "nowhere"}
_made_by_a_cloud = provided_by("doks", "oke")


def _a_fabric_beside_the_cluster(base: Base) -> Iterator[Mistake]:
    if _made_by_a_cloud(base):
        yield from (Mistake({"split": _CLUSTER}, section) for section in _PLATFORM_SECTIONS if base.has(section))


def _nothing_to_make(base: Base) -> Iterator[Mistake]:
    if not _made_by_a_cloud(base):
        without = {section: None for section in _PLATFORM_SECTIONS if base.has(section)}
        yield Mistake({"split": _CLUSTER, **without}, "split.part")


def _both_describe_it(_base: Base) -> Iterator[Mistake]:
    yield Mistake({"split": _PLATFORM}, "cluster")


def _nobody_makes_it(_base: Base) -> Iterator[Mistake]:
    yield Mistake({"split": _PLATFORM}, "split.clusterStack")


KINDS = (
    Kind("a cluster stack describes what lies on it", "SPL003", _a_fabric_beside_the_cluster),
    Kind("a cluster stack is for a cluster that exists", "SPL004", _nothing_to_make),
    Kind("a platform describes its cluster as well", "SPL001", _both_describe_it),
    Kind("a platform names a stack that has no file", "SPL002", _nobody_makes_it),
    Kind("a platform names no cluster stack", "SPC002", written("split", {"part": "platform"})),
)  # fmt: skip
