"""Ranges, labels and machines that no cluster has, and nodes that no operator finds."""

from __future__ import annotations

from collections.abc import Iterator

from negative.base import Base
from negative.mistake import Kind, Mistake, provided_by, together, written, written_below

_RANGES, _POOL = "cluster.ranges", "cluster.pools[0]"
_LABELS = f"{_POOL}.labels"
# What no host can have: multicast, loopback, link-local, and what is reserved for nobody.
_NOT_FOR_HOSTS = ("224.0.0.0/8", "127.0.0.0/16", "169.254.0.0/16", "240.0.0.0/8")
_existing, _oke, _doks = provided_by("existing"), provided_by("oke"), provided_by("doks")


def _labelled(*labels: tuple[str, str]) -> Iterator[tuple[str, dict[str, str]]]:
    yield from ((f".{key}", {key: value}) for key, value in labels)


_SET_BY_OTHERS = together(
    *(
        written_below(_LABELS, below, wrong, where=_existing)
        for below, wrong in _labelled(
            ("node.kubernetes.io/instance-type", "BM.GPU4.8"),
            ("kubernetes.io/os", "windows"),
            ("kubernetes.io/arch", "s390x"),
            ("kubernetes.io/hostname", "node-1"),
        )
    )
)


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


def _plug_ins_for_others(base: Base) -> Iterator[Mistake]:
    if base.provider == "oke" and base.manager == "network-operator" and base.model == "sriov":
        yield Mistake({f"{_POOL}.shape": "BM.GPU.MI355X.8"}, "fabric.manager")


KINDS = (
    Kind(
        "a range of the cluster is none for hosts",
        "ADR020",
        together(*(written(f"{_RANGES}.{name}", *_NOT_FOR_HOSTS, where=_existing) for name in ("pods", "nodes"))),
    ),
    Kind("a range is reserved that the cluster has itself", "ADR022", _reserved_over_own),
    Kind("a label is one that kubelet or the cloud sets", "CLU013", _SET_BY_OTHERS),
    Kind("a VPC has no room for its nodes", "DOK055", _small_vpc),
    Kind(
        "a VCN has a size that Oracle does not take",
        "OKE043",
        written(f"{_RANGES}.nodes", "10.140.0.0/15", "10.140.0.0/31", where=_flannel),
    ),
    Kind(
        "a system pool is of machines that Oracle does not make",
        "OKE044",
        together(
            written_below("cluster.systemPool", ".memoryGib", {"ocpus": 1, "memoryGib": 1024}, where=_oke),
            written_below("cluster.systemPool", ".shape", {"shape": "BM.GPU.H100.8"}, where=_oke),
        ),
    ),
    Kind("flannel's range overlaps the VCN", "OKE046", _pods_in_the_vcn),
    Kind(
        "flannel's range has no part for every node",
        "OKE047",
        written(f"{_RANGES}.pods", "10.201.0.0/26", "10.201.0.0/28", where=_flannel),
    ),
    Kind("no label selects the GPU nodes", "OWN009", _vendors_that_nobody_names),
    Kind("the device plug-ins do not run on nodes with these NICs", "NOP007", _plug_ins_for_others),
)
