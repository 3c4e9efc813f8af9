"""Cases of the group `claims`."""

from __future__ import annotations

from typing import Any

from rules.tables import bad, good, irrelevant

_CLAIMS = "fabric.claims"
_SIZES = "fabric.claims.sizes"
_OWN = "fabric.claims.parameters"
_OKE, _IB, _OTHER = "dranet-oke", "dranet-infiniband", "host-device"
_IMAGE = "software.dranet.values.image.tag"
_ANSWERED, _DEVICES = "sriov-claims", "fabric.devices"
_DRIVER, _VALUES = "software.gpuDraDriver", "software.gpuDraDriver.values"
_AMD = {
    "amd": {
        "gpus": {"vendor": "amd", "count": 8},
        "nicModel": {"linkType": "infiniband"},
        "nics": [{"interface": f"ib{n}", "pci": f"0000:0{n}:00.0", "nearestGpu": n} for n in range(8)],
    }
}
_INSTINCT = {"cluster.pools[0].shape": "BM.GPU.MI355X-v1.8", "fabric.claims.gpus": "claims"}
_ROCE = {"fabric.linkType": "ether"}

_LAST = "controllerManagerConfigYaml"
_TEXT = f"managerConfig.{_LAST}"


def _configuration(name: str) -> dict[str, Any]:
    """Values of Kueue's chart with a configuration that knows one class."""
    text = f"resources: {{deviceClassMappings: [{{name: {name}, deviceClassNames: [{name}]}}]}}"
    return {"managerConfig": {_LAST: text}}


_HOSTS = "dranet-own-shape"
_RANGE = {"layout": "per-rail", "supernet": "172.16.0.0/16"}
_SHARED = [{"name": "team-a", "share": {"nodes": 1}}]

_RACKS, _DOMAINS, _KUEUE = "domains", "fabric.domains", "software.schedulers.kueue"
_GATES = (
    "{KueueDRAIntegration: false, KueueDRAIntegrationExtendedResource: false, "
    "KueueDRAIntegrationPartitionableDevices: false, KueueDRARejectWorkloadsWhenDRADisabled: false}"
)
_RUBIN = {
    "rubin": {
        "gpus": {"vendor": "nvidia", "model": "VR200", "count": 4},
        "nicModel": {"linkType": "ether"},
        "nics": [{"interface": f"nic{n}", "pci": f"0000:0{n}:00.0", "nearestGpu": n} for n in range(4)],
    }
}

CASES = (
    good("DRA001", _OKE),
    bad("DRA001", _OTHER, {_CLAIMS: {"nri": True}}),
    irrelevant("DRA001", _OTHER),
    good("DRA002", _IB),
    bad("DRA002", _IB, {"fabric.claims.gpus": "plugin"}, _SIZES),
    irrelevant("DRA002", _OTHER, {_SIZES: ["pair"]}),
    good("DRA003", _IB, {_SIZES: ["pci-root", "pair"]}),
    good("DRA003", _OKE, {_CLAIMS: {"sizes": ["pci-root"], "gpus": "claims"}}),
    bad("DRA003", _OKE, {"cluster.pools[0].shape": "BM.GPU.GB200-v3.4", _CLAIMS: {"sizes": ["pair"]}},
        _SIZES),
    bad("DRA003", _IB, {"cluster.pools[0].shape": "server.hgx-b200.8"}, _SIZES),
    irrelevant("DRA003", _OKE, {"cluster.pools[0].shape": "BM.GPU.GB200-v3.4"}),
    good("DRA004", _OKE, {"fabric.claims.gpus": "claims"}),
    bad("DRA004", _IB, {"cluster.shapes": {"wide": {"gpus": {"vendor": "nvidia", "count": 16},
        "nicModel": {"linkType": "ether"}, "nics": [{"interface": f"nic{n}"} for n in range(20)]}},
        "cluster.pools[0].shape": "wide"}, _SIZES),
    irrelevant("DRA004", _OTHER),
    good("DRA005", _OKE),
    bad("DRA005", _OKE, {_CLAIMS: {}}, "fabric.claims.nri"),
    irrelevant("DRA005", _OTHER),
    good("DRA006", _OKE, {_OWN: {"interface": {"gsoMaxSize": 65536}, "ethtool": {"features": {"rx-gro": True}},
        "routes": [{"destination": "10.0.0.0/8", "gateway": "10.1.0.1", "table": 7},
                   {"destination": "10.0.0.0/8", "scope": 253}]}}),
    *(bad("DRA006", _OKE, {_OWN: own}, place) for own, place in (
        ({"interface": {"arpIgnore": 1}}, ".interface.arpIgnore"),
        ({"mtu": 9000}, ".mtu"),
        ({"interface": {"mtu": 60}}, ".interface.mtu"),
        ({"interface": {"mtu": "9000"}}, ".interface.mtu"),
        ({"interface": {"name": "rail0"}}, ".interface.name"),
        ({"interface": {"addresses": ["10.0.0.1/24"]}}, ".interface.addresses"),
        ({"interface": {"dhcp": True}}, ".interface.dhcp"),
        ({"profile": "fast"}, ".profile"),
        ({"interface": {"hardwareAddr": "no"}}, ".interface.hardwareAddr"),
        ({"interface": {"vrf": {"table": 7}}}, ".interface.vrf"),
        ({"interface": {"vrf": {"name": "a"}}, "rules": [{"table": 7}]}, ".rules"),
        ({"rules": [{"priority": 40000}]}, ".rules.priority"),
        ({"routes": [{"destination": "10.0.0.0/8"}]}, ".routes[0]"),
        ({"routes": [{"scope": 253}]}, ".routes[0]"),
        ({"routes": [{"destination": "10.0.0.0/8", "scope": 200}]}, ".routes[0]"),
        ({"routes": [{"destination": "10.0.0.0/8", "gateway": "fd00::1"}]}, ".routes[0]"),
        ({"routes": [{"destination": "10.0.0.1", "scope": 253}]}, ".routes.destination"),
    )),
    bad("DRA006", _IB, {_OWN: {"interface": {"gsoMaxSize": 65536}}}, ".interface"),
    irrelevant("DRA006", _OTHER, {_OWN: {"mtu": 9000}}),
    good("DRA007", _OKE),
    good("DRA007", _OKE, {"fabric.readiness": {"closes": "rail"}}),
    bad("DRA007", _OKE, {"fabric.readiness": {"closes": "rail", "pair": {}}}, ".pair"),
    *(bad("DRA007", _OKE, {f"fabric.{key}": value}) for key, value in (
        ("check", {}),
        ("readiness", {}),
        ("dpdk", {"hugePages": "4Gi", "cpus": 4, "memory": "8Gi"}),
        ("pkey", "0x10"),
        ("defaultNetwork", "kube-system/calico"),
    )),
    good("DRA007", _OKE, {"fabric.namespaces": _SHARED}),
    bad("DRA007", _OKE, {"fabric.namespaces": _SHARED, "software.schedulers": {"volcano": {}}},
        "fabric.namespaces[0].share"),
    irrelevant("DRA007", _OTHER, {"fabric.pkey": "0x10"}),
    good("DRA008", _IB),
    good("DRA008", _OKE, {"fabric.rdmaMode": "shared"}),
    bad("DRA008", _IB, {"fabric.rdmaMode": "shared"}),
    irrelevant("DRA008", _OTHER, {"fabric.rdmaMode": "shared"}),
    good("DRA009", _IB),
    good("DRA009", _OKE, {"software.gpuOperator.values.devicePlugin.enabled": True}),
    bad("DRA009", _IB, {"software.gpuOperator.values.devicePlugin.enabled": True}),
    bad("DRA009", _IB, {"software.gpuOperator.mig": "single"}),
    *(bad("DRA009", _IB, {"software.gpuOperator.values": values}, place) for values, place in (
        ({"devicePlugin": {"config": {"name": "time-slicing"}}}, ".devicePlugin.config"),
        ({"devicePlugin": {"mps": {"root": "/run/mps"}}}, ".devicePlugin.mps"),
    )),
    bad("DRA009", _IB, {"cluster.pools[0].labels": {"nvidia.com/mig.config": "all-1g.10gb"}}, ".nvidia.com/mig.config"),
    good("DRA009", _IB, {"cluster.pools[0].labels": {"nvidia.com/mig.config": "all-disabled"}}),
    bad("DRA009", _OKE, {"fabric.claims.gpus": "claims", "software.gpuDraDriver": {}, "cluster.gpuPlugin": "managed"}),
    good("DRA009", _OKE, {"fabric.claims.gpus": "claims", "software.gpuDraDriver": {}}),
    irrelevant("DRA009", _OTHER, {"software.gpuOperator.mig": "single"}),
    good("DRA010", _OKE, {_IMAGE: "v1.3.0"}),
    bad("DRA010", _OKE, {_IMAGE: "v1.2.0"}),
    irrelevant("DRA010", _OTHER, {_IMAGE: "v1.2.0"}),
    good("DRA011", _OKE, {"fabric.claims.interfaceNames": "rails"}),
    bad("DRA011", _IB, {"fabric.claims.interfaceNames": "rails"}),
    bad("DRA011", _OKE, {"fabric.claims.interfaceNames": "rails", "cluster.pools": [{"name": name, "nodes": 1,
        "shape": shape, "availabilityDomain": "AD-1"} for name, shape in (("a", "BM.GPU.H100.8"),
        ("b", "BM.GPU.B200.8"))]}, "fabric.claims.interfaceNames"),
    irrelevant("DRA011", _OTHER, {"fabric.claims.interfaceNames": "rails"}),
    good("DRA012", _OKE),
    bad("DRA012", _OKE, {"fabric.claims.gpus": "claims"}),
    good("DRA012", _IB),
    good("DRA012", _OKE, {"fabric.claims.gpus": "claims", _DRIVER: {"install": False}}),
    bad("DRA012", _IB, {_DRIVER: None}, "fabric.claims.gpus"),
    good("DRA012", "dranet", {**_INSTINCT, "software.amdGpuOperator": {}}),
    bad("DRA012", "dranet", {**_INSTINCT, _DRIVER: {}}, "fabric.claims.gpus"),
    irrelevant("DRA012", _OTHER, {"fabric.claims.gpus": "claims"}),
    good("DRA013", _OKE),
    good("DRA013", _OKE, {"software.schedulers.kueue": {}}),
    good("DRA013", _OKE, {"software.schedulers.kueue.values": _configuration("fabric-nics")}),
    bad("DRA013", _OKE, {"software.schedulers.kueue": {"install": False}}, ".install"),
    bad("DRA013", _OKE, {"software.schedulers.kueue.values": _configuration("others")}, f".{_TEXT}"),
    bad("DRA013", _OKE, {"software.schedulers.kueue.values": {"managerConfig": {_LAST: "{"}}}, f".{_TEXT}"),
    bad("DRA013", _OKE, {"software.schedulers.kueue": {"topology": ["topology.kubernetes.io/zone"]}}, ".topology"),
    irrelevant("DRA013", _OTHER, {"software.schedulers.kueue": {}}),
    good("DRA014", _OKE),
    bad("DRA014", _OKE, {"software.schedulers.volcano": {}}),
    irrelevant("DRA014", _OTHER, {"software.schedulers.volcano": {}}),
    good("DRA015", _IB),
    bad("DRA015", _OKE, {_DRIVER: {}}),
    bad("DRA015", _OTHER, {_DRIVER: {}}),
    bad("DRA015", _IB, {"cluster.shapes": _AMD, "cluster.pools[0].shape": "amd"}, _DRIVER),
    irrelevant("DRA015", _OTHER),
    good("DRA016", _IB, {_VALUES: {"resources": {"gpus": {"enabled": True}}, "nvidiaDriverRoot": "/opt/nvidia",
        "featureGates": {"IMEXDaemonsWithDNSNames": False, "ComputeDomainCliques": False, "DynamicMIG": False}}}),
    good("DRA016", _IB, {"software.gpuOperator": {"driver": True, "values": {"driver": {"version": "580.126.20"}}}}),
    *(bad("DRA016", _IB, {_VALUES: values}, place) for values, place in (
        ({"resources": {"gpus": {"enabled": False}}}, ".resources.gpus.enabled"),
        ({"gpuResourcesEnabledOverride": False}, ".gpuResourcesEnabledOverride"),
        ({"namespaceOverride": "default"}, ".namespaceOverride"),
        ({"featureGates": {"HostManagedIMEXDaemon": True}}, ".featureGates.HostManagedIMEXDaemon"),
        ({"featureGates": {"DynamicMIG": True, "PassthroughSupport": True}}, ".featureGates.PassthroughSupport"),
        ({"featureGates": {"PassthroughSupport": True, "NVMLDeviceHealthCheck": True}},
            ".featureGates.NVMLDeviceHealthCheck"),
        ({"featureGates": {"DeviceMetadata": True}}, ".featureGates.DeviceMetadata"),
        ({"featureGates": {"IMEXDaemonsWithDNSNames": False}}, ".featureGates.IMEXDaemonsWithDNSNames"),
    )),
    bad("DRA016", _IB, {"software.gpuOperator.driver": True, _VALUES: {"nvidiaDriverRoot": "/"}}, ".nvidiaDriverRoot"),
    bad("DRA016", _IB, {"software.gpuOperator": {"driver": True, "values": {"driver": {"version": "550.90.07"}}}},
        ".values.driver.version"),
    irrelevant("DRA016", _OTHER),
    irrelevant("DRA016", _IB, {_DRIVER: {"install": False, "values": {"resources": {"gpus": {"enabled": False}}}}}),
    good("DRA021", "dranet-gb200"),
    good("DRA021", _OKE, {_SIZES: ["numa-node"]}),
    bad("DRA021", _OKE, {_SIZES: ["numa-node"], "cluster.pools[0].shape": "BM.GPU.B300.8"}, _SIZES),
    bad("DRA021", _OKE, {_CLAIMS: {"sizes": ["numa-node"], "gpus": "claims"}}, _SIZES),
    bad("DRA021", "dranet-own-shape", {"cluster.shapes.hgx-b200.nics[0].numaNode": 1,
        _CLAIMS: {"sizes": ["numa-node"]}}, _SIZES),
    irrelevant("DRA021", _OTHER, {_SIZES: ["numa-node"]}),
    good("DRA022", _OKE),
    bad("DRA022", _OKE, {_SIZES: ["numa-node"]}, _SIZES),
    irrelevant("DRA022", _OTHER, {_SIZES: ["numa-node"]}),
    good("DRA023", _HOSTS),
    good("DRA023", _OKE),
    bad("DRA023", _HOSTS, {"fabric.hostPreparation": {}, "cluster.pools[0].nodeNames": []},
        "fabric.hostPreparation.addresses"),
    bad("DRA023", _HOSTS, {"cluster.shapes.hgx-b200": {"gpus": {"vendor": "nvidia", "count": 1},
        "nicModel": {"linkType": "ether"}, "nics": [{"interface": "rdma0", "nearestGpu": 0}]}}, "fabric.rails"),
    bad("DRA023", _IB, {"fabric.addressing": _RANGE}, "fabric.addressing.layout"),
    bad("DRA023", _OKE, {"fabric.addressing": _RANGE}, "fabric.addressing.layout"),
    irrelevant("DRA023", "host-device"),
    good("DRA024", _OKE),
    bad("DRA024", _HOSTS, {}, "fabric.hostPreparation.addresses"),
    irrelevant("DRA024", "sriov-per-node"),
    good("DRA017", _ANSWERED),
    good("DRA017", _ANSWERED, {"software.releaseLine": "26.4", "fabric.virtualFunctions": "sriov-operator"}),
    bad("DRA017", _OKE, {_DEVICES: "claims"}),
    bad("DRA017", "spiderpool-sriov-per-node", {_DEVICES: "claims"}),
    bad("DRA017", _OTHER, {_DEVICES: "claims"}),
    bad("DRA017", _ANSWERED, {"fabric.virtualFunctions": "node-image"}, _DEVICES),
    bad("DRA017", _ANSWERED, {"software.sriovOperator.install": False}, _DEVICES),
    bad("DRA017", _ANSWERED, {"software.networkOperator.install": False}, _DEVICES),
    bad("DRA017", _ANSWERED, {"software.releaseLine": "26.1"}, _DEVICES),
    bad("DRA017", _ANSWERED, {"cluster.kubernetes": "1.35.4"}),
    irrelevant("DRA017", "externally-managed", {"software.releaseLine": "26.1"}),
    bad("DRA018", "externally-managed", {_DEVICES: "claims"}),
    good("DRA018", "externally-managed"),
    irrelevant("DRA018", _OTHER),
    good("DRA019", _ANSWERED),
    bad("DRA019", _ANSWERED, {"software.schedulers.volcano": {}}),
    bad("DRA019", _ANSWERED, {"software.schedulers.kueue.topology": ["topology.kubernetes.io/zone"]}),
    irrelevant("DRA019", "externally-managed", {"software.schedulers.volcano": {}}),
    good("DRA013", _RACKS),
    good("DRA013", _RACKS, {_KUEUE: {"topology": ["nvidia.com/gpu.clique", "kubernetes.io/hostname"]}}),
    good("DRA013", _RACKS, {_KUEUE: {"values": {"managerConfig": {_LAST: f"featureGates: {_GATES}"}}}}),
    bad("DRA013", _RACKS, {f"{_KUEUE}.values": {"managerConfig": {_LAST: "featureGates: {A: true}"}}}, f".{_TEXT}"),
    bad("DRA013", _RACKS, {f"{_KUEUE}.values": {"controllerManager": {"featureGates": [{"name": "A"}]}}},
        ".controllerManager.featureGates"),
    bad("DRA013", _RACKS, {_KUEUE: {"install": False}}, ".install"),
    bad("DRA014", _RACKS, {"software.schedulers": {"volcano": {}}}, "software.schedulers.volcano"),
    good("DRA015", _RACKS),
    bad("DRA015", _RACKS, {_DOMAINS: None}, _DRIVER),
    good("DRA016", _RACKS, {"software.gpuOperator": {"driver": True, "values": {"driver": {"version": "570.158.01"}}}}),
    *(bad("DRA016", _RACKS, {_VALUES: values}, place) for values, place in (
        ({"resources": {"gpus": {"enabled": True}}}, ".resources.gpus.enabled"),
        ({"gpuResourcesEnabledOverride": True}, ".gpuResourcesEnabledOverride"),
        ({"resources": {"computeDomains": {"enabled": False}}}, ".resources.computeDomains.enabled"),
        ({"featureGates": {"IMEXDaemonsWithDNSNames": False, "ComputeDomainCliques": False}},
            ".featureGates.IMEXDaemonsWithDNSNames"),
    )),
    bad("DRA016", _RACKS, {"software.gpuOperator": {"driver": True, "values": {"driver": {"version": "570.148.08"}}}},
        ".values.driver.version"),
    good("DRA025", _RACKS),
    bad("DRA025", _OTHER, {_DOMAINS: {}}),
    irrelevant("DRA025", _OTHER),
    good("DRA026", _RACKS),
    good("DRA026", _RACKS, {_DRIVER: {"install": False}}),
    bad("DRA026", _RACKS, {_DRIVER: None}, _DOMAINS),
    irrelevant("DRA026", _OTHER),
    good("DRA027", _RACKS),
    bad("DRA027", _RACKS, {f"{_DOMAINS}.imex": "host"}),
    irrelevant("DRA027", _OTHER),
    good("DRA028", _RACKS),
    good("DRA028", _RACKS, {_DOMAINS: {"imex": "host"}}),
    bad("DRA028", _RACKS, {_DOMAINS: {}}, f"{_DOMAINS}.serviceMasked"),
    irrelevant("DRA028", "dranet-gb200"),
    good("DRA029", _RACKS, {"cluster.pools[0].nodes": 18}),
    bad("DRA029", _RACKS, {"cluster.pools[0].nodes": 19}),
    bad("DRA029", "dranet-gb200", {_DOMAINS: {}, "cluster.pools[0].memoryFabricIds": [
        f"ocid1.computegpumemoryfabric.oc1..aaaaaaaaexample{n}" for n in "ab"]}),
    irrelevant("DRA029", _RACKS, {_DOMAINS: None, "cluster.pools[0].nodes": 19}),
    good("DRA030", _RACKS),
    good("DRA030", "dranet-gb200", {_DOMAINS: {}}),
    bad("DRA030", _RACKS, {"cluster.pools[0].labels": {}}, "cluster.pools"),
    bad("DRA030", _RACKS, {"cluster.pools[1].labels": {"example.com/rack": "a"}}, "cluster.pools", "cluster.pools"),
    irrelevant("DRA030", _RACKS, {_DOMAINS: None, "cluster.pools[0].labels": {}}),
    good("DRA031", _RACKS, {f"{_DOMAINS}.namespace": "training"}),
    bad("DRA031", _RACKS, {f"{_DOMAINS}.namespace": "elsewhere"}),
    irrelevant("DRA031", _OTHER),
    good("DRA032", _RACKS),
    bad("DRA032", _OTHER, {"cluster.shapes": _RUBIN, "cluster.pools[0].shape": "rubin", _DOMAINS: {}}),
    irrelevant("DRA032", _OTHER, {"cluster.shapes": _RUBIN, "cluster.pools[0].shape": "rubin"}),
)  # fmt: skip
