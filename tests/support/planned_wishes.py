"""What stack files may ask of the address planner, drawn at random; and the plans that it gives."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address
from typing import Any, NamedTuple

from hypothesis import HealthCheck, assume, event, settings
from hypothesis import strategies as st

from gpu_fabric.plan.addresses import AddressDemand, AddressPlan, Refusal, plan_addresses
from gpu_fabric.spec.addressing import AddressingSpec
from gpu_fabric.spec.cluster import AddressRangesSpec

# About half of all wishes can be planned, which is a fair number to pass over.
_CHECKS = [HealthCheck.filter_too_much, HealthCheck.too_slow]
few = settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=_CHECKS)
more = settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=_CHECKS)

NO_RANGES = AddressRangesSpec()


class Wish(NamedTuple):
    """What a stack file asks for."""

    section: dict[str, Any]
    demand: AddressDemand

    @property
    def addressing(self) -> AddressingSpec:
        return AddressingSpec.model_validate(self.section)

    def with_nodes(self, nodes: int) -> Wish:
        names = tuple(f"gpu-{node}" for node in range(nodes)) if self.demand.node_names else ()
        return Wish(self.section, self.demand.model_copy(update={"nodes": nodes, "node_names": names}))

    def with_rails(self, rails: int) -> Wish:
        return Wish(self.section, self.demand.model_copy(update={"rails": rails}))

    def changed(self, **section: Any) -> Wish:
        return Wish({**self.section, **section}, self.demand)

    def plan(self, ranges: AddressRangesSpec = NO_RANGES) -> AddressPlan | Refusal:
        return plan_addresses(self.addressing, ranges, self.demand)


LAYOUTS = [
    ("flat", "nv-ipam"),
    ("flat", "whereabouts"),
    ("flat", "spiderpool"),
    ("per-rail", "nv-ipam"),
    ("per-rail", "whereabouts"),
    ("per-rail", "spiderpool"),
    ("per-node", "nv-ipam"),
    ("per-node", "spiderpool"),
]


@st.composite
def exclusions(draw: st.DrawFn, base: int, span: int, version: int) -> list[str]:
    """Addresses, ranges and networks inside the first part of a supernet, where the nodes are."""
    found = []
    for _ in range(draw(st.integers(0, 3))):
        first = base + draw(st.integers(0, min(span, 1 << 10) - 1))
        last = min(first + draw(st.sampled_from([0, 0, 1, 5, 31, 300])), base + span - 1)
        low, high = (_text(version, first), _text(version, last))
        found.append(low if low == high else f"{low}-{high}")
    return found


def _text(version: int, value: int) -> str:
    return str(IPv4Address(value) if version == 4 else IPv6Address(value))


@st.composite
def wishes(
    draw: st.DrawFn, *, small: bool = False, most: int = 300, layouts: Sequence[tuple[str, str]] = LAYOUTS
) -> Wish:
    """What stack files ask for; about half of it can be planned. Small ones fill up within some hundred nodes."""
    layout, ipam = draw(st.sampled_from(layouts))
    version = draw(st.sampled_from([4, 4, 6]))
    longest = 32 if version == 4 else 128
    base = 10 << 24 if version == 4 else 0xFD00_0010 << 96
    lengths = {4: st.integers(8, 30), 6: st.sampled_from([32, 48, 56, 60, 64, 96, 112, 120])}
    length = draw(st.integers(longest - 12, longest - 3) if small else lengths[version])
    rails = draw(st.sampled_from([1, 2, 3, 4, 8, 12, 16]))
    nodes = draw(st.one_of(st.integers(1, 20), st.integers(1, 20), st.integers(1, most)))
    section: dict[str, Any] = {
        "layout": layout,
        "supernet": f"{_text(version, base)}/{length}",
        "ipam": ipam,
        "exclude": draw(exclusions(base, 1 << (longest - length), version)),
    }
    optional = {
        "gateway": st.sampled_from(["first", "last"]),
        "reservedFirst": st.sampled_from([1, 2, 16]),
        "reservedLast": st.sampled_from([1, 3]),
        "spareNodes": st.integers(1, 40),
        "surgeNodes": st.integers(1, 8),
        "prefixLength": st.integers(length, min(length + 12, longest - 1)),
        "railSlots": st.sampled_from([1, 4, 8, 16, 20]),
        "addressesPerNode": st.sampled_from([1, 2, 4, 16, 17, 100]),
        "growthStep": st.sampled_from([4, 32]),
        "firstRailSlot": st.sampled_from([1, 3, 11]),
    }
    if layout == "per-node":
        optional["nodePrefixLength"] = st.integers(min(length + 1, longest), longest)
    for name in draw(st.lists(st.sampled_from(sorted(optional)), max_size=3, unique=True)):
        section[name] = draw(optional[name])
    names = tuple(f"gpu-{node}" for node in range(nodes)) if draw(st.booleans()) else ()
    demand = AddressDemand(
        layout=layout,
        ipam=ipam,
        rails=rails,
        addresses_per_nic=draw(st.sampled_from([1, 1, 1, 2, 4, 28])),
        nodes=nodes,
        node_names=names,
        smallest_block=draw(st.sampled_from([1, 1, 2])),
        passes_over=draw(st.booleans()),
    )
    return Wish(section, demand)


def accepted(wish: Wish) -> AddressPlan:
    plan = wish.plan()
    event(f"{wish.demand.layout}: {'refused' if isinstance(plan, Refusal) else 'planned'}")
    assume(isinstance(plan, AddressPlan))
    assert isinstance(plan, AddressPlan)
    return plan
