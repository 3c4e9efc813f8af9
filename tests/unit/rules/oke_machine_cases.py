"""Cases of the group `oke` about constructs, volumes, metadata, and what runs on the nodes."""

from __future__ import annotations

from typing import Any

from rules.tables import bad, good, irrelevant

_POOL = "cluster.pools[0]"
_URI = f"{_POOL}.imageUri"
_STORE = "https://objectstorage.us-ashburn-1.oraclecloud.com"
_FABRICS = [f"ocid1.computegpumemoryfabric.oc1.iad.fabric{number}" for number in range(2)]
_RACK = {f"{_POOL}.shape": "BM.GPU.GB300.4", f"{_POOL}.placement": "gpu-memory-cluster"}
_ISLAND = "ocid1.hpcisland.oc1.iad.example"
_CLUSTER = "ocid1.cluster.oc1.iad.example"
_NODE_POOL = "ocid1.nodepool.oc1.iad.example"
_BLOCK = "ocid1.networkblock.oc1.iad.example"
_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExample someone@example"
_NO_PLUGIN = {"software.gpuOperator": {"values": {"devicePlugin": {"enabled": False}}}}
_NO_CHART = {"software.gpuOperator": {"install": False}}
_A100 = {f"{_POOL}.shape": "BM.GPU.A100-v2.8"}
_NETWORK = {"name": "gpu", "shape": "BM.GPU.H100.8", "nodes": 2, "availabilityDomain": "AD-1"}
_EACH = {**_NETWORK, "placement": "compute-cluster-instances"}
_RACK_POOL = {"shape": "BM.GPU.GB300.4", "placement": "gpu-memory-cluster"}


def _flex(shape: str, ocpus: int, memory: int) -> dict[str, Any]:
    return {"shape": shape, "ocpus": ocpus, "memoryGib": memory}


CASES = (
    good("OKE020", "oke-h100-26-4", {f"{_POOL}.placement": "compute-cluster",
        f"{_POOL}.bootVolume": {"vpusPerGib": 10}}),
    good("OKE020", "oke-h100-26-4", {f"{_POOL}.bootVolume": {"vpusPerGib": 20}}),
    bad("OKE020", "oke-h100-26-4", {f"{_POOL}.placement": "compute-cluster", f"{_POOL}.bootVolume": {"vpusPerGib": 20}},
        ".vpusPerGib"),
    irrelevant("OKE020", "doks-h200"),
    good("OKE021", "oke-h100-26-4", {f"{_POOL}.bootVolume": {"sizeGib": 250}}),
    bad("OKE021", "oke-h100-26-4", {f"{_POOL}.bootVolume": {"sizeGib": 249}}, ".sizeGib"),
    irrelevant("OKE021", "doks-h200"),
    good("OKE022", "oke-h100-26-4", {f"{_POOL}.boot": {"afterJoin": "x" * 10000}}),
    bad("OKE022", "oke-h100-26-4", {f"{_POOL}.boot": {"afterJoin": "x" * 20000}}),
    bad("OKE022", "oke-h100-26-4", {"cluster.access": {"sshPublicKeys": [f"{_KEY}-{number}" for number in range(500)]}},
        ".sshPublicKeys"),
    irrelevant("OKE022", "doks-h200"),
    good("OKE023", "oke-h100-26-4", {"cluster.version": "1.34.1"}),
    bad("OKE023", "oke-h100-26-4", {"cluster.version": "1.34"}),
    irrelevant("OKE023", "doks-h200"),
    good("OKE024", "oke-h100-26-4", {"cluster.addons": [{"name": "CertManager"}]}),
    good("OKE024", "oke-h100-26-4", {"cluster.addons": [{"name": "NvidiaGpuOperator"}], **_NO_CHART}),
    bad("OKE024", "oke-h100-26-4", {"cluster.addons": [{"name": "CertManager"}, {"name": "NvidiaGpuOperator"},
        {"name": "NodeFeatureDiscovery"}]}, "[1].name", "[2].name"),
    bad("OKE024", "oke-h100-26-4", {"cluster.addons": [{"name": "NvidiaGpuOperator"}]}, "[0].name"),
    bad("OKE024", "oke-h100-26-4", {"cluster.addons": [{"name": "NvidiaNetworkOperator"}]}, "[0].name"),
    bad("OKE024", "oke-h100-26-4", {"cluster.addons": [{"name": "NodeFeatureDiscovery"}]}, "[0].name"),
    irrelevant("OKE024", "oke-h100-26-4"),
    good("OKE025", "oke-h100-26-4", {"cluster.gpuPlugin": "operator"}),
    good("OKE025", "oke-h100-26-4", {"cluster.gpuPlugin": "managed", **_NO_PLUGIN}),
    bad("OKE025", "oke-h100-26-4", {"cluster.gpuPlugin": "managed"}),
    irrelevant("OKE025", "oke-h100-26-4", {"cluster.gpuPlugin": "managed", **_NO_CHART}),
    good("OKE026", "oke-h100-26-4", {**_RACK, f"{_POOL}.nodes": 18}),
    good("OKE026", "oke-h100-26-4", {**_RACK, f"{_POOL}.nodes": 17}),
    bad("OKE026", "oke-h100-26-4", {**_RACK, f"{_POOL}.nodes": 19}),
    bad("OKE026", "oke-h100-26-4", {**_RACK, f"{_POOL}.memoryFabricIds": _FABRICS, f"{_POOL}.nodes": 5}),
    irrelevant("OKE026", "oke-h100-26-4", {f"{_POOL}.nodes": 37}),
    good("OKE027", "oke-h100-26-4", {f"{_POOL}.hpcIslandId": _ISLAND, f"{_POOL}.networkBlockIds": [_BLOCK]}),
    bad("OKE027", "oke-h100-26-4", {f"{_POOL}.cycling": "instance-replace", f"{_POOL}.faultDomains": ["FAULT-DOMAIN-1"],
        f"{_POOL}.memoryFabricIds": _FABRICS}, f"{_POOL}.cycling", f"{_POOL}.faultDomains", f"{_POOL}.memoryFabricIds"),
    bad("OKE027", "oke-h100-26-4", {f"{_POOL}.networkBlockIds": [_BLOCK]}),
    bad("OKE027", "oke-h100-26-4", {f"{_POOL}.autoScale": {"minNodes": 1, "maxNodes": 8}}),
    irrelevant("OKE027", "doks-h200"),
    good("OKE030", "oke-h100-26-4", {**_A100, "cluster.region": "us-phoenix-1"}),
    bad("OKE030", "oke-h100-26-4", _A100, "cluster.region"),
    irrelevant("OKE030", "oke-h100-26-4"),
    irrelevant("OKE030", "oke-h100-26-4", {**_A100, "fabric": {"model": "host-network"}}),
    good("OKE031", "oke-h100-26-4", {"cluster.kubeconfig": {"mode": "token", "tokenSecret": "deployer-token"}}),
    bad("OKE031", "oke-h100-26-4", {"cluster.kubeconfig": {"mode": "token"}}, ".tokenSecret"),
    irrelevant("OKE031", "doks-h200"),
    good("OKE034", "oke-h100-26-4"),
    bad("OKE034", "oke-h100-26-4", {f"{_POOL}.availabilityDomain": None}),
    irrelevant("OKE034", "doks-h200"),
    good("OKE038", "oke-h100-26-4"),
    bad("OKE038", "oke-h100-26-4", {"cluster.identity": {"create": False}}, ".create"),
    irrelevant("OKE038", "oke-h100-26-4", {"cluster.identity": {"create": False},
        f"{_POOL}.placement": "compute-cluster"}),
    good("OKE039", "oke-h100-26-4", {"cluster.installed": ["gpu-operator"]}),
    bad("OKE039", "oke-h100-26-4", _NO_PLUGIN, ".values.devicePlugin.enabled"),
    bad("OKE039", "oke-h100-26-4", _NO_CHART, "cluster.gpuPlugin"),
    irrelevant("OKE039", "oke-h100-26-4", {"cluster.gpuPlugin": "managed", **_NO_CHART}),
    good("OKE041", "oke-h100-26-4", {"cluster.pools": [_EACH, {**_EACH, "name": "gpu-b1"}]}),
    bad("OKE041", "oke-h100-26-4", {"cluster.pools": [{**_NETWORK, "name": "gpu-64"}, _EACH]}, "[0].name"),
    bad("OKE041", "oke-h100-26-4", {"cluster.pools": [{**_EACH, **_RACK_POOL},
        {**_EACH, **_RACK_POOL, "name": "gpu-0"}]}, "[1].name"),
    irrelevant("OKE041", "oke-h100-26-4", {"cluster.pools": [_NETWORK, {**_NETWORK, "name": "gpu-1"}]}),
    good("OKE042", "oke-h100-26-4", {_URI: f"{_STORE}/n/mine/b/images/o/gpu"}),
    bad("OKE042", "oke-h100-26-4", {_URI: f"{_STORE}/p/s3cr3t/n/mine/b/images/o/gpu"}),
    irrelevant("OKE042", "oke-h100-26-4"),
    good("OKE044", "oke-h100-26-4", {"cluster.systemPool": {"ocpus": 4, "memoryGib": 256}}),
    bad("OKE044", "oke-h100-26-4", {"cluster.systemPool": {"ocpus": 1, "memoryGib": 1024}}, ".memoryGib"),
    bad("OKE044", "oke-h100-26-4", {"cluster.systemPool": {"ocpus": 8, "memoryGib": 4}}, ".memoryGib"),
    bad("OKE044", "oke-h100-26-4", {"cluster.systemPool": {"shape": "BM.GPU.H100.8"}}, ".shape"),
    bad("OKE044", "oke-h100-26-4", {"cluster.systemPool": {"shape": "VM.GPU.A10.1"}}, ".shape"),
    good("OKE044", "oke-h100-26-4", {"cluster.systemPool": _flex("VM.Standard.A1.Flex", 76, 472)}),
    good("OKE044", "oke-h100-26-4", {"cluster.systemPool": _flex("VM.Standard.X9.Flex", 100, 2000)}),
    bad("OKE044", "oke-h100-26-4", {"cluster.systemPool": _flex("VM.Standard.A1.Flex", 76, 473)}, ".memoryGib"),
    bad("OKE044", "oke-h100-26-4", {"cluster.systemPool": _flex("VM.Optimized3.Flex", 19, 64)}, ".ocpus"),
    irrelevant("OKE044", "doks-h200"),
    good("OKE050", "oke-h100-26-4", {"cluster.adopt": {"cluster": _CLUSTER, "system-pool": _NODE_POOL}}),
    bad("OKE050", "oke-h100-26-4", {"cluster.adopt": {"pool-other": _NODE_POOL}}, ".pool-other"),
    bad("OKE050", "oke-h100-26-4", {"cluster.adopt": {"pool-gpu": _NODE_POOL}}, ".pool-gpu"),
    bad("OKE050", "oke-h100-26-4", {"cluster.addons": [{"name": "CertManager"}],
        "cluster.adopt": {"addon-certmanager": _CLUSTER}}, ".addon-certmanager"),
    irrelevant("OKE050", "doks-h200"),
)  # fmt: skip
