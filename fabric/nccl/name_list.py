"""Lists of names as NCCL writes them, in NCCL_IB_HCA and NCCL_SOCKET_IFNAME."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True)
class NameList:
    """A list: `^` leaves out what it names, `=` makes every name a whole one, else each is the beginning of names.

    Both stand once, before the whole list. A name may be followed by a port and more, after colons (source: NCCL
    manual, NCCL_IB_HCA and NCCL_SOCKET_IFNAME).
    """

    names: tuple[str, ...]
    exact: bool
    others: bool

    @classmethod
    def parse(cls, text: str) -> Self:
        """`=mlx5_0,mlx5_1:1`, `^docker`, `^=eth1`, `mlx5`."""
        others = text.startswith("^")
        rest = text.removeprefix("^")
        entries = rest.removeprefix("=").split(",")
        names = tuple(entry.partition(":")[0] for entry in entries if entry)
        return cls(names, rest.startswith("="), others)

    def takes(self, name: str) -> bool:
        """Whether the list takes a device or interface of this name."""
        return self.others != any(self.matches(entry, name) for entry in self.names)

    def matches(self, entry: str, name: str) -> bool:
        """Whether one entry of the list stands for a name."""
        return name == entry if self.exact else name.startswith(entry)
