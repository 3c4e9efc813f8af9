"""Cases of the group `doks` about what the stack makes in and around the cluster: operators, networks, a VPC."""

from __future__ import annotations

from rules.alterations import with_addresses_on_rail_0, with_plug_in, without_cni_plugins
from rules.tables import bad, broken, good, irrelevant

_POOL = "cluster.pools[0]"
_ID, _OTHER_ID = "5a4981aa-9653-4bd1-bef5-d6bff52042e4", "c33931f2-a26a-4e61-b85c-4e95a2ec431b"
_GPU = "software.gpuOperator"
_ALLOWED = "cluster.controlPlaneFirewall.allowed"
_ALWAYS = {"cluster.versionApplies": "always"}
_MAY_GO = {"resource": "cluster-doks", "expires": "2026-12-01", "reason": "an older version is wanted"}
_BY_OPERATOR = {"cluster.plugins.gpu": "operator"}

CREATED = (
    good("DOK037", "doks-h200", _BY_OPERATOR),
    bad("DOK037", "doks-h200", {f"{_GPU}": {"install": True, "driver": True, "toolkit": True,
        "values": {"devicePlugin": {"enabled": True}}}}, ".driver", ".toolkit", ".values.devicePlugin.enabled"),
    irrelevant("DOK037", "doks-h200"),
    good("DOK038", "doks-h200", {f"{_POOL}.name": "system-gpu"}),
    bad("DOK038", "doks-h200", {f"{_POOL}.name": "system"}),
    irrelevant("DOK038", "oke-h100-26-4", {f"{_POOL}.name": "system"}),
    good("DOK039", "doks-h200", {**_ALWAYS, "cluster.protect": True}),
    good("DOK039", "doks-h200", {**_ALWAYS, "guard": {"acknowledge": [_MAY_GO]}}),
    bad("DOK039", "doks-h200", _ALWAYS),
    irrelevant("DOK039", "doks-h200"),
    good("DOK040", "doks-h200", {"cluster.installed": ["gpu-operator", "sriov-operator"]}),
    bad("DOK040", "doks-h200", {"cluster.installed": ["nfd", "network-operator"]}, "[1]"),
    irrelevant("DOK040", "spiderpool-ib", {"cluster.installed": ["network-operator"]}),
    good("DOK041", "doks-b300", {"software.cniPlugins": "node-image"}),
    broken("DOK041", "doks-b300", with_plug_in("host-device"), "fabric.rails"),
    broken("DOK041", "doks-h200", with_plug_in("ip-preserving-host-device"), "fabric.rails"),
    broken("DOK041", "doks-b300", without_cni_plugins, "software.cniPlugins"),
    irrelevant("DOK041", "host-device"),
    good("DOK042", "doks-b300"),
    broken("DOK042", "doks-b300", with_addresses_on_rail_0, "fabric.rails"),
    broken("DOK042", "doks-h200", with_addresses_on_rail_0, "fabric.rails"),
    irrelevant("DOK042", "host-device"),
    good("DOK043", "doks-h200", {"software.multus.memory": "200Mi"}),
    bad("DOK043", "doks-h200", {"software.multus.memory": "199Mi"}),
    irrelevant("DOK043", "doks-h200", {"software.multus.memory": "50Mi", "cluster.installed": ["multus"]}),
    good("DOK044", "doks-h200", {"software.multus.image": "registry.example:5000/multus-cni:v4.3.0-thick"}),
    good("DOK044", "doks-h200", {"software.multus.image": f"registry.example/multus-cni@sha256:{64 * '0'}"}),
    bad("DOK044", "doks-h200", {"software.multus.image": "registry.example:5000/multus-cni"}),
    bad("DOK044", "doks-h200", {"software.multus.image": "multus-cni:snapshot-thick"}),
    irrelevant("DOK044", "host-device"),
    good("DOK045", "doks-h200", {"software.multus.memory": "1Gi"}),
    bad("DOK045", "doks-h200", {"software.multus": {"memory": "1Gi", "image": "a/b:v4.3.0-thick"},
        "cluster.installed": ["multus"]}, "software.multus.image", "software.multus.memory"),
    bad("DOK045", "host-device", {"software.multus.memory": "1Gi"}),
    irrelevant("DOK045", "host-device"),
    good("DOK046", "doks-h200", {"cluster.vpc": {"id": _ID, "natGateway": True}}),
    good("DOK046", "doks-h200", {"cluster.vpc.natGateway": True, "cluster.adopt.vpc": _ID}),
    bad("DOK046", "doks-h200", {"cluster.vpc.natGateway": True}),
    irrelevant("DOK046", "doks-h200"),
    good("DOK047", "doks-h200", {_ALLOWED: ["203.0.113.0/24", "0.0.0.0/0"]}),
    bad("DOK047", "doks-h200", {_ALLOWED: ["203.0.113.7/32"]}),
    irrelevant("DOK047", "doks-h200"),
    good("DOK048", "doks-h200", {f"{_POOL}.taints": [{"key": "team", "value": "vision"}]}),
    bad("DOK048", "doks-h200", {"cluster.pools[0].taints": [{"key": "team"}]}, "[0]"),
    irrelevant("DOK048", "oke-h100-26-4", {f"{_POOL}.taints": [{"key": "team"}]}),
    good("DOK049", "doks-h200", {"cluster.createMinutes": 60}),
    bad("DOK049", "doks-h200", {"cluster.createMinutes": 59}),
    irrelevant("DOK049", "oke-h100-26-4"),
    good("DOK050", "doks-h200", {"cluster.destroyAssociatedResources": True}),
    bad("DOK050", "doks-h200", {"cluster.destroyAssociatedResources": False}),
    irrelevant("DOK050", "doks-h200", {"cluster.vpc.id": _ID}),
    good("DOK051", "doks-h200", {"cluster.adopt.pools": {"gpu": _ID}}),
    bad("DOK051", "doks-h200", {"cluster.adopt.pools": {"gpus": "5a4981aa-9653-4bd1-bef5-d6bff52042e4"}}, ".gpus"),
    irrelevant("DOK051", "doks-h200"),
    good("DOK052", "doks-h200", {"cluster.adopt.vpc": _ID}),
    bad("DOK052", "doks-h200", {"cluster.adopt.vpc": _ID, "cluster.vpc.id": _ID}, "cluster.adopt.vpc"),
    irrelevant("DOK052", "doks-h200"),
    good("DOK053", "doks-mi325x", {"cluster.plugins.metricsExporter": True}),
    bad("DOK053", "doks-h200", {"cluster.plugins.metricsExporter": True}),
    irrelevant("DOK053", "doks-h200"),
    good("DOK054", "doks-b300", {"software.cniPlugins": "node-image"}),
    bad("DOK054", "doks-b300", {}, "software.cniPlugins"),
    irrelevant("DOK054", "doks-h200"),
    good("DOK058", "doks-h200", {"cluster.surgeUpgrade": False}),
    bad("DOK058", "doks-h200", {"cluster.surgeUpgrade": True}),
    irrelevant("DOK058", "oke-h100-26-4"),
)  # fmt: skip
