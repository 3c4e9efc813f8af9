"""Several fabrics: pools, NICs and ranges that two of them have, and nodes that nothing tells apart."""

from __future__ import annotations

from collections.abc import Iterator

from negative.base import Base
from negative.mistake import Kind, Mistake


def _names(base: Base) -> list[str]:
    """The further fabrics of a stack; none in most."""
    return list(base.at("fabrics") or {})


def _unknown_pools(base: Base) -> Iterator[Mistake]:
    for name in _names(base):
        for pool in ("missing", "h10"):
            yield Mistake({f"fabrics.{name}.pools": [pool]}, f"fabrics.{name}.pools[0]")


def _pools_twice(base: Base) -> Iterator[Mistake]:
    for name in _names(base):
        if base.at(f"fabrics.{name}.purpose") is None:
            pools = base.at(f"fabrics.{name}.pools")
            yield Mistake({"fabrics.other": {"pools": pools}}, "fabrics.other.pools[0]")


def _overlapping_ranges(base: Base) -> Iterator[Mistake]:
    for name in _names(base):
        path = f"fabrics.{name}.addressing.supernet"
        for supernet in (base.addressing("supernet"), "172.16.0.0/12"):
            yield Mistake({path: supernet}, path)


KINDS = (
    Kind("a fabric has a pool that there is not", "FAB001", _unknown_pools),
    Kind("a pool is in two compute fabrics", "FAB002", _pools_twice),
    Kind("the ranges of two fabrics overlap", "FAB006", _overlapping_ranges),
)  # fmt: skip
