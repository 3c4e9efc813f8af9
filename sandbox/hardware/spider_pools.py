"""Address pools beside each other, as Spiderpool's webhook compares them: pure functions on whole numbers."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]
Span = tuple[int, int]
"""First and last address as numbers, both included."""


@dataclass(frozen=True)
class Extent:
    """What a pool covers: its subnet, as text and as numbers, and the spans of `ips` without `excludeIPs`, sorted."""

    subnet: str
    version: int
    whole: Span
    spans: tuple[Span, ...]

    def clash(self, other: Extent) -> str | None:
        """Why the other pool cannot be there, too; None where it can.

        Pools of one subnet share it out; different subnets keep apart, whatever their ranges.
        """
        if self.version != other.version or not _overlap(self.whole, other.whole):
            return None
        if self.subnet != other.subnet:
            return f"subnet {self.subnet} overlaps subnet {other.subnet}"
        common = next(iter(_common(self.spans, other.spans)), None)
        return None if common is None else f"{_text(common, self.version)} would be in both"


def extent_of(spec: Mapping[str, Any]) -> Extent:
    """The extent of a pool's spec. Raises ValueError, or KeyError without a subnet, where it cannot be read."""
    network = ipaddress.ip_network(spec["subnet"])
    allowed, excluded = (_spans(spec.get(field) or ()) for field in ("ips", "excludeIPs"))
    return Extent(
        subnet=spec["subnet"],
        version=network.version,
        whole=(int(network.network_address), int(network.broadcast_address)),
        spans=tuple(_without(allowed, excluded)),
    )


@dataclass(frozen=True)
class _Entry:
    """A pool as it was last read, and its addresses; None for one that was created while the webhook did not run."""

    pool: Object
    low: int
    high: int
    extent: Extent | None


class PoolBook:
    """The extents of all pools, each read once: a cluster has a pool for each node and rail."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}

    def clash(self, name: str, extent: Extent, pools: Mapping[str, Object]) -> str | None:
        """Why a pool cannot be there beside the others; one of the same name is itself."""
        entries, (low, high) = self._entries, extent.whole
        for other, pool in pools.items():
            entry = entries.get(other)
            if entry is None or entry.pool is not pool:
                entry = entries[other] = _entry(pool, entry)
            # few come further: with thousands of pools this line is what the check takes
            if entry.low > high or entry.high < low or other == name or entry.extent is None:
                continue
            if reason := extent.clash(entry.extent):
                return f"{reason} (pool {other})"
        return None


def _entry(pool: Object, before: _Entry | None) -> _Entry:
    if before is not None and before.pool["spec"] == pool["spec"]:
        return _Entry(pool, before.low, before.high, before.extent)
    try:
        extent = extent_of(pool["spec"])
    except (ValueError, KeyError):
        return _Entry(pool, 0, -1, None)
    return _Entry(pool, *extent.whole, extent)


def _spans(ranges: Iterable[str]) -> list[Span]:
    spans = []
    for text in ranges:
        first, _, last = text.partition("-")
        spans.append((int(ipaddress.ip_address(first)), int(ipaddress.ip_address(last or first))))
    return sorted(spans)


def _without(spans: Iterable[Span], excluded: Iterable[Span]) -> Iterable[Span]:
    for first, last in spans:
        for low, high in excluded:
            if high < first or low > last:
                continue
            if low > first:
                yield first, low - 1
            first = high + 1
        if first <= last:
            yield first, last


def _overlap(one: Span, other: Span) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]


def _common(one: Iterable[Span], other: Iterable[Span]) -> Iterable[Span]:
    others = tuple(other)
    return ((max(a[0], b[0]), min(a[1], b[1])) for a in one for b in others if _overlap(a, b))


def _text(span: Span, version: int) -> str:
    of = ipaddress.IPv4Address if version == 4 else ipaddress.IPv6Address
    first, last = (str(of(end)) for end in span)
    return first if first == last else f"{first}-{last}"
