"""Cases of the group `oke` about ids, the network and the ways in."""

from __future__ import annotations

from typing import Any

from rules.tables import bad, good, irrelevant

_VCN = "ocid1.vcn.oc1.iad.example"
_TABLE = "ocid1.routetable.oc1.iad.example"
_IMAGE = "ocid1.image.oc1.iad.example"
_SUBNETS = {
    name: f"ocid1.subnet.oc1.iad.{name}" for name in ("control-plane", "internal-lb", "workers", "pods", "public-lb")
}
_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExample someone@example"
_HOSTS: dict[str, Any] = {
    "mode": "bastion-host",
    "allowed": ["203.0.113.0/24"],
    "sshPublicKeys": [_KEY],
    "bastion": {"imageId": _IMAGE},
    "operator": {"imageId": _IMAGE},
}
_SERVICE = {"mode": "bastion-service", "allowed": ["203.0.113.0/24"]}


def _hosts(**changes: Any) -> dict[str, Any]:
    return {"cluster.access": {**_HOSTS, **changes}}


CASES = (
    good("OKE016", "oke-h100-26-4", {"cluster.identity": {"homeRegion": "us-phoenix-1"}}),
    bad("OKE016", "oke-h100-26-4", {"cluster.vcn.id": "ocid1.vcn.oc1.phx.example"}),
    bad("OKE016", "oke-h100-26-4", {"cluster.compartmentId": "ocid1.compartment.oc2..example",
        "cluster.tenancyId": "ocid1.tenancy.oc3..example"}, "cluster.compartmentId", "cluster.tenancyId"),
    bad("OKE016", "oke-h100-26-4", {"cluster.pools[0].memoryFabricIds": ["ocid1.computegpumemoryfabric.oc1.iad.x",
        "ocid1.computegpumemoryfabric.oc1.eu-frankfurt-1.x"]}, "[1]"),
    bad("OKE016", "oke-h100-26-4", {"cluster.identity": {"homeRegion": "uk-gov-london-1"}}, ".homeRegion"),
    irrelevant("OKE016", "oke-h100-26-4", {"cluster.region": "xx-nowhere-1"}),
    good("OKE017", "oke-h100-26-4", {"cluster.region": "us-gov-ashburn-1"}),
    bad("OKE017", "oke-h100-26-4", {"cluster.region": "us-ashbrun-1"}),
    irrelevant("OKE017", "doks-h200"),
    good("OKE018", "oke-h100-26-4"),
    bad("OKE018", "oke-h100-26-4", {"cluster.ranges.nodes": None}),
    irrelevant("OKE018", "doks-h200"),
    good("OKE019", "oke-h100-26-4", {"cluster.vcn": {"id": _VCN, "routeTableIds": {"private": _TABLE}}}),
    good("OKE019", "oke-h100-26-4", {"cluster.vcn": {"id": _VCN, "subnetIds": _SUBNETS}}),
    bad("OKE019", "oke-h100-26-4", {"cluster.vcn": {"id": _VCN, "publicLoadBalancers": True},
        "cluster.endpoint": {"public": True, "allowed": ["203.0.113.0/24"]}}, "cluster.vcn.routeTableIds.private",
        "cluster.vcn.routeTableIds.public"),
    bad("OKE019", "oke-h100-26-4", {"cluster.vcn": {"id": _VCN,
        "subnetIds": {"control-plane": _SUBNETS["control-plane"]}}}, ".routeTableIds.private"),
    irrelevant("OKE019", "oke-h100-26-4"),
    good("OKE028", "oke-h100-26-4", _hosts()),
    bad("OKE028", "oke-h100-26-4", {"cluster.access": {"mode": "bastion-service"}}, ".allowed"),
    bad("OKE028", "oke-h100-26-4", {"cluster.access": {"mode": "bastion-host"}}, ".allowed", ".sshPublicKeys",
        ".bastion.imageId", ".operator.imageId"),
    irrelevant("OKE028", "oke-h100-26-4"),
    good("OKE029", "oke-h100-26-4", _hosts()),
    bad("OKE029", "oke-h100-26-4", {"cluster.access": {**_SERVICE, "allowed": ["0.0.0.0/0"]}}, ".allowed[0]"),
    irrelevant("OKE029", "oke-h100-26-4", {"cluster.access.allowed": ["0.0.0.0/0"]}),
    good("OKE032", "oke-h100-26-4", {"cluster.access": _SERVICE}),
    good("OKE032", "oke-h100-26-4", {"cluster.kubeconfig": {"endpoint": "private"}}),
    bad("OKE032", "oke-h100-26-4", {}, "cluster.endpoint.public"),
    irrelevant("OKE032", "oke-h100-26-4", {"cluster.endpoint": {"public": True, "allowed": ["203.0.113.0/24"]}}),
    # Four GPU nodes and three of the system pool.
    good("OKE033", "oke-h100-26-4", {"cluster.vcn.subnets": {"workers": "10.140.64.0/29"}}),
    bad("OKE033", "oke-h100-26-4", {"cluster.vcn.subnets": {"workers": "10.140.64.0/30"}}, ".workers"),
    irrelevant("OKE033", "oke-h100-26-4", {"cluster.ranges.nodes": None}),
    good("OKE035", "oke-h100-26-4", {"cluster.vcn": {"id": _VCN, "subnetIds": _SUBNETS}}),
    bad("OKE035", "oke-h100-26-4", {"cluster.vcn": {"subnetIds": _SUBNETS}}, ".subnetIds"),
    bad("OKE035", "oke-h100-26-4", {"cluster.vcn": {"routeTableIds": {"public": _TABLE}}}, ".routeTableIds"),
    irrelevant("OKE035", "doks-h200"),
    good("OKE036", "oke-h100-26-4", {"cluster.ranges.nodes": "10.140.0.0/20",
        "cluster.vcn.subnets": {"control-plane": "10.140.0.0/29"}}),
    bad("OKE036", "oke-h100-26-4", {"cluster.ranges.nodes": "10.140.0.0/20"}),
    irrelevant("OKE036", "oke-h100-26-4", {"cluster.ranges.nodes": None}),
    good("OKE037", "oke-h100-26-4"),
    bad("OKE037", "oke-h100-26-4", {"cluster.ranges.pods": "fd00:20::/48"}),
    bad("OKE037", "oke-h100-26-4", {"cluster.vcn.subnets": {"workers": "fd00:30::/64"}}, ".workers"),
    irrelevant("OKE037", "sriov-ipv6", {"cluster.ranges.pods": "fd00:20::/48"}),
    bad("OKE011", "oke-h100-26-4", {"cluster.endpoint": {"public": True,
        "allowed": ["20.0.0.0/8", "198.51.100.0/24", "21.0.0.0/8"]}}, ".allowed[0]", ".allowed[2]"),
    bad("OKE011", "oke-h100-26-4", {"cluster.endpoint": {"public": True, "allowed": ["64.0.0.0/2", "2000::/3"]}},
        ".allowed[0]", ".allowed[1]"),
    good("OKE043", "oke-h100-26-4", {"cluster.ranges.nodes": "10.140.0.0/16"}),
    bad("OKE043", "oke-h100-26-4", {"cluster.ranges.nodes": "10.140.0.0/15"}),
    irrelevant("OKE043", "dev", {"cluster.ranges.nodes": "10.140.0.0/15"}),
)  # fmt: skip
