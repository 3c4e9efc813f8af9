"""Clusters that Oracle makes: ids, constructs, volumes, add-ons, ways in."""

from __future__ import annotations

from negative.mistake import Kind, together, written
from negative.oke_mistakes import POOL, at, below, changed_keys, joining

_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExample someone@example"
_NO_PLUGIN = {"software.gpuOperator": {"values": {"devicePlugin": {"enabled": False}}}}

CLUSTERS = (
    Kind(
        "an id belongs to another region or realm",
        "OKE016",
        together(
            at("cluster.compartmentId", "ocid1.compartment.oc2..aaaa"),
            at("cluster.tenancyId", "ocid1.tenancy.oc3..aaaa"),
            at("cluster.vcn.id", "ocid1.vcn.oc1.lhr.aaaa", "ocid1.vcn.oc1.eu-paris-1.aaaa"),
            at(f"{POOL}.hostGroupId", "ocid1.computehostgroup.oc1.lhr.aaaa"),
            changed_keys("cluster.compartmentId", {"cluster.region": "us-gov-phoenix-1"}),
            at("cluster.identity.homeRegion", "us-luke-1"),
        ),
    ),
    Kind("the VCN's range is missing", "OKE018", at("cluster.ranges.nodes", None)),
    Kind(
        "a VCN that exists has no routes for new subnets",
        "OKE019",
        changed_keys("cluster.vcn.routeTableIds.private", {"cluster.vcn.id": "ocid1.vcn.oc1..aaaa"}),
    ),
    Kind(
        "a node pool is to have volumes of a certain performance",
        "OKE020",
        changed_keys(
            f"{POOL}.bootVolume.vpusPerGib",
            {f"{POOL}.placement": "compute-cluster", f"{POOL}.bootVolume": {"vpusPerGib": 20}},
        ),
    ),
    Kind(
        "the metadata of a machine are too long",
        "OKE022",
        together(
            below(f"{POOL}.boot", "", {"beforeJoin": "sleep 1\n" * 3000}),
            at("cluster.access.sshPublicKeys", [f"{_KEY}-{number}" for number in range(600)]),
        ),
    ),
    Kind("the version of Oracle's Kubernetes has no patch", "OKE023", at("cluster.version", "1.34", "1.27")),
    Kind(
        "an add-on brings what a chart brings",
        "OKE024",
        together(
            *(
                below("cluster.addons", "[0].name", [{"name": name}])
                for name in ("NvidiaGpuOperator", "NvidiaNetworkOperator", "NodeFeatureDiscovery")
            )
        ),
    ),
    Kind("two device plug-ins advertise the GPUs", "OKE025", at("cluster.gpuPlugin", "managed")),
    Kind(
        "nobody advertises the GPUs of Oracle's machines",
        "OKE039",
        changed_keys("software.gpuOperator.values.devicePlugin.enabled", _NO_PLUGIN),
    ),
    Kind(
        "the nodes do not fit the memory fabrics",
        "OKE026",
        changed_keys(
            f"{POOL}.nodes",
            {
                f"{POOL}.shape": "BM.GPU.GB300.4",
                f"{POOL}.placement": "gpu-memory-cluster",
                f"{POOL}.nodes": 19,
            },
        ),
    ),
    Kind(
        "a key of a pool means nothing to its placement",
        "OKE027",
        together(
            written(f"{POOL}.cycling", "instance-replace", where=joining),
            at(f"{POOL}.memoryFabricIds", ["ocid1.computegpumemoryfabric.oc1..aaaa"]),
            written(f"{POOL}.faultDomains", ["FAULT-DOMAIN-2"], where=joining),
            at(f"{POOL}.networkBlockIds", ["ocid1.networkblock.oc1..aaaa"]),
        ),
    ),
    Kind(
        "nobody can come in by the bastion",
        "OKE028",
        together(
            below("cluster.access", ".allowed", {"mode": "bastion-service"}),
            below("cluster.access", ".sshPublicKeys", {"mode": "bastion-host", "allowed": ["203.0.113.0/24"]}),
        ),
    ),
    Kind(
        "the kubeconfig's mode and secret do not go together",
        "OKE031",
        together(
            below("cluster.kubeconfig", ".tokenSecret", {"mode": "token"}, {"mode": "exec", "tokenSecret": "token"})
        ),
    ),
    Kind(
        "the worker subnet is too small",
        "OKE033",
        below("cluster.vcn.subnets", ".workers", {"workers": "10.140.64.0/31"}),
    ),
    Kind(
        "subnets exist in a VCN that does not",
        "OKE035",
        at("cluster.vcn.subnetIds", {"workers": "ocid1.subnet.oc1..aaaa"}),
    ),
    Kind("the VCN is too small for the published plan", "OKE036", at("cluster.ranges.nodes", "10.140.0.0/20")),
    Kind(
        "a range of Oracle's cluster is IPv6",
        "OKE037",
        together(at("cluster.ranges.services", "fd00:20::/108"), at("cluster.ranges.pods", "fd00:20::/56")),
    ),
)
