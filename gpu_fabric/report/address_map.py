"""The supernet as bars: the range of each pool, and in each pool the used, kept, reserved and free addresses.

Positions and lengths are fractions of the bar's `WIDTH`, so that 2^64 addresses are drawn like 64.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count, islice

from gpu_fabric.plan import Plan
from gpu_fabric.plan.addresses import AddressPlan, AddressPool
from gpu_fabric.plan.addresses.plan import AddressSpace, Run
from gpu_fabric.report.content import number_text

WIDTH = 1000.0
_SMALLEST = 3.0
# Stretches less than a pixel apart are drawn as one.
_NEAR = 1.0


@dataclass(frozen=True)
class Stretch:
    """A part of a bar; `kind` is `used`, `kept` or `reserved`."""

    kind: str
    x: float
    width: float


@dataclass(frozen=True)
class PoolBar:
    """A pool's bar, and its counts as text; the counts add up to the pool's size."""

    name: str
    range: str
    x: float
    width: float
    stretches: tuple[Stretch, ...]
    used: str
    kept: str
    reserved: str
    free: str
    hint: str


@dataclass(frozen=True)
class AddressMap:
    """The supernet with its pools; `outside` is the number of addresses outside all pools."""

    supernet: str
    pools: tuple[PoolBar, ...]
    outside: str


def address_map(plan: Plan) -> AddressMap | None:
    """The map of a plan; None if it plans no addresses."""
    addresses = plan.addresses
    supernet = addresses.supernet
    if supernet is None:
        return None
    whole = (int(supernet.network_address), int(supernet.broadcast_address))
    bars = tuple(_bar(addresses, pool, whole) for pool in addresses.pools)
    pools = AddressSpace.of(_bounds(pool) for pool in addresses.pools)
    return AddressMap(str(supernet), bars, number_text(supernet.num_addresses - pools.count))


def _bar(addresses: AddressPlan, pool: AddressPool, supernet: Run) -> PoolBar:
    bounds = _bounds(pool)
    numbers = addresses.numbers
    used = _held(pool, numbers)
    extra = tuple(_next_numbers(numbers, addresses.proof.wanted - len(numbers)))
    kept = _held(pool, extra)
    # If every node has a prefix, the reserved addresses are inside each prefix, too small to be drawn.
    within = pool.division == "prefixes"
    reserved = _excluded(pool) if within else AddressSpace.of([bounds]).minus(pool.available)
    spare = sum(pool.share(number).count for number in extra)
    counts = {
        "used": pool.needed - spare,
        "kept": spare,
        "reserved": pool.space.num_addresses - pool.usable,
        "free": pool.headroom,
    }
    x, width = _on_bar(bounds, supernet)
    words = {kind: number_text(value) for kind, value in counts.items()}
    counted = ", ".join(f"{words[kind]} {name}" for kind, name in KINDS.items() if counts[kind])
    return PoolBar(
        name=pool.name,
        range=str(pool.space),
        x=x,
        width=width,
        stretches=tuple(
            stretch
            for kind, space in (("reserved", reserved), ("used", used), ("kept", kept))
            for stretch in _stretches(kind, space, bounds)
        ),
        hint=f"{pool.name} {pool.space}: {counted}",
        **words,
    )


KINDS = {"used": "used by nodes", "kept": "kept for spare and surge nodes", "reserved": "reserved", "free": "free"}
"""The meaning of the stretches of a bar, in the order of the legend."""


def _held(pool: AddressPool, numbers: Iterable[int]) -> AddressSpace:
    """The addresses that shares cover; a prefix is covered completely, including its gateway."""
    if pool.node_prefix_length is not None:
        return AddressSpace.of(map(pool.bounds, numbers))
    return AddressSpace.of(run for number in numbers for run in pool.share(number).runs)


def _excluded(pool: AddressPool) -> AddressSpace:
    return AddressSpace.of((int(span.first), int(span.last)) for span in pool.excluded).clipped(*_bounds(pool))


def _next_numbers(taken: Iterable[int], wanted: int) -> Iterator[int]:
    held = set(taken)
    return islice((number for number in count() if number not in held), wanted)


def _bounds(pool: AddressPool) -> Run:
    return int(pool.space.network_address), int(pool.space.broadcast_address)


def _on_bar(run: Run, whole: Run) -> tuple[float, float]:
    size = whole[1] - whole[0] + 1
    return round((run[0] - whole[0]) / size * WIDTH, 2), round((run[1] - run[0] + 1) / size * WIDTH, 2)


def _stretches(kind: str, space: AddressSpace, whole: Run) -> Iterator[Stretch]:
    """The runs of a kind: close runs are joined, and thin runs widened to be visible."""
    joined: list[tuple[float, float]] = []
    for run in space.runs:
        x, width = _on_bar(run, whole)
        if joined and x - sum(joined[-1]) < _NEAR:
            joined[-1] = (joined[-1][0], round(x + width - joined[-1][0], 2))
        else:
            joined.append((x, width))
    for x, width in joined:
        wide = max(width, _SMALLEST)
        yield Stretch(kind, round(min(x, WIDTH - wide), 2), wide)
