"""The supernet as bars: which part is which pool's, and within each pool what is used, kept for nodes, reserved, free.

Places and lengths are parts of the bar's `WIDTH`, so that 2^64 addresses are drawn like 64.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count, islice

from fabric.plan import Plan
from fabric.plan.addresses import AddressPlan, AddressPool
from fabric.plan.addresses.space import AddressSpace, Run
from fabric.report_content import number_text

WIDTH = 1000.0
_SMALLEST = 3.0
# Two stretches that are nearer than a pixel are drawn as one.
_NEAR = 1.0


@dataclass(frozen=True)
class Stretch:
    """A part of a bar; `kind` is `used`, `kept` or `reserved`."""

    kind: str
    x: float
    width: float


@dataclass(frozen=True)
class PoolBar:
    """A pool's bar, and its counts in words; the counts add up to the pool's size."""

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
    """The supernet with its pools; `beside` is what of it no pool has."""

    supernet: str
    pools: tuple[PoolBar, ...]
    beside: str


def address_map(plan: Plan) -> AddressMap | None:
    """The map of a plan; None where it plans no addresses."""
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
    # Where every node has a prefix, what is reserved lies within each of them, too fine to be drawn.
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
    told = ", ".join(f"{words[kind]} {name}" for kind, name in KINDS.items() if counts[kind])
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
        hint=f"{pool.name} {pool.space}: {told}",
        **words,
    )


KINDS = {"used": "used by nodes", "kept": "kept for spare and surge nodes", "reserved": "reserved", "free": "free"}
"""What the stretches of a bar mean, in the order of the legend."""


def _held(pool: AddressPool, numbers: Iterable[int]) -> AddressSpace:
    """What shares cover: of a prefix all of it, gateway included."""
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
    """The runs of a kind, near ones as one, none too thin to be seen."""
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
