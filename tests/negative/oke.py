"""Clusters that Oracle makes: placements, images, subnets, versions and access."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from negative.base import Base
from negative.mistake import Applies, Kind, Mistake, Mistakes, provided_by, together, written, written_below

_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExample someone@example"
POOL = "cluster.pools[0]"
on_oke = provided_by("oke")


def joining(base: Base) -> bool:
    """Stacks on Oracle's clouds whose machines join by themselves."""
    return on_oke(base) and base.at(f"{POOL}.placement") != "compute-cluster"


def at(place: str, *values: Any) -> Mistakes:
    """Each of the values in turn at a place of a stack on Oracle's cloud."""
    return written(place, *values, where=on_oke)


def below(place: str, end: str, *values: Any) -> Mistakes:
    """The same, where what is faulty lies below the place."""
    return written_below(place, end, *values, where=on_oke)


def changed_keys(path: str, changes: dict[str, Any], where: Applies = on_oke) -> Mistakes:
    """Several keys of the file that make one mistake."""

    def made(base: Base) -> Iterator[Mistake]:
        if where(base):
            yield Mistake(changes, path)

    return made


def _called_as_a_machine(base: Base) -> Iterator[Mistake]:
    """A second pool by the name of a machine that the first one has, or may have later."""
    if on_oke(base):
        first = {**base.pool, "placement": "compute-cluster-instances"}
        for number in (0, 1, 63):
            second = {**base.pool, "name": f"{first['name']}-{number}"}
            yield Mistake({"cluster.pools": [first, second]}, "cluster.pools[1].name")


READING = (
    Kind("a region of Oracle is spelt as none", "SPC002",
        at("cluster.region", "iad", "us-ashburn", "US-ASHBURN-1", "nyc2")),
    Kind("an id of Oracle's is none", "SPC002", together(
        at("cluster.compartmentId", "my-compartment", "ocid1", "ocid.compartment.oc1..x", ""),
        at(f"{POOL}.imageId", "Canonical-Ubuntu-22.04"),
        at("cluster.vcn.id", "vcn-1", "ocid1.subnet.oc1.iad.aaaa"),
        at("cluster.tenancyId", "ocid1.compartment.oc1..aaaa"),
        at("cluster.identity.dynamicGroupId", "ocid1.group.oc1..aaaa"),
        at(f"{POOL}.capacityReservationId", "ocid1.image.oc1.iad.aaaa"),
        at("cluster.vcn.routeTableIds.private", "routes"))),
    Kind("a version of Oracle's Kubernetes is spelt as none", "SPC002",
        at("cluster.version", "v1.34.1", "latest", "1.34.1-do.0", "34")),
    Kind("a word of Oracle's cluster is none", "SPC002", together(
        at(f"{POOL}.placement", "clusterNetwork", "node-pool"),
        at("cluster.cni", "calico", "npn"),
        at("cluster.access.mode", "bastion", "public"),
        at("cluster.gpuPlugin", "oracle", "off"),
        at("cluster.kubeconfig.mode", "raw", "oci"),
        at(f"{POOL}.cycling", "replace", True),
        below(f"{POOL}.faultDomains", "[0]", ["FD-1"]))),
    Kind("a number of Oracle's cluster is out of bounds", "SPC002", together(
        at(f"{POOL}.maxPods", 0, 111),
        at(f"{POOL}.bootVolume.sizeGib", 10, 40000),
        at(f"{POOL}.bootVolume.vpusPerGib", 15, -10),
        at("cluster.systemPool.nodes", 0),
        at("cluster.systemPool.ocpus", 0, 127),
        at("cluster.createMinutes", 5, 1000),
        at("cluster.access.sessionSeconds", 60, 86400))),
    Kind("a key of a part of Oracle's cluster is misspelt", "SPC001", together(
        at(f"{POOL}.bootVolume.size", 512),
        at("cluster.vcn.cidr", "10.140.0.0/16"),
        at("cluster.endpoint.isPublic", True),
        at(f"{POOL}.ad", "AD-1"),
        at(f"{POOL}.subnet", "workers"))),
    Kind("a public key is none", "SPC002",
        below("cluster.access.sshPublicKeys", "[0]", ["~/.ssh/id_ed25519.pub"], ["ssh-dss AAAA"],
            ["-----BEGIN OPENSSH PRIVATE KEY-----"])),
    Kind("a subnet has a name that is none", "SPC001",
        together(*(below("cluster.vcn.subnets", f".{name}", {name: "10.140.8.0/24"})
            for name in ("worker", "cp", "internalLb", "rdma")))),
)  # fmt: skip

RULES = (
    Kind("self-managed nodes are to join a basic cluster", "OKE001", together(
        written("cluster.enhanced", False, where=joining),
        changed_keys("cluster.enhanced", {"cluster.enhanced": False,
            f"{POOL}.placement": "compute-cluster-instances"}))),
    Kind("machines of a memory fabric are placed elsewhere", "OKE005", together(
        *(changed_keys(f"{POOL}.placement", {f"{POOL}.shape": shape})
            for shape in ("BM.GPU.GB200.4", "BM.GPU.GB200-v3.4", "BM.GPU.GB300.4")),
        changed_keys(f"{POOL}.placement", {f"{POOL}.shape": "BM.GPU.GB300.4",
            f"{POOL}.placement": "compute-cluster"}))),
    Kind("a range of the cluster is that of the hosts' RDMA interfaces", "OKE006",
        together(*(changed_keys(f"cluster.ranges.{key}", {"fabric.addressing.supernet": "172.24.0.0/16",
            f"cluster.ranges.{key}": text}) for key in ("pods", "services", "nodes") for text in ("192.168.0.0/16",
            "192.168.128.0/20", "192.0.0.0/8")))),
    Kind("the pod subnet is too small for the nodes", "OKE007",
        together(*(changed_keys("cluster.vcn.subnets.pods", {"cluster.cni": "vcn-native",
            "cluster.vcn.subnets": {"pods": text}}) for text in ("10.140.128.0/24", "10.140.128.0/28")))),
    Kind("the Kubernetes version is too old for self-managed nodes", "OKE012", together(
        written("cluster.version", "1.24", "1.24.9", where=joining),
        *(changed_keys("cluster.version", {"cluster.version": text, "cluster.cni": "vcn-native"}, joining)
            for text in ("1.26.2", "1.27.9")))),
    Kind("two subnets overlap", "OKE014", together(
        below("cluster.vcn.subnets", ".public-lb", {"internal-lb": "10.140.32.0/24", "public-lb": "10.140.32.0/26"}),
        below("cluster.vcn.subnets", ".workers", {"workers": "10.140.0.0/29"}))),
    Kind("a pool is called as a machine of another one", "OKE041", _called_as_a_machine),
    Kind("an id belongs to another region or realm", "OKE016", together(
        at("cluster.compartmentId", "ocid1.compartment.oc2..aaaa"),
        at("cluster.tenancyId", "ocid1.tenancy.oc3..aaaa"),
        at("cluster.vcn.id", "ocid1.vcn.oc1.lhr.aaaa", "ocid1.vcn.oc1.eu-paris-1.aaaa"),
        at(f"{POOL}.hostGroupId", "ocid1.computehostgroup.oc1.lhr.aaaa"),
        changed_keys("cluster.compartmentId", {"cluster.region": "us-gov-phoenix-1"}),
        at("cluster.identity.homeRegion", "us-luke-1"))),
    Kind("a VCN that exists has no routes for new subnets", "OKE019",
        changed_keys("cluster.vcn.routeTableIds.private", {"cluster.vcn.id": "ocid1.vcn.oc1..aaaa"})),
    Kind("the metadata of a machine are too long", "OKE022", together(
        below(f"{POOL}.boot", "", {"beforeJoin": "sleep 1\n" * 3000}),
        at("cluster.access.sshPublicKeys", [f"{_KEY}-{number}" for number in range(600)]))),
    Kind("a key of a pool means nothing to its placement", "OKE027", together(
        written(f"{POOL}.cycling", "instance-replace", where=joining),
        at(f"{POOL}.memoryFabricIds", ["ocid1.computegpumemoryfabric.oc1..aaaa"]),
        written(f"{POOL}.faultDomains", ["FAULT-DOMAIN-2"], where=joining),
        at(f"{POOL}.networkBlockIds", ["ocid1.networkblock.oc1..aaaa"]))),
    Kind("subnets exist in a VCN that does not", "OKE035",
        at("cluster.vcn.subnetIds", {"workers": "ocid1.subnet.oc1..aaaa"})),
    Kind("a range of Oracle's cluster is IPv6", "OKE037", together(
        at("cluster.ranges.services", "fd00:20::/108"),
        at("cluster.ranges.pods", "fd00:20::/56"))),
)  # fmt: skip


KINDS = (*READING, *RULES)
