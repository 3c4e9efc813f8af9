"""Name lists in NCCL's syntax, as in NCCL_IB_HCA and NCCL_SOCKET_IFNAME."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self


def exact_note(values: Iterable[str], before: str = "") -> str:
    """What a reader of `NAME==eth0` must know, after some text; empty where no value begins so."""
    first = next((value for value in values if value.startswith("=")), None)
    return (
        "" if first is None else f"{before}{first!r} begins with = and so is that name alone, not what begins like it"
    )


@dataclass(frozen=True)
class NameList:
    """A list: `^` excludes the names, `=` requires exact names; without `=`, each entry is a prefix.

    Both are written once, before the whole list. A name may be followed by a port and more, after colons (source: NCCL
    manual, NCCL_IB_HCA and NCCL_SOCKET_IFNAME).
    """

    names: tuple[str, ...]
    exact: bool
    others: bool

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a list such as `=mlx5_0,mlx5_1:1`, `^docker`, `^=eth1` or `mlx5`."""
        others = text.startswith("^")
        rest = text.removeprefix("^")
        entries = rest.removeprefix("=").split(",")
        names = tuple(entry.partition(":")[0] for entry in entries if entry)
        return cls(names, rest.startswith("="), others)

    def takes(self, name: str) -> bool:
        """Whether the list selects a device or interface of this name."""
        return self.others != any(self.matches(entry, name) for entry in self.names)

    def matches(self, entry: str, name: str) -> bool:
        """Whether one entry of the list matches a name."""
        return name == entry if self.exact else name.startswith(entry)
