"""The address plan for Whereabouts: a range in every network, without objects of its own."""

from __future__ import annotations

from ipaddress import summarize_address_range
from itertools import pairwise

from gpu_fabric.k8s.whereabouts import Whereabouts
from gpu_fabric.plan.addresses import AddressPool
from gpu_fabric.plan.addresses.model import address


def cni_ipam(pool: AddressPool) -> Whereabouts:
    """The `ipam` section with the pool's range; what lies between its runs of addresses is excluded."""
    version, runs = pool.space.version, pool.available.runs
    gaps = [
        network
        for (_, last), (first, _) in pairwise(runs)
        for network in summarize_address_range(address(version, last + 1), address(version, first - 1))
    ]
    return Whereabouts(
        range=str(pool.subnet),
        range_start=str(address(version, runs[0][0])),
        range_end=str(address(version, runs[-1][1])),
        exclude=tuple(str(gap) for gap in gaps) or None,
        gateway=None if pool.gateway is None else str(pool.gateway),
    )
