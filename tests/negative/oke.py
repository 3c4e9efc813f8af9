"""Clusters that Oracle makes: placements, images, subnets, versions and access."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from negative.base import Base
from negative.mistake import Kind, Mistake, Mistakes, provided_by, together, written, written_below

_POOL = "cluster.pools[0]"
_OCID = "ocid1.image.oc1.iad.aaaaaaaaexample"
_oke = provided_by("oke")


def _at(place: str, *values: Any) -> Mistakes:
    return written(place, *values, where=_oke)


def _below(place: str, below: str, *values: Any) -> Mistakes:
    return written_below(place, below, *values, where=_oke)


def _changed(path: str, changes: dict[str, Any]) -> Mistakes:
    """Several keys of the file that make one mistake."""

    def made(base: Base) -> Iterator[Mistake]:
        if _oke(base):
            yield Mistake(changes, path)

    return made


def _reserved_somewhere(base: Base) -> Iterator[Mistake]:
    """A reservation of a pool that no longer says in which availability domain it lies."""
    domain, reservation = f"{_POOL}.availabilityDomain", f"{_POOL}.capacityReservationId"
    if _oke(base) and base.has(domain):
        yield Mistake({reservation: "ocid1.capacityreservation.oc1.iad.aaaa", domain: None}, reservation)


READING = (
    Kind(
        "a region of Oracle is spelt as none",
        "SPC002",
        _at("cluster.region", "iad", "us-ashburn", "US-ASHBURN-1", "nyc2"),
    ),
    Kind(
        "an id of Oracle's is none",
        "SPC002",
        together(
            _at("cluster.compartmentId", "my-compartment", "ocid1", "ocid.compartment.oc1..x", ""),
            _at(f"{_POOL}.imageId", "Canonical-Ubuntu-22.04"),
            _at("cluster.vcn.id", "vcn-1"),
        ),
    ),
    Kind(
        "a version of Oracle's Kubernetes is spelt as none",
        "SPC002",
        _at("cluster.version", "v1.34.1", "latest", "1.34.1-do.0", "34"),
    ),
    Kind(
        "a word of Oracle's cluster is none",
        "SPC002",
        together(
            _at(f"{_POOL}.placement", "clusterNetwork", "node-pool"),
            _at("cluster.cni", "calico", "npn"),
            _at("cluster.access", "bastion", "public"),
        ),
    ),
    Kind(
        "a number of Oracle's cluster is out of bounds",
        "SPC002",
        together(
            _at(f"{_POOL}.maxPods", 0, 111),
            _at(f"{_POOL}.bootVolume.sizeGib", 10, 40000),
            _at(f"{_POOL}.bootVolume.vpusPerGib", 15, -10),
            _at("cluster.systemPool.nodes", 0),
            _at("cluster.systemPool.ocpus", 0, 95),
        ),
    ),
    Kind(
        "a key of a part of Oracle's cluster is misspelt",
        "SPC001",
        together(
            _at(f"{_POOL}.bootVolume.size", 512),
            _at("cluster.vcn.cidr", "10.140.0.0/16"),
            _at("cluster.endpoint.isPublic", True),
            _at(f"{_POOL}.ad", "AD-1"),
            _at(f"{_POOL}.subnet", "workers"),
        ),
    ),
    Kind(
        "a subnet has a name that is none",
        "SPC001",
        together(
            *(
                _below("cluster.vcn.subnets", f".{name}", {name: "10.140.8.0/24"})
                for name in ("worker", "cp", "internalLb", "rdma")
            )
        ),
    ),
)

RULES = (
    Kind(
        "self-managed nodes are to join a basic cluster",
        "OKE001",
        together(
            _at("cluster.enhanced", False),
            _changed(
                "cluster.enhanced", {"cluster.enhanced": False, f"{_POOL}.placement": "compute-cluster-instances"}
            ),
        ),
    ),
    Kind(
        "a capacity reservation lacks its availability domain",
        "OKE003",
        _reserved_somewhere,
    ),
    Kind("the placement gives the machines no RDMA network", "OKE004", _at(f"{_POOL}.placement", "instance-pool")),
    Kind("ordinary machines are placed in a memory fabric", "OKE005", _at(f"{_POOL}.placement", "gpu-memory-cluster")),
    Kind(
        "machines of a memory fabric are placed elsewhere",
        "OKE005",
        together(
            *(
                _changed(f"{_POOL}.placement", {f"{_POOL}.shape": shape})
                for shape in ("BM.GPU.GB200.4", "BM.GPU.GB200-v3.4", "BM.GPU.GB300.4")
            ),
            _changed(
                f"{_POOL}.placement", {f"{_POOL}.shape": "BM.GPU.GB300.4", f"{_POOL}.placement": "compute-cluster"}
            ),
        ),
    ),
    Kind(
        "a range of the cluster is that of the hosts' RDMA interfaces",
        "OKE006",
        together(
            *(
                _changed(
                    f"cluster.ranges.{key}",
                    {"fabric.addressing.supernet": "172.24.0.0/16", f"cluster.ranges.{key}": text},
                )
                for key in ("pods", "nodes")
                for text in ("192.168.0.0/16", "192.168.128.0/20", "192.0.0.0/8")
            )
        ),
    ),
    Kind(
        "the pod subnet is too small for the nodes",
        "OKE007",
        together(
            *(
                _changed(
                    "cluster.vcn.subnets.pods",
                    {"cluster.cni": "vcn-native", "cluster.vcn.subnets": {"pods": text}},
                )
                for text in ("10.140.128.0/24", "10.140.128.0/28")
            )
        ),
    ),
    Kind(
        "a pool has two images",
        "OKE008",
        _changed(f"{_POOL}.imageUri", {f"{_POOL}.imageId": _OCID, f"{_POOL}.imageUri": "https://objectstorage/image"}),
    ),
    Kind(
        "a public API server lets nobody in",
        "OKE010",
        _changed("cluster.endpoint.allowed", {"cluster.endpoint.public": True}),
    ),
    Kind(
        "the Kubernetes version is too old for self-managed nodes",
        "OKE012",
        together(
            _at("cluster.version", "1.24", "1.24.9"),
            _changed("cluster.version", {"cluster.version": "1.26.2", "cluster.cni": "vcn-native"}),
            _changed("cluster.version", {"cluster.version": "1.27.9", "cluster.cni": "vcn-native"}),
        ),
    ),
    Kind(
        "a subnet does not lie in the VCN",
        "OKE013",
        together(
            _below("cluster.vcn.subnets", ".workers", {"workers": "10.141.0.0/19"}, {"workers": "10.0.0.0/8"}),
            _below("cluster.vcn.subnets", ".bastion", {"bastion": "192.168.0.0/29"}),
        ),
    ),
    Kind(
        "two subnets overlap",
        "OKE014",
        together(
            _below(
                "cluster.vcn.subnets",
                ".public-lb",
                {"internal-lb": "10.140.32.0/24", "public-lb": "10.140.32.0/26"},
            ),
            _below("cluster.vcn.subnets", ".workers", {"workers": "10.140.0.0/29"}),
        ),
    ),
)

KINDS = (*READING, *RULES)
