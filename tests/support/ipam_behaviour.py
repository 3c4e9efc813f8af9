"""What the IPAMs hand to a node, recomputed from the emitted objects by the IPAMs' published behaviour.

nv-ipam: an IPPool is cut into blocks from the first host address on; a CIDRPool is cut into prefixes, those of static
allocations going to their nodes. Newer versions pass over blocks and prefixes that are wholly excluded. Indexes count
from a prefix' first address, and an exclusion with both ends outside a node's prefix is not applied to it. Where two
exclusions of a node overlap, it hands out nothing. `tests/ipam/test_nv_ipam.py` holds this against what was seen of it.
Whereabouts hands out the lowest free address from `range_start` to `range_end` outside `exclude`; `tests/ipam` asks its
own code. Spiderpool hands out `ips` of the pools that a network names and that are not bound to other nodes.
"""

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise, product
from typing import Any

from address_checker import Pool
from address_runs import Net, Runs, ends, hosts, less, merged, runs_of, size, span, within

Json = Mapping[str, Any]


def blocks_of(spec: Json, nodes: int, *, passes_over: bool) -> list[Runs]:
    """The addresses that nv-ipam gives the nodes of an IPPool in turn; `passes_over` is how newer versions work."""
    network = ipaddress.ip_network(spec["subnet"])
    low, high = hosts(ends(network), network.version)
    width = spec["perNodeBlockSize"]
    listed = [(_int(row["startIP"]), _int(row["endIP"])) for row in spec.get("exclusions", ())]
    if _overlap(listed):
        return [[] for _ in range(nodes)]
    excluded = merged(listed)
    router = [] if "gateway" not in spec else [(_int(spec["gateway"]), _int(spec["gateway"]))]
    given: list[Runs] = []
    for start in range(low, high - width + 2, width):
        if len(given) == nodes:
            break
        block = [(start, start + width - 1)]
        near = within(excluded, start, start + width - 1)
        if not passes_over or (less(block, near) and (width > 1 or less(block, router))):
            given.append(less(block, [*near, *router]))
    return given


def prefix_of(spec: Json, node: int, name: str | None, *, passes_over: bool) -> tuple[Net | None, Runs]:
    """Prefix and addresses that nv-ipam gives the n-th node of a CIDRPool; `passes_over` is how newer versions work."""
    cidr = ipaddress.ip_network(spec["cidr"])
    length = spec["perNodeNetworkPrefix"]
    fixed = {row["nodeName"]: ipaddress.ip_network(row["prefix"]) for row in spec.get("staticAllocations", ())}
    bits = cidr.max_prefixlen - length
    if fixed:
        own = fixed.get(name or "")
    else:
        base = int(cidr[0])
        excluded = [(_int(row["startIP"]) - base, _int(row["endIP"]) - base) for row in spec.get("exclusions", ())]
        for first, last in merged(excluded) if passes_over else ():
            # the prefixes that lie wholly in the run
            begin, end = -(-first >> bits), (last + 1) >> bits
            node += max(0, end - begin) if node >= begin else 0
        start = base + (node << bits)
        own = ipaddress.ip_network((start, length)) if start <= int(cidr[-1]) else None
    if own is None:
        return None, []
    low, high = ends(own)
    taken = []
    for row in spec.get("exclusions", ()):
        first, last = _int(row["startIP"]), _int(row["endIP"])
        if low <= first <= high or low <= last <= high:
            taken.append((max(first, hosts((low, high), own.version)[0]) if first < low else first, min(last, high)))
    taken += [(low + row["startIndex"], low + row["endIndex"]) for row in spec.get("perNodeExclusions", ())]
    if _overlap(taken):
        return own, []
    if "gatewayIndex" in spec:
        taken.append((low + spec["gatewayIndex"], low + spec["gatewayIndex"]))
    return own, less([hosts((low, high), own.version)], taken)


def whereabouts_addresses(ipam: Json) -> Runs:
    """Everything that Whereabouts hands out for a network, lowest first."""
    network = ipaddress.ip_network(ipam["range"])
    low, high = ends(network)
    if network.version == 6 and network.prefixlen <= 64:
        high = low + (high - low) // 2
    low, high = max(low + 1, _int(ipam.get("range_start", str(network[0])))), min(high - 1, _int(ipam["range_end"]))
    return less([(low, high)], [span(text) for text in ipam.get("exclude", ())])


def spiderpool_addresses(pools: Sequence[Json], patterns: Sequence[str]) -> tuple[Runs, dict[str, Runs]]:
    """What Spiderpool may hand out for a network that names pools: on any node, and on single ones by their names."""
    everywhere: Runs = []
    bound: dict[str, Runs] = {}
    for manifest in pools:
        if not any(fnmatchcase(manifest["metadata"]["name"], pattern) for pattern in patterns):
            continue
        spec = manifest["spec"]
        given = [run for text in spec.get("ips", ()) for run in runs_of(text)]
        given = less(given, [run for text in spec.get("excludeIPs", ()) for run in runs_of(text)])
        for node in spec.get("nodeName", ()):
            bound.setdefault(node, []).extend(given)
        everywhere += () if spec.get("nodeName") else given
    return merged(everywhere), bound


def nv_ipam_faults(pools: Sequence[Pool], manifests: Sequence[Json], names: Sequence[str]) -> Iterator[str]:
    """Where nv-ipam would give a node something else than its share."""
    by_name = {manifest["metadata"]["name"]: manifest for manifest in manifests}
    if len(by_name) != len(manifests) or set(by_name) != {pool.name for pool in pools}:
        yield f"pools {sorted(by_name)} are not the plan's"
        return
    for pool in pools:
        spec, nodes = by_name[pool.name]["spec"], range(len(pool.shares))
        if pool.length is None:
            planned = [pool.share(node) for node in nodes]
            for passes_over in (True,) if pool.passes_over else (False, True):
                if blocks_of(spec, len(nodes), passes_over=passes_over) != planned:
                    yield f"nv-ipam gives the nodes of {pool.name} other blocks"
            continue
        for node, passes_over in product(nodes, (False, True)):
            prefix, runs = prefix_of(spec, node, names[node] if names else None, passes_over=passes_over)
            if str(prefix) != pool.shares[node] or runs != pool.share(node):
                yield f"nv-ipam gives node {node} of {pool.name} {prefix} with {size(runs)} addresses"


def whereabouts_faults(pool: Pool, ipam: Json) -> Iterator[str]:
    """Where Whereabouts would give full-node pods other addresses than their nodes' shares."""
    given = whereabouts_addresses(ipam)
    start = 0
    for node in range(len(pool.shares)):
        if _slice(given, start, pool.each) != pool.share(node):
            yield f"Whereabouts gives node {node} of {pool.name} other addresses"
        start += pool.each
    if less(given, pool.shared):
        yield f"Whereabouts hands out addresses of {pool.name} that nobody may have"


def spiderpool_faults(
    pools: Sequence[Pool], manifests: Sequence[Json], patterns: Mapping[str, Sequence[str]], names: Sequence[str]
) -> Iterator[str]:
    """Where Spiderpool could not give a node its share, or could give it something of another rail or node.

    `patterns` are the pools that each rail's network names, by the name of the plan's pool.
    """
    for pool in pools:
        everywhere, bound = spiderpool_addresses(manifests, patterns[pool.name])
        if within(everywhere, *pool.space) != everywhere:
            yield f"Spiderpool may give the nodes of {pool.name} an address of another rail"
        for node in range(len(pool.shares)):
            own = bound.get(names[node], []) if names else []
            given = merged([*everywhere, *own]) if own else everywhere
            who = f"node {node} of {pool.name}"
            if less(_slice(pool.share(node), 0, pool.need), given):
                yield f"Spiderpool lacks addresses of {who}"
            if pool.length is not None and names and less(given, pool.share(node)):
                yield f"Spiderpool may give {who} an address of another node"


def _overlap(runs: Sequence[tuple[int, int]]) -> bool:
    return any(start <= end for (_, end), (start, _) in pairwise(sorted(runs)))


def _int(text: str) -> int:
    return int(ipaddress.ip_address(text))


def _slice(runs: Runs, start: int, length: int) -> Runs:
    found: Runs = []
    for first, last in runs:
        if start > last - first:
            start -= last - first + 1
            continue
        end = min(last, first + start + length - 1)
        found.append((first + start, end))
        length -= end - first - start + 1
        start = 0
        if not length:
            break
    return found
