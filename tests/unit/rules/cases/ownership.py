"""Cases of the group `ownership`."""

from __future__ import annotations

from rules.tables import bad, good, irrelevant

_GPU = "software.gpuOperator"
_NETWORK = "software.networkOperator"
_SPIDERPOOL = "software.spiderpool"
_DISCOVERY = "software.nodeFeatureDiscovery"
_AMD = {"cluster.pools[0].shape": "BM.GPU.MI300X.8"}
_SRIOV_WEBHOOKS = {"operator": {"admissionControllers": {"enabled": True}}}
_ON_DOKS_NODES = {
    "cluster.pools[0].shape": "gpu-h200x8-1128gb-fabric-contracted",
    "fabric.manager": "network-operator",
}
_OTHER_VENDOR = {
    "cluster.shapes.new-machine.nicModel": {"vendorId": "14e4", "driver": "bnxt_en", "linkType": "ether"},
    "cluster.pools[0].labels": {"machine": "old"},
}
_BOARD = {"cluster.pools[0].shape": "server.hgx-h100.8"}
_LABELS = {"cluster.pools[0].labels": {"machine": "gpu"}}
_BROADCOM = {"cluster.shapes.guide-cx5.nicModel": {"vendorId": "14e4", "driver": "bnxt_en", "linkType": "ether"}}
_UNKNOWN_NICS = {"cluster.shapes.guide-cx5.nicModel": {"linkType": "ether"}}
_AMD_GPUS = {"cluster.shapes.guide-cx5.gpus": {"vendor": "amd", "model": "MI300X", "count": 8}}

CASES = (
    good("OWN001", "host-device", {"cluster.installed": ["nfd"], f"{_GPU}.featureDiscovery": False}),
    good("OWN001", "host-device", {**_AMD, "cluster.installed": ["nfd"]}),
    bad("OWN001", "host-device", {"cluster.installed": ["nfd"]}, f"{_GPU}.featureDiscovery"),
    bad("OWN001", "host-device", {"cluster.installed": ["nfd"], f"{_GPU}.values": {"nfd": {"enabled": True}}},
        ".nfd.enabled"),
    bad("OWN001", "host-device", {f"{_NETWORK}.values": {"nfd": {"enabled": True}}}, ".nfd.enabled"),
    irrelevant("OWN001", "doks-mi325x", {"cluster.installed": ["nfd"]}),
    good("OWN002", "host-device", _AMD),
    bad("OWN002", "host-device", {f"{_GPU}.featureDiscovery": False}),
    bad("OWN002", "host-device", {f"{_GPU}.values": {"nfd": {"enabled": False}}}, ".nfd.enabled"),
    bad("OWN002", "host-device", {**_AMD, f"{_NETWORK}.values": {"nfd": {"enabled": False}}}, ".nfd.enabled"),
    irrelevant("OWN002", "doks-mi325x"),
    good("OWN003", "host-device", {"cluster.installed": ["multus"], f"{_NETWORK}.multus": False}),
    bad("OWN003", "host-device", {"cluster.installed": ["multus"]}, f"{_NETWORK}.multus"),
    bad("OWN003", "spiderpool-macvlan", {"cluster.installed": ["multus"]}, f"{_SPIDERPOOL}.multus"),
    bad("OWN003", "spiderpool-macvlan", {"cluster.installed": ["multus"], f"{_SPIDERPOOL}.multus": False,
        f"{_SPIDERPOOL}.values": {"multus": {"multusCNI": {"install": True}}}}, ".multus.multusCNI.install"),
    bad("OWN003", "guide-23-10", {"cluster.installed": ["multus"]}, f"{_NETWORK}.multus"),
    good("OWN003", "guide-23-10", {"cluster.installed": ["multus"], f"{_NETWORK}.multus": False}),
    bad("OWN003", "guide-23-10", {"cluster.installed": ["multus"], f"{_NETWORK}.multus": False,
        f"{_NETWORK}.values": {"secondaryNetwork": {"multus": {"deploy": True}}}}, ".secondaryNetwork.multus.deploy"),
    irrelevant("OWN003", "host-network", {"cluster.installed": ["multus"]}),
    good("OWN004", "spiderpool-macvlan", {"cluster.installed": ["multus"], f"{_SPIDERPOOL}.multus": False}),
    bad("OWN004", "host-device", {f"{_NETWORK}.multus": False}),
    bad("OWN004", "spiderpool-macvlan", {f"{_SPIDERPOOL}.multus": False}),
    bad("OWN004", "spiderpool-macvlan", {f"{_SPIDERPOOL}.values": {"multus": {"multusCNI": {"install": False}}}},
        ".multus.multusCNI.install"),
    irrelevant("OWN004", "host-network", {f"{_NETWORK}.multus": False}),
    good("OWN005", "host-device", {"cluster.installed": ["cert-manager", "sriov-operator"]}),
    bad("OWN005", "host-device", {"cluster.installed": ["network-operator", "cert-manager", "gpu-operator"]}, "[2]",
        "[0]"),
    bad("OWN005", "host-device", {"cluster.installed": ["sriov-operator"],
        f"{_NETWORK}.values": {"sriovNetworkOperator": {"enabled": True}}}, "cluster.installed[0]"),
    bad("OWN005", "spiderpool-ib", {"cluster.installed": ["sriov-operator"]}, "[0]"),
    good("OWN005", "spiderpool-macvlan", {"cluster.installed": ["sriov-operator"]}),
    bad("OWN005", "externally-managed", {"cluster.installed": ["sriov-operator"]}, "[0]"),
    good("OWN005", "sriov-per-node", {"cluster.installed": ["sriov-operator"]}),
    irrelevant("OWN005", "doks-mi325x", {"cluster.installed": ["gpu-operator", "network-operator"]}),
    good(
        "OWN006",
        "host-device",
        {**_ON_DOKS_NODES, f"{_GPU}.toolkit": False, f"{_GPU}.values": {"devicePlugin": {"enabled": False}}},
    ),
    good("OWN006", "host-device", _ON_DOKS_NODES),
    good("OWN006", "doks-h200", {"cluster.installed": ["gpu-operator"], "cluster.plugins.gpu": "operator"}),
    bad("OWN006", "host-device", {**_ON_DOKS_NODES, _GPU: {"driver": True, "toolkit": True,
        "values": {"devicePlugin": {"enabled": True}}}}, ".driver", ".toolkit", ".values.devicePlugin.enabled"),
    bad("OWN006", "doks-h200", {"cluster.installed": ["gpu-operator"]}, "cluster.plugins.gpu"),
    irrelevant("OWN006", "host-device"),
    good(
        "OWN007",
        "host-device",
        {
            "cluster.installed": ["cert-manager"],
            f"{_NETWORK}.values": {"operator": {"admissionController": {"enabled": True}}},
        },
    ),
    good(
        "OWN007",
        "host-device",
        {
            f"{_NETWORK}.values": {
                "operator": {
                    "admissionController": {
                        "enabled": True,
                        "useCertManager": False,
                        "certificate": {"tlsCrt": "crt"},
                    }
                }
            }
        },
    ),
    bad("OWN007", "host-device", {f"{_NETWORK}.values": {"operator": {"admissionController": {"enabled": True}}}},
        ".operator.admissionController.enabled"),
    bad("OWN007", "host-device", {f"{_NETWORK}.values": {"sriovNetworkOperator": {"enabled": True},
        "sriov-network-operator": _SRIOV_WEBHOOKS}}, ".sriov-network-operator.operator.admissionControllers.enabled"),
    *(
        bad(
            "OWN007",
            "host-device",
            {f"{_NETWORK}.values": {"operator": {"admissionController": {"enabled": True, **given}}}},
            f"{_NETWORK}.values.operator.admissionController.enabled",
        )
        for given in ({"useCertManager": False}, {"certificate": {"tlsCrt": "crt"}})
    ),
    good(
        "OWN007",
        "host-device",
        {
            f"{_NETWORK}.values": {
                "sriovNetworkOperator": {"enabled": True},
                "sriov-network-operator": {
                    "operator": {
                        "admissionControllers": {"enabled": True, "certificates": {"custom": {"enabled": True}}}
                    }
                },
            }
        },
    ),
    good("OWN007", "host-device", {f"{_NETWORK}.values": {"sriov-network-operator": _SRIOV_WEBHOOKS}}),
    good(
        "OWN007",
        "spiderpool-ib",
        {"software.spiderpool.tls": {"method": "certmanager"}, "cluster.installed": ["cert-manager"]},
    ),
    bad("OWN007", "spiderpool-ib", {"software.spiderpool.tls": {"method": "certmanager"}}, ".method"),
    bad("OWN007", "spiderpool-ib", {"software.spiderpool.values": {"sriov": {"webhooktls": {"method": "certmanager"}}}},
        ".sriov.webhooktls.method"),
    bad("OWN007", "spiderpool-ib",
        {"software.spiderpool.values": {"spiderpoolController": {"tls": {"method": "certmanager"}}}},
        ".spiderpoolController.tls.method"),
    irrelevant("OWN007", "spiderpool-macvlan"),
    *(
        bad("OWN008", stack, {**_AMD_GPUS, **change}, "cluster.pools[0].labels")
        for stack, change in (
            ("spiderpool-sriov-per-node", {}),
            ("spiderpool-macvlan", {"fabric.hostPreparation": {"disableAcs": True}}),
            ("spiderpool-macvlan", {"fabric.check": {}}),
        )
    ),
    good("OWN008", "spiderpool-sriov-per-node", {**_AMD_GPUS, "cluster.pools[0].labels": {"machine": "gpu"}}),
    good("OWN008", "spiderpool-sriov-per-node", {**_AMD_GPUS, "cluster.installed": ["nfd"]}),
    irrelevant("OWN008", "spiderpool-macvlan", _AMD_GPUS),
    bad("OWN008", "spiderpool-sriov-per-node", {**_AMD_GPUS, **_BROADCOM, "fabric.manager": "network-operator",
        "fabric.virtualFunctions": "sriov-operator"}, "cluster.pools[0].labels"),
    good("OWN009", "spiderpool-sriov-per-node", _BROADCOM),
    good("OWN009", "host-device", {**_BOARD, **_LABELS}),
    bad("OWN009", "host-device", _BOARD, "cluster.pools[0].labels"),
    bad("OWN009", "host-device", {"cluster.pools[0].shape": "server.mi300x.8"}, "cluster.pools[0].labels"),
    bad("OWN009", "sriov-per-node", {"cluster.pools[0].shape": "server.hgx-b200.8"}, "cluster.pools[0].labels"),
    bad("OWN009", "spiderpool-sriov-per-node", _UNKNOWN_NICS, "cluster.pools[0].labels"),
    bad("OWN009", "spiderpool-macvlan", {**_UNKNOWN_NICS, "fabric.hostPreparation": {"disableAcs": True}},
        "cluster.pools[0].labels"),
    bad("OWN009", "spiderpool-macvlan", {**_UNKNOWN_NICS, "fabric.check": {}}, "cluster.pools[0].labels"),
    bad("OWN009", "node-kinds", _OTHER_VENDOR),
    irrelevant("OWN009", "spiderpool-macvlan", _UNKNOWN_NICS),
    good("OWN010", "host-device", _LABELS),
    good("OWN010", "roce-macvlan"),
    bad("OWN010", "ib-sriov", {}, "cluster.pools[0].labels"),
    bad("OWN010", "ipoib", {}, "cluster.pools[0].labels"),
    irrelevant("OWN010", "whereabouts"),
    irrelevant("OWN010", "spiderpool-ib"),
    # What the cluster has by the switch of its section counts as what `cluster.installed` lists.
    good("OWN001", "host-device", {f"{_DISCOVERY}.install": False}),
    good("OWN003", "host-device", {"software.multus.install": False}),
    good("OWN003", "spiderpool-macvlan", {"software.multus.install": False}),
    bad("OWN003", "existing-operators", {"software.multus": {}, "cluster.installed": ["multus"]}, f"{_NETWORK}.multus"),
    bad("OWN004", "existing-operators", {"software.multus": {}, f"{_NETWORK}.multus": False}),
    good("OWN005", "existing-operators", {"cluster.installed": ["gpu-operator", "network-operator", "nfd"]}),
    good("OWN005", "spiderpool-ib", {"software.sriovOperator.install": False}),
    good("OWN011", "guide-23-10", {_NETWORK: {"install": False, "policy": "theirs"}}),
    bad("OWN011", "guide-23-10", {_NETWORK: {"install": False, "policy": "adopt"}}, ".policy"),
    bad("OWN011", "guide-23-10", {_NETWORK: {"install": False}}, ".policy"),
    irrelevant("OWN011", "existing-operators"),
    good("OWN012", "host-device", {f"{_GPU}.install": False, f"{_DISCOVERY}.install": False}),
    good("OWN012", "host-device", {f"{_GPU}.install": False, f"{_DISCOVERY}.install": True}),
    good("OWN012", "host-device", {f"{_GPU}.install": False, "cluster.installed": ["nfd"]}),
    bad("OWN012", "host-device", {f"{_GPU}.install": False}, f"{_DISCOVERY}.install"),
    irrelevant("OWN012", "existing-operators"),
    good("OWN013", "spiderpool-ib", {f"{_SPIDERPOOL}.install": False}),
    bad("OWN013", "spiderpool-macvlan", {f"{_SPIDERPOOL}.install": False}),
    irrelevant("OWN013", "spiderpool-macvlan"),
)  # fmt: skip
