"""Cases of the group `oke`."""

from __future__ import annotations

from rules import oke_machine_cases, oke_network_cases
from rules.tables import bad, good, irrelevant

_POOL = "cluster.pools[0]"
_IMAGE = "ocid1.image.oc1.iad.example"
_RESERVATION = "ocid1.capacityreservation.oc1.iad.example"
_SECOND = {"name": "more", "shape": "BM.GPU.H100.8", "nodes": 2}
_PAIR = {"name": "gpu", "shape": "BM.GPU.H100.8", "nodes": 4, "availabilityDomain": "AD-1"}

CASES = (
    *oke_network_cases.CASES,
    *oke_machine_cases.CASES,
    good("OKE001", "oke-h100-26-4"),
    good("OKE001", "oke-h100-26-4", {"cluster.enhanced": False, f"{_POOL}.placement": "compute-cluster"}),
    bad("OKE001", "oke-h100-26-4", {"cluster.enhanced": False}, "cluster.enhanced"),
    irrelevant("OKE001", "host-device"),
    good("OKE002", "oke-h100-26-4", {"cluster.pools": [_PAIR, {**_SECOND, "availabilityDomain": "AD-1"}]}),
    good("OKE002", "oke-h100-26-4", {"cluster.pools": [_PAIR, _SECOND]}),
    good("OKE002", "oke-h100-26-4", {"cluster.pools": [_SECOND, _PAIR, {**_PAIR, "name": "third"}]}),
    bad(
        "OKE002",
        "oke-h100-26-4",
        {"cluster.pools": [_PAIR, {**_SECOND, "availabilityDomain": "AD-2"}]},
        "cluster.pools[1].availabilityDomain",
    ),
    irrelevant("OKE002", "doks-h200"),
    good("OKE003", "oke-h100-26-4", {f"{_POOL}.capacityReservationId": _RESERVATION}),
    bad(
        "OKE003",
        "oke-h100-26-4",
        {f"{_POOL}.capacityReservationId": _RESERVATION, f"{_POOL}.availabilityDomain": None},
        f"{_POOL}.capacityReservationId",
    ),
    irrelevant("OKE003", "oke-h100-26-4", {f"{_POOL}.availabilityDomain": None}),
    good("OKE004", "oke-h100-26-4"),
    good("OKE004", "oke-h100-26-4", {f"{_POOL}.placement": "compute-cluster"}),
    bad("OKE004", "oke-h100-26-4", {f"{_POOL}.placement": "instance-pool"}, f"{_POOL}.placement"),
    irrelevant("OKE004", "oke-h100-26-4", {f"{_POOL}.placement": "instance-pool", f"{_POOL}.shape": "BM.GPU.A10.4"}),
    good("OKE005", "oke-h100-26-4", {f"{_POOL}.shape": "BM.GPU.GB300.4", f"{_POOL}.placement": "gpu-memory-cluster"}),
    good("OKE005", "oke-h100-26-4"),
    bad("OKE005", "oke-h100-26-4", {f"{_POOL}.shape": "BM.GPU.GB200-v3.4"}, f"{_POOL}.placement"),
    bad("OKE005", "oke-h100-26-4", {f"{_POOL}.placement": "gpu-memory-cluster"}, f"{_POOL}.placement"),
    irrelevant("OKE005", "host-device", {f"{_POOL}.shape": "BM.GPU.GB200-v3.4"}),
    good("OKE006", "oke-h100-26-4"),
    bad(
        "OKE006",
        "oke-h100-26-4",
        {"cluster.ranges.nodes": "192.168.0.0/20", "fabric.addressing.supernet": "172.16.0.0/16"},
        "cluster.ranges.nodes",
    ),
    bad(
        "OKE006",
        "oke-h100-26-4",
        {"cluster.ranges.pods": "192.168.0.0/17", "fabric": {"model": "host-network"}},
        "cluster.ranges.pods",
    ),
    bad(
        "OKE006",
        "oke-h100-26-4",
        {"cluster.ranges.services": "192.168.0.0/20", "fabric.addressing.supernet": "172.16.0.0/16"},
        "cluster.ranges.services",
    ),
    irrelevant("OKE006", "oke-h100-26-4", {"cluster.ranges.nodes": "192.168.0.0/20"}),
    irrelevant(
        "OKE006",
        "oke-h100-26-4",
        {
            f"{_POOL}.shape": "BM.GPU.A10.4",
            "cluster.ranges.nodes": "192.168.0.0/20",
            "fabric.addressing.supernet": "172.16.0.0/16",
        },
    ),
    irrelevant("OKE006", "host-network", {"cluster.ranges.nodes": "192.168.0.0/20"}),
    good(
        "OKE007",
        "oke-h100-26-4",
        {
            "cluster.cni": "vcn-native",
            "cluster.vcn.subnets": {"pods": "10.140.128.0/23"},
            f"{_POOL}.nodes": 2,
            f"{_POOL}.maxPods": 91,
        },
    ),
    good("OKE007", "oke-h100-26-4", {"cluster.cni": "vcn-native"}),
    bad(
        "OKE007",
        "oke-h100-26-4",
        {"cluster.cni": "vcn-native", "cluster.ranges.nodes": "10.140.0.0/23"},
        "cluster.vcn.subnets.pods",
    ),
    bad(
        "OKE007",
        "oke-h100-26-4",
        {"cluster.cni": "vcn-native", "cluster.vcn.subnets": {"pods": "10.140.128.0/23"}, f"{_POOL}.maxPods": 100},
        "cluster.vcn.subnets.pods",
    ),
    irrelevant("OKE007", "oke-h100-26-4", {"cluster.ranges.nodes": "10.140.0.0/23"}),
    good("OKE008", "oke-h100-26-4", {f"{_POOL}.imageId": _IMAGE}),
    bad(
        "OKE008",
        "oke-h100-26-4",
        {f"{_POOL}.imageId": _IMAGE, f"{_POOL}.imageUri": "https://images.example/gpu"},
        f"{_POOL}.imageUri",
    ),
    irrelevant("OKE008", "doks-h200"),
    good("OKE009", "oke-h100-26-4", {f"{_POOL}.imageUri": "https://images.example/gpu"}),
    bad("OKE009", "oke-h100-26-4", {}, f"{_POOL}.imageId"),
    irrelevant("OKE009", "doks-h200"),
    good("OKE010", "oke-h100-26-4", {"cluster.endpoint": {"public": True, "allowed": ["203.0.113.0/24"]}}),
    bad("OKE010", "oke-h100-26-4", {"cluster.endpoint.public": True}, "cluster.endpoint.allowed"),
    irrelevant("OKE010", "oke-h100-26-4"),
    good("OKE011", "oke-h100-26-4", {"cluster.endpoint": {"public": True, "allowed": ["203.0.113.0/24"]}}),
    bad(
        "OKE011",
        "oke-h100-26-4",
        {"cluster.endpoint": {"public": True, "allowed": ["203.0.113.0/24", "0.0.0.0/0", "::/0"]}},
        "cluster.endpoint.allowed[1]",
        "cluster.endpoint.allowed[2]",
    ),
    irrelevant("OKE011", "oke-h100-26-4", {"cluster.endpoint": {"public": False, "allowed": ["0.0.0.0/0"]}}),
    irrelevant("OKE011", "oke-h100-26-4"),
    good("OKE012", "oke-h100-26-4", {"cluster.version": "1.25.4"}),
    good("OKE012", "oke-h100-26-4", {"cluster.version": "1.27.10", "cluster.cni": "vcn-native"}),
    bad("OKE012", "oke-h100-26-4", {"cluster.version": "1.24.1"}, "cluster.version"),
    bad("OKE012", "oke-h100-26-4", {"cluster.version": "1.27.2", "cluster.cni": "vcn-native"}, "cluster.version"),
    irrelevant("OKE012", "oke-h100-26-4", {"cluster.version": "1.24.1", f"{_POOL}.placement": "compute-cluster"}),
    good("OKE013", "oke-h100-26-4", {"cluster.vcn.subnets": {"workers": "10.140.96.0/20"}}),
    bad(
        "OKE013", "oke-h100-26-4", {"cluster.vcn.subnets": {"workers": "10.141.0.0/20"}}, "cluster.vcn.subnets.workers"
    ),
    bad(
        "OKE013", "oke-h100-26-4", {"cluster.vcn.subnets": {"workers": "10.140.0.0/15"}}, "cluster.vcn.subnets.workers"
    ),
    bad(
        "OKE013", "oke-h100-26-4", {"cluster.vcn.subnets": {"bastion": "192.168.0.0/29"}}, "cluster.vcn.subnets.bastion"
    ),
    irrelevant(
        "OKE013", "oke-h100-26-4", {"cluster.vcn.subnets": {"workers": "10.141.0.0/20"}, "cluster.ranges.nodes": None}
    ),
    good("OKE014", "oke-h100-26-4", {"cluster.vcn.subnets": {"workers": "10.140.128.0/20"}}),
    bad(
        "OKE014",
        "oke-h100-26-4",
        {"cluster.vcn.subnets": {"workers": "10.140.64.0/20", "operator": "10.140.64.0/28"}},
        "cluster.vcn.subnets.workers",
    ),
    bad(
        "OKE014",
        "oke-h100-26-4",
        {"cluster.vcn.subnets": {"workers": "10.140.128.0/20"}, "cluster.cni": "vcn-native"},
        "cluster.vcn.subnets.workers",
    ),
    irrelevant("OKE014", "doks-h200"),
    good("OKE015", "oke-h100-26-4"),
    bad("OKE015", "oke-h100-26-4", {f"{_POOL}.shape": "BM.GPU.H100T.8"}, "fabric.model"),
    irrelevant("OKE015", "oke-h100-26-4", {f"{_POOL}.shape": "BM.GPU.H100T.8", "fabric.vfsPerNic": 0}),
    irrelevant(
        "OKE015",
        "sriov-per-node",
        {f"{_POOL}.shape": "gpu-h200x8-1128gb-fabric-contracted", "fabric.vfsPerNic": 1},
    ),
    irrelevant("OKE015", "oke-h100-26-4", {f"{_POOL}.shape": "BM.GPU.H100T.8", "fabric.model": "host-device"}),
    good("OKE040", "oke-h200"),
    good("OKE040", "oke-h200", {"cluster.ranges.pods": "10.140.128.0/17"}),
    good("OKE040", "oke-h100-26-4"),
    bad("OKE040", "oke-h200", {"cluster.ranges.pods": "10.240.0.0/12"}, "cluster.ranges.pods"),
    bad("OKE040", "oke-h100-26-4", {"cluster.cni": "vcn-native"}, "cluster.ranges.pods"),
    irrelevant(
        "OKE040",
        "oke-h200",
        {
            "cluster.ranges.pods": "10.240.0.0/12",
            "cluster.vcn.subnetIds": {"pods": "ocid1.subnet.oc1.us-chicago-1.aaaaaaaaexample"},
        },
    ),
    irrelevant("OKE040", "doks-h200"),
    good("OKE046", "oke-h100-26-4"),
    good("OKE046", "oke-h100-26-4", {"cluster.ranges.nodes": None}),
    bad("OKE046", "oke-h100-26-4", {"cluster.ranges.pods": "10.140.0.0/18"}, "cluster.ranges.pods"),
    bad("OKE046", "oke-h100-26-4", {"cluster.ranges.pods": "10.128.0.0/9"}, "cluster.ranges.pods"),
    bad(
        "OKE046",
        "oke-h100-26-4",
        {"cluster.ranges.nodes": "10.240.0.0/16", "cluster.ranges.pods": "10.240.0.0/16"},
        "cluster.ranges.pods",
    ),
    irrelevant("OKE046", "oke-h100-26-4", {"cluster.cni": "vcn-native", "cluster.ranges.pods": "10.140.0.0/18"}),
    irrelevant("OKE046", "host-device", {"cluster.ranges.pods": "10.0.0.0/16"}),
    good("OKE047", "oke-h100-26-4", {"cluster.ranges.pods": "10.244.0.0/22"}),
    bad("OKE047", "oke-h100-26-4", {"cluster.ranges.pods": "10.244.0.0/23"}, "cluster.ranges.pods"),
    bad("OKE047", "oke-h100-26-4", {"cluster.ranges.pods": "10.244.0.0/26"}, "cluster.ranges.pods"),
    bad(
        "OKE047",
        "oke-h100-26-4",
        {
            "cluster.ranges.pods": "10.244.0.0/22",
            f"{_POOL}.placement": "compute-cluster",
            f"{_POOL}.nodes": 5,
            f"{_POOL}.cycling": "instance-replace",
        },
        "cluster.ranges.pods",
    ),
    irrelevant("OKE047", "oke-h100-26-4", {"cluster.cni": "vcn-native", "cluster.ranges.pods": "10.244.0.0/26"}),
    good("OKE048", "oke-h100-26-4"),
    bad("OKE048", "oke-h100-26-4", {"cluster.pools": [_PAIR, _SECOND]}, "cluster.pools[1].placement"),
    bad(
        "OKE048",
        "oke-h100-26-4",
        {"cluster.pools": [{**_PAIR, "placement": "compute-cluster"}, _SECOND, {**_SECOND, "name": "third"}]},
        "cluster.pools[1].placement",
        "cluster.pools[2].placement",
    ),
    irrelevant("OKE048", "node-kinds"),
    good("OKE049", "oke-h100-26-4", {"fabric.addressing.supernet": "172.16.0.0/16"}),
    bad("OKE049", "oke-h100-26-4", {}, "fabric.addressing.supernet"),
    bad("OKE049", "roce-macvlan", {"fabric.addressing.supernet": "192.168.64.0/18"}, "fabric.addressing.supernet"),
    irrelevant("OKE049", "spiderpool-macvlan", {"fabric.addressing.supernet": "192.168.0.0/16"}),
    irrelevant("OKE049", "host-network"),
)
