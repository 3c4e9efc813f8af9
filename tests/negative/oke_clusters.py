"""Clusters that Oracle makes: ids, constructs, volumes, add-ons, ways in."""

from __future__ import annotations

from negative.mistake import Kind, together, written
from negative.oke_mistakes import POOL, at, below, changed_keys, joining

_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExample someone@example"

CLUSTERS = (
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
