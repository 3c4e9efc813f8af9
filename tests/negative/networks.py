"""Networks and addresses that are none, and ranges that the fabric must not have."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_network

from negative.base import Base
from negative.mistake import Kind, Mistake, together, written, written_below

_AT = "fabric.addressing"
_NETWORKS = (f"{_AT}.supernet", "cluster.ranges.pods", "cluster.ranges.services", "cluster.ranges.nodes")


def _in_use(base: Base) -> list[tuple[str, str]]:
    """The cluster's own ranges, each with its place."""
    ranges = [(f"cluster.ranges.{key}", base.at(f"cluster.ranges.{key}")) for key in ("pods", "services", "nodes")]
    return [(place, text) for place, text in ranges if text]


def _supernet_takes_a_range(base: Base) -> Iterator[Mistake]:
    if base.supernet is not None:
        for _, text in _in_use(base):
            yield Mistake({f"{_AT}.supernet": text}, f"{_AT}.supernet")


def _supernet_holds_a_range(base: Base) -> Iterator[Mistake]:
    if base.supernet is not None:
        for _, text in _in_use(base):
            wider = ip_network(text).supernet(prefixlen_diff=3)
            yield Mistake({f"{_AT}.supernet": str(wider)}, f"{_AT}.supernet")


def _range_takes_the_supernet(base: Base) -> Iterator[Mistake]:
    if base.supernet is not None:
        for place, _ in _in_use(base):
            yield Mistake({place: str(base.supernet)}, f"{_AT}.supernet")


def _reserved_lies_in_the_supernet(base: Base) -> Iterator[Mistake]:
    if base.supernet is None:
        return
    longer = base.supernet.max_prefixlen - base.supernet.prefixlen
    first = next(base.supernet.subnets(prefixlen_diff=min(4, longer)))
    last = ip_network((int(base.supernet.broadcast_address), base.supernet.max_prefixlen))
    for others in ([first], [last], ["10.200.0.0/16", base.supernet]):
        yield Mistake({"cluster.ranges.reserved": [str(other) for other in others]}, f"{_AT}.supernet")


def _outside(base: Base) -> Iterator[Mistake]:
    """Excluded addresses that lie beside the supernet, or reach out of it."""
    supernet = base.supernet
    if supernet is None:
        return
    past = supernet.broadcast_address + 1
    place = f"{_AT}.exclude"
    yield Mistake({place: [str(past)]}, f"{place}[0]")
    yield Mistake({place: [f"{supernet.broadcast_address}-{past}"]}, f"{place}[0]")
    yield Mistake({place: [str(supernet.supernet())]}, f"{place}[0]")
    other = "fd00:99::1" if supernet.version == 4 else "192.168.0.1"
    yield Mistake({place: [str(supernet.broadcast_address - 1), other]}, f"{place}[1]")


KINDS = (
    Kind("a network has host bits", "SPC002", together(
        written(f"{_AT}.supernet", "192.168.0.1/16", "172.16.5.0/16", "fd00:10::1/48"),
        written("cluster.ranges.pods", "10.244.0.1/16", "10.244.1.0/16"),
        written("cluster.ranges.services", "10.96.0.10/16"),
        written("cluster.ranges.nodes", "10.0.0.1/8"),
        written_below("cluster.ranges.reserved", "[1]", ["172.20.0.0/16", "172.21.0.1/16"]))),
    Kind("a network has no prefix length", "SPC002", together(
        *(written(place, "192.168.0.0", "fd00:10::") for place in _NETWORKS),
        written_below("cluster.ranges.reserved", "[0]", ["172.20.0.0"]))),
    Kind("a network has an impossible prefix length", "SPC002",
        together(*(written(place, "192.168.0.0/33", "fd00:10::/129", "10.0.0.0/-8") for place in _NETWORKS))),
    Kind("a network is spelt as none", "SPC002",
        together(*(written(place, "192.168.0/16", "192.168.0.256/24", "auto/16", "fd00::10::/48")
            for place in _NETWORKS))),
    Kind("a network is written as a range of addresses", "SPC002",
        together(*(written(place, "192.168.0.0-192.168.255.255") for place in _NETWORKS))),
    Kind("excluded addresses run backwards", "SPC002", together(
        written_below(f"{_AT}.exclude", "[0]", ["192.168.0.20-192.168.0.10"], ["fd00:10::9-fd00:10::1"]),
        written_below(f"{_AT}.exclude", "[1]", ["192.168.0.1", "192.168.0.9-192.168.0.8"]))),
    Kind("excluded addresses are of two families", "SPC002",
        written_below(f"{_AT}.exclude", "[0]", ["192.168.0.1-fd00:10::1"], ["fd00:10::1-192.168.0.1"])),
    Kind("excluded addresses are no addresses", "SPC002", together(
        written_below(f"{_AT}.exclude", "[0]", ["192.168.0.10-20"], ["gateway"], ["192.168.0.10/24"], [""]),
        written_below(f"{_AT}.exclude", "[1]", ["192.168.0.10", "192.168.0.1 192.168.0.2"]))),
    Kind("excluded addresses lie outside the supernet", "ADR010", _outside),
    Kind("the supernet is a range in use", "ADR002", _supernet_takes_a_range),
    Kind("the supernet holds a range in use", "ADR002", _supernet_holds_a_range),
    Kind("a range in use is the supernet", "ADR002", _range_takes_the_supernet),
    Kind("a reserved range lies in the supernet", "ADR002", _reserved_lies_in_the_supernet),
)  # fmt: skip
