"""PCI trees in the catalog's notation.

`XX` is a bridge at bus XX, `>` leads to what hangs below it, `( , )` holds siblings, `NXX` is the RDMA NIC at bus XX,
`Gk` is GPU k, `*` marks a bridge of the GPU board, and `;` stands between several root ports, as in
`08>(0d>G0,0a>N0c);26>G1`. A bus XX stands for 0000:XX:00.0; any other address is written out: `0000:02:04.0>G0`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

_ADDRESS = r"(?:[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]|[0-9a-f]{2})"
_TOKEN = re.compile(rf"G\d{{1,3}}|N{_ADDRESS}|{_ADDRESS}\*?|[>(),;]")
_DEEPEST = 16
"""Levels of a tree: twice as many as the linter of topology files lets pass."""


@dataclass(frozen=True)
class Bridge:
    """A PCI bridge, with what hangs below it."""

    address: str
    gpu_board: bool
    children: tuple[Bridge | NicLeaf | GpuLeaf, ...]


@dataclass(frozen=True)
class NicLeaf:
    """An RDMA adapter, with all its ports."""

    address: str


@dataclass(frozen=True)
class GpuLeaf:
    """GPU by its number in the shape."""

    index: int


Branch = Bridge | NicLeaf | GpuLeaf


@lru_cache(maxsize=256)
def parse_tree(text: str) -> tuple[Branch, ...]:
    """The roots of a tree.

    Raises:
        ValueError: the text is not in the notation.
    """
    tokens = _TOKEN.findall(text)
    if "".join(tokens) != text:
        raise ValueError(f"{text!r} is no PCI tree; write it like 08>(0d>G0,0a>N0c);26>(2b>G1,28>N2a)")
    position = 0

    def peek() -> str:
        return tokens[position] if position < len(tokens) else ""

    def take(expected: str | None = None) -> str:
        nonlocal position
        token = peek()
        if not token or (expected is not None and token != expected):
            read = "".join(tokens[:position])
            raise ValueError(f"{text!r} is no PCI tree; expected {expected or 'a bus'} after {read!r}")
        position += 1
        return token

    def below(depth: int) -> tuple[Branch, ...]:
        if peek() != "(":
            return (element(depth),)
        take("(")
        elements = [element(depth)]
        while peek() == ",":
            take(",")
            elements.append(element(depth))
        take(")")
        return tuple(elements)

    def element(depth: int) -> Branch:
        token = take()
        if token.startswith("N"):
            return NicLeaf(_full(token[1:]))
        if token.startswith("G"):
            return GpuLeaf(int(token[1:]))
        take(">")
        if depth == _DEEPEST:
            raise ValueError(f"{text!r} is no PCI tree; it has more than {_DEEPEST} levels")
        return Bridge(_full(token.rstrip("*")), token.endswith("*"), below(depth + 1))

    roots = [element(1)]
    while peek() == ";":
        take(";")
        roots.append(element(1))
    if peek():
        raise ValueError(f"{text!r} is no PCI tree; {peek()!r} stands after its end")
    return tuple(roots)


def branches(roots: Sequence[Branch], above: tuple[Bridge, ...] = ()) -> Iterator[tuple[Branch, tuple[Bridge, ...]]]:
    """Every element of a tree in its order, each with the bridges above it from the root on."""
    for root in roots:
        yield root, above
        if isinstance(root, Bridge):
            yield from branches(root.children, (*above, root))


def adapter_of(address: str) -> str:
    """The part of a PCI address that all functions of an adapter share: domain, bus and device."""
    return address.rpartition(".")[0]


def _full(written: str) -> str:
    return written if ":" in written else f"0000:{written}:00.0"
