"""Locations in a stack file, and their dotted paths."""

from __future__ import annotations

from collections.abc import Iterable

NAMESPACE = "gpu-fabric"

Location = tuple[int | str, ...]
"""The keys and list positions that lead to a value."""


def dotted(location: Location) -> str:
    """`("cluster", "pools", 0, "nodes")` as `gpu-fabric:cluster.pools[0].nodes`."""
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return f"{NAMESPACE}:{text.lstrip('.')}"


def within(place: Location, parent: Location) -> bool:
    """Whether a location is inside another one."""
    return len(place) > len(parent) and place[: len(parent)] == parent


def innermost(places: Iterable[Location]) -> list[Location]:
    """The locations without repetitions and without those that contain another one; in linear time."""
    found = dict.fromkeys(places)
    around = {place[:end] for place in found for end in range(len(place))}
    return [place for place in found if place not in around]


def printable(name: str) -> str:
    """A file's name as text; bytes that are not valid UTF-8 are shown by their numbers."""
    return name.encode("utf-8", "backslashreplace").decode()


def within_section(path: str, section: str) -> bool:
    """Whether a dotted path is a section of the file, or is inside it."""
    return within_place(path, (section,))


def within_place(path: str, place: Location) -> bool:
    """Whether a dotted path is a location of the file, or is inside it."""
    whole = dotted(place)
    return path == whole or path.startswith((f"{whole}.", f"{whole}["))
