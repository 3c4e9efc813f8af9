"""Address plans that do not fit, cannot be cut, leave a node short, or have keys without effect."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_network
from typing import Any

from negative.base import Base
from negative.mistake import Kind, Mistake

_AT = "fabric.addressing"


def _change(key: str, value: Any, at: str | None = None, **more: Any) -> Mistake:
    """A key of `addressing` with a value, faulty there or at another key, and what else makes the same mistake."""
    changes = {f"{_AT}.{name}": other for name, other in {key: value, **more}.items()}
    return Mistake(changes, f"{_AT}.{at or key}")


def _ipv4(base: Base) -> bool:
    return base.supernet is not None and base.supernet.version == 4


def _pinned(base: Base) -> bool:
    """Whether the file says itself how long the prefix of a rail's subnet is."""
    return bool(base.addressing("prefixLength"))


def _narrow_supernets(base: Base) -> Iterator[Mistake]:
    """The largest supernet that is too small for the nodes, and the next smaller one."""
    if not _ipv4(base) or base.supernet is None or _pinned(base):
        return
    # A subnet as long as a node's prefix is divided into none, which is another mistake.
    longest = int(base.addressing("nodePrefixLength", 31)) - 1
    lengths = [length for length in range(base.supernet.prefixlen + 1, 31) if base.part(length) <= longest]
    for length in [length for length in lengths if base.nodes_in(length) < base.nodes][:2]:
        yield _change("supernet", f"{base.supernet.network_address}/{length}")


def _room(base: Base) -> int | None:
    """How many nodes the stack has addresses for."""
    return base.nodes_in(base.supernet.prefixlen) if _ipv4(base) and base.supernet is not None else None


def _many_nodes(base: Base) -> Iterator[Mistake]:
    room = _room(base)
    if room is not None and room < 8192:
        for nodes in (room + 1, 8192):
            yield Mistake({"cluster.pools[0].nodes": nodes, **base.unnamed}, f"{_AT}.supernet")


def _many_nodes_in_two_pools(base: Base) -> Iterator[Mistake]:
    room = _room(base)
    rest = None if room is None else room - int(base.pool["nodes"])
    # A further fabric names the pool that is replaced here.
    if rest is not None and rest < 8192 and not base.has("fabrics"):
        more = {**base.pool, "name": "more", "nodes": rest + 1}
        yield Mistake({"cluster.pools": [base.pool, more]}, f"{_AT}.supernet")


def _many_spare_nodes(base: Base) -> Iterator[Mistake]:
    room = _room(base)
    if room is not None:
        for key in ("spareNodes", "surgeNodes"):
            yield _change(key, room - base.nodes + 1, "supernet")
        yield _change("spareNodes", (room - base.nodes) // 2 + 1, "supernet", surgeNodes=(room - base.nodes) // 2 + 1)


def _large_shares(base: Base) -> Iterator[Mistake]:
    """Blocks so large that there is not one for each node."""
    if _ipv4(base) and base.supernet is not None and base.ipam == "nv-ipam" and base.layout != "per-node":
        hosts = (1 << (32 - base.part(base.supernet.prefixlen))) - 2
        for share in (hosts // base.nodes + 1, hosts // base.nodes + 100):
            yield _change("addressesPerNode", share, "supernet")


def _much_reserved(base: Base) -> Iterator[Mistake]:
    """So much reserved at the ends that too little is left for all nodes together."""
    if _ipv4(base) and base.supernet is not None and base.ipam != "nv-ipam" and base.layout != "per-node":
        hosts = (1 << (32 - base.part(base.supernet.prefixlen))) - 2
        for key in ("reservedFirst", "reservedLast"):
            yield _change(key, hosts - base.nodes * base.share + 1, "supernet")


def _few_slots(base: Base) -> Iterator[Mistake]:
    if base.supernet is not None and not base.one_pool and not _pinned(base):
        for slots in {slots for slots in (1, 2, 3, base.rails // 2) if slots < base.rails}:
            yield _change("railSlots", slots)
    if base.one_pool and not base.addressing("addressesPerNode"):
        yield _change("railSlots", base.rails - 1)


def _few_subnets(base: Base) -> Iterator[Mistake]:
    """Subnets so large that the supernet does not hold one for each rail."""
    if base.supernet is not None and not base.one_pool:
        rail_bits = (base.rails - 1).bit_length()
        for bits in range(rail_bits):
            yield _change("prefixLength", base.supernet.prefixlen + bits)


def _narrow_for_its_subnets(base: Base) -> Iterator[Mistake]:
    """A supernet that holds fewer subnets of the given length than there are rails."""
    if base.supernet is not None and _pinned(base):
        rail_bits = (base.rails - 1).bit_length()
        for bits in range(rail_bits):
            length = int(base.addressing("prefixLength")) - bits
            yield _change("supernet", f"{base.supernet.network_address}/{length}", "prefixLength")


def _subnet_wider_than_supernet(base: Base) -> Iterator[Mistake]:
    if base.supernet is not None:
        for length in (8, base.supernet.prefixlen - 1):
            yield _change("prefixLength", length)


def _tiny_subnets(base: Base) -> Iterator[Mistake]:
    """Subnets in which no two nodes have room, and lengths that belong to IPv6."""
    if _ipv4(base):
        for length in (32, 48, 64) if base.layout == "per-node" else (31, 32, 64):
            yield _change("prefixLength", length)
    elif base.supernet is not None:
        for length in (127,):
            yield _change("prefixLength", length)


def _tiny_supernets(base: Base) -> Iterator[Mistake]:
    if _ipv4(base) and base.supernet is not None and not base.one_pool and not _pinned(base):
        for length in (28, 29, 32):
            yield _change("supernet", f"{base.supernet.network_address}/{length}")


def _small_shares(base: Base) -> Iterator[Mistake]:
    """Blocks that hold fewer addresses than a full node's pods take."""
    if base.layout in ("flat", "per-rail"):
        need = base.pods_per_nic * (base.rails if base.one_pool else 1)
        for share in {1, need // 2, need - 1}:
            if 0 < share < need:
                yield _change("addressesPerNode", share)


def _prefixes_too_small(base: Base) -> Iterator[Mistake]:
    """Node prefixes that hold fewer addresses than a node's pods take."""
    if base.layout == "per-node" and _ipv4(base):
        for length in (32, 31, 30, 29, 28):
            size = 1 << (32 - length)
            if (size if size <= 2 else size - 2) - base.kept_first < base.pods_per_nic:
                yield _change("nodePrefixLength", length)


def _prefixes_that_do_not_divide(base: Base) -> Iterator[Mistake]:
    if base.layout == "per-node" and _ipv4(base) and base.supernet is not None:
        part = base.part(base.supernet.prefixlen)
        for length in (part, part - 1, base.supernet.prefixlen, 33, 64):
            yield _change("nodePrefixLength", length)


def _promised_more_than_a_prefix_has(base: Base) -> Iterator[Mistake]:
    if base.layout == "per-node":
        for more in (1, 2, 100):
            yield _change("addressesPerNode", base.prefix_room + more, "nodePrefixLength")


def _prefix_wholly_reserved(base: Base) -> Iterator[Mistake]:
    if base.layout == "per-node":
        room = base.prefix_room + base.kept_first
        yield _change("reservedFirst", room, "nodePrefixLength")
        yield _change("reservedLast", room - base.kept_first, "nodePrefixLength")


def _gateway_in_a_full_block(base: Base) -> Iterator[Mistake]:
    """Blocks that hold just what a node takes, and a gateway in one of them."""
    if base.ipam == "nv-ipam" and base.layout in ("flat", "per-rail"):
        need = base.pods_per_nic * (base.rails if base.one_pool else 1)
        # Single addresses pass the gateway over.
        if need > 1:
            yield _change("gateway", "first", "addressesPerNode", addressesPerNode=need)


def _single(base: Base) -> bool:
    """Whether nodes get single addresses, of which nv-ipam passes over what is excluded."""
    given = base.addressing("addressesPerNode", base.pods_per_nic + (base.addressing("gateway", "none") != "none"))
    return bool(given == 1)


def _first_block_excluded(base: Base) -> Iterator[Mistake]:
    """An address of the first node's block in one rail's subnet."""
    if base.ipam == "nv-ipam" and base.layout == "per-rail" and base.supernet is not None:
        size = 1 << (base.supernet.max_prefixlen - base.part(base.supernet.prefixlen))
        for rail in (0, 1, base.rails - 1):
            address = base.supernet.network_address + rail * size + 1
            if not _single(base):
                # A gateway that comes first is not a pod's in any case.
                if base.addressing("gateway", "none") != "first":
                    yield _change("exclude", [str(address)])
                yield _change("exclude", [f"{address}-{address + 9}"])


def _prefix_excluded(base: Base) -> Iterator[Mistake]:
    """The whole prefix of a node on one rail."""
    if base.layout == "per-node" and base.supernet is not None:
        length = base.node_prefix
        size, subnet = 1 << (32 - length), 1 << (32 - base.part(base.supernet.prefixlen))
        for node, rail in ((0, 0), (1, 2), (base.nodes - 1, base.rails - 1)):
            start = base.supernet.network_address + rail * subnet + node * size
            yield _change("exclude", [str(ip_network(f"{start}/{length}"))])


def _first_block_reserved(base: Base) -> Iterator[Mistake]:
    # The nv-ipam of line 23.10 keeps no addresses free, which is another rule's.
    per_rail = base.ipam == "nv-ipam" and base.layout == "per-rail" and base.line != "23.10"
    if per_rail and not base.addressing("exclude") and not _single(base):
        for count in (1, 10):
            yield _change("reservedFirst", count)


def _without_effect(base: Base) -> Iterator[Mistake]:
    if base.layout in ("flat", "per-rail"):
        yield _change("nodePrefixLength", 29)
    elif base.layout == "none":
        yield _change("supernet", "192.168.0.0/16")
        yield _change("prefixLength", 24)
        yield _change("railSlots", 8)
        yield _change("nodePrefixLength", 29)
        yield _change("addressesPerNode", 4)
        yield _change("gateway", "first")
        yield _change("reservedFirst", 1)
        yield _change("reservedLast", 1)
        yield _change("exclude", ["192.168.0.1"])
        yield _change("spareNodes", 2)
        yield _change("surgeNodes", 1)
        yield _change("growthStep", 4)


def _too_many_for_a_pool(base: Base) -> Iterator[Mistake]:
    """More nodes than one pool object, or one controller, can hold although there are addresses."""
    if base.layout == "per-node" or base.supernet is None:
        return
    if base.ipam == "nv-ipam" and base.supernet.version == 6:
        # 1.5 MiB of an object, about 100 bytes for each node.
        for spare in (15800, 60000):
            yield _change("spareNodes", spare, "layout")
    if base.ipam == "spiderpool" and not _pinned(base) and base.pods_per_nic > 1:
        # 5,000 addresses allocated from one pool.
        most = 5000 // base.pods_per_nic
        yield _change("spareNodes", most - base.nodes + 1, "layout", railSlots=8)


def _ends_that_cannot_be_counted(base: Base) -> Iterator[Mistake]:
    """The last address of an IPv6 prefix, where nv-ipam counts places with 32 bits."""
    if base.supernet is not None and base.supernet.version == 6 and base.ipam == "nv-ipam":
        yield _change("gateway", "last", layout="per-node")
        yield _change("gateway", "last", layout="per-node", nodePrefixLength=96)
        yield _change("reservedLast", 2, layout="per-node")


def _no_supernet(base: Base) -> Iterator[Mistake]:
    if base.has(f"{_AT}.supernet"):
        yield Mistake({f"{_AT}.supernet": None}, f"{_AT}.supernet")
        yield Mistake({_AT: None}, f"{_AT}.supernet")


KINDS = (
    Kind("addresses are to be given, but there is no supernet", "ADR005", _no_supernet),
    Kind("the supernet is too small for the nodes", "ADR001", _narrow_supernets),
    Kind("there are more nodes than addresses", "ADR001", _many_nodes),
    Kind("a second pool takes more addresses than are left", "ADR001", _many_nodes_in_two_pools),
    Kind("spare and surge nodes have no addresses", "ADR001", _many_spare_nodes),
    Kind("the blocks are so large that there are too few", "ADR001", _large_shares),
    Kind("what is reserved leaves too few addresses", "ADR001", _much_reserved),
    Kind("there are fewer slots than rails", "ADR007", _few_slots),
    Kind("the supernet holds fewer subnets than there are rails", "ADR007", _few_subnets),
    Kind("the supernet is too small for the subnets as given", "ADR007", _narrow_for_its_subnets),
    Kind("a rail's subnet is larger than the supernet", "ADR007", _subnet_wider_than_supernet),
    Kind("a rail's subnet has no room for nodes", "ADR007", _tiny_subnets),
    Kind("the supernet is so small that a rail's part has no room", "ADR007", _tiny_supernets),
    Kind("a node's block is smaller than what its pods take", "ADR008", _small_shares),
    Kind("a node's prefix is smaller than what its pods take", "ADR008", _prefixes_too_small),
    Kind("a node's prefix does not divide the rail's subnet", "ADR008", _prefixes_that_do_not_divide),
    Kind("a node is promised more than its prefix has", "ADR008", _promised_more_than_a_prefix_has),
    Kind("a node's prefix is wholly reserved", "ADR008", _prefix_wholly_reserved),
    Kind("the last address of a node's prefix is too far away", "IPM001", _ends_that_cannot_be_counted),
    Kind("the gateway takes an address that a node needs", "ADR004", _gateway_in_a_full_block),
    Kind("an excluded address lies in a node's full block", "ADR009", _first_block_excluded),
    Kind("a node's whole prefix is excluded", "ADR009", _prefix_excluded),
    Kind("reserved addresses lie in the first node's block", "ADR009", _first_block_reserved),
    Kind("a key of addressing has no effect", "ADR011", _without_effect),
    Kind("one pool would outgrow what stores it", "ADR006", _too_many_for_a_pool),
)  # fmt: skip
