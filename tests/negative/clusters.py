"""Ranges, labels and machines that no cluster has, and nodes that no operator finds."""

from __future__ import annotations

from collections.abc import Iterator

from negative.base import Base
from negative.mistake import Kind, Mistake, written

_RANGES, _POOL = "cluster.ranges", "cluster.pools[0]"
_LABELS = f"{_POOL}.labels"


def _reserved_over_own(base: Base) -> Iterator[Mistake]:
    for name in ("pods", "services", "nodes"):
        if base.provider == "oke" and base.has(f"{_RANGES}.{name}"):
            yield Mistake({f"{_RANGES}.reserved": [base.at(f"{_RANGES}.{name}")]}, f"{_RANGES}.reserved[0]")


def _small_vpc(base: Base) -> Iterator[Mistake]:
    if base.provider == "doks" and not base.has("cluster.vpc"):
        pool = {**base.pool, "nodes": 40, "contractedNodes": 40}
        yield Mistake(
            {f"{_RANGES}.nodes": "10.201.0.0/28", f"{_RANGES}.pods": "10.202.0.0/16", _POOL: pool}, f"{_RANGES}.nodes"
        )


def _flannel(base: Base) -> bool:
    return base.provider == "oke" and base.at("cluster.cni", "flannel") == "flannel" and not base.has("cluster.vcn.id")


def _pods_in_the_vcn(base: Base) -> Iterator[Mistake]:
    vcn = base.at(f"{_RANGES}.nodes")
    if _flannel(base) and vcn:
        yield Mistake({f"{_RANGES}.pods": vcn}, f"{_RANGES}.pods")


def _vendors_that_nobody_names(base: Base) -> Iterator[Mistake]:
    if base.name == "dev" and base.model == "sriov":
        host_device = {"fabric.model": "host-device", f"{_POOL}.shape": "server.mi300x.8"}
        yield Mistake(host_device, _LABELS)


KINDS = (
    Kind("a range is reserved that the cluster has itself", "ADR022", _reserved_over_own),
    Kind("a VPC has no room for its nodes", "DOK055", _small_vpc),
    Kind("flannel's range overlaps the VCN", "OKE046", _pods_in_the_vcn),
    Kind("flannel's range has no part for every node", "OKE047",
        written(f"{_RANGES}.pods", "10.201.0.0/26", "10.201.0.0/28", where=_flannel)),
    Kind("no label selects the GPU nodes", "OWN009", _vendors_that_nobody_names),
)  # fmt: skip
