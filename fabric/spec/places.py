"""Places in a stack file, as a user reads them."""

from __future__ import annotations

NAMESPACE = "gpu-fabric"

Location = tuple[int | str, ...]
"""The keys and list positions that lead to a place."""


def dotted(location: Location) -> str:
    """`("cluster", "pools", 0, "nodes")` as `gpu-fabric:cluster.pools[0].nodes`."""
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return f"{NAMESPACE}:{text.lstrip('.')}"


def within(place: Location, parent: Location) -> bool:
    """Whether a place lies inside another one."""
    return len(place) > len(parent) and place[: len(parent)] == parent


def printable(name: str) -> str:
    """A file's name as text, whatever bytes it has: those that are no UTF-8 by their numbers."""
    return name.encode("utf-8", "backslashreplace").decode()


def within_section(path: str, section: str) -> bool:
    """Whether a dotted path is a section of the file, or lies in it."""
    whole = dotted((section,))
    return path == whole or path.startswith((f"{whole}.", f"{whole}["))
