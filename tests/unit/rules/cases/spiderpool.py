"""Cases of the group `spiderpool`."""

from __future__ import annotations

from typing import Any

from rules.alterations import (
    with_the_last_pool_in_the_subnet_of_the_first,
    with_two_networks_injected_by_another_word,
    with_two_pools_of_one_address,
)
from rules.tables import bad, broken, good, irrelevant

_PER_NODE = {"layout": "per-node", "supernet": "172.16.0.0/16", "prefixLength": 20, "nodePrefixLength": 25}
_VALUES = "software.spiderpool.values"
_METRICS = {"software.spiderpool.metrics": True}
_INJECTED = {"software.spiderpool.injection": "rdma-network"}
_DASHBOARDS = {"software.spiderpool.grafanaDashboards": True}
_OFED = {"software.ofedDriver": {"os": "ubuntu", "osVersion": "22.04"}}
_UNSORTED = [{"interface": name, "nearestGpu": number} for number, name in enumerate(("eth9", "eth10"))]
_NIC_OF = "cluster.shapes.guide-cx5.nics"
_WEBHOOK = f"{_VALUES}.sriov.operatorConfig.enableOperatorWebhook"
_CX8 = 'ConnectX-8: "15b3 1023 101e"'
_BY_SPIDERPOOL = {"fabric": {"manager": "spiderpool", "model": "sriov", "addressing": {"supernet": "172.16.0.0/16"}}}
_TWO_NODES = {"cluster.pools[0].nodeNames": ["gpu-a", "gpu-b"]}


def _webhook(values: dict[str, Any]) -> dict[str, Any]:
    return {_VALUES: {"spiderpoolController": {"podResourceInject": values}}}


_SPI = "software.spiderpool.values"
_COORDINATOR = "software.spiderpool.coordinator"

CASES = (
    good("SPI001", "spiderpool-macvlan", {"fabric.addressing": _PER_NODE, **_TWO_NODES}),
    bad("SPI001", "spiderpool-macvlan", {"fabric.addressing": _PER_NODE}, "cluster.pools[0].nodeNames"),
    irrelevant("SPI001", "spiderpool-macvlan"),
    good("SPI002", "spiderpool-sriov-per-node", {
        "fabric.addressing.reservedFirst": 0, "fabric.addressing.reservedLast": 2,
        "fabric.addressing.gateway": "last",
    }),
    bad("SPI002", "spiderpool-sriov-per-node", {"fabric.addressing.reservedFirst": 1}),
    bad("SPI002", "spiderpool-sriov-per-node", {"fabric.addressing.reservedFirst": 0,
        "fabric.addressing.gateway": "none"}, "fabric.addressing.reservedFirst"),
    bad("SPI002", "spiderpool-sriov-per-node", {"fabric.addressing.reservedFirst": 0,
        "fabric.addressing.exclude": [f"172.17.{rail}.2" for rail in range(8)]}, "fabric.addressing.reservedFirst"),
    irrelevant("SPI002", "spiderpool-macvlan", {"fabric.addressing": _PER_NODE, **_TWO_NODES}),
    good("SPI002", "spiderpool-sriov-per-node", {
        "fabric.addressing": {"layout": "per-node", "supernet": "fd00:10::/48", "nodePrefixLength": 64},
    }),
    good("SPI003", "spiderpool-ib"),
    bad("SPI003", "spiderpool-ipoib", {}, "fabric.model"),
    irrelevant("SPI003", "ipoib"),
    good("SPI004", "spiderpool-ib", {"cluster.pools[0].taints": []}),
    bad("SPI004", "spiderpool-ib", {}, "cluster.pools"),
    good("SPI004", "spiderpool-ib", {"cluster.pools": [
        {"name": "tainted", "shape": "server.dgx-h100.8", "nodes": 8},
        {"name": "free", "shape": "server.dgx-h100.8", "nodes": 8, "taints": []},
    ]}),
    irrelevant("SPI004", "oke-h100-26-4", {"fabric.manager": "spiderpool"}),
    irrelevant("SPI004", "ib-sriov"),
    good("SPI006", "spiderpool-sriov-per-node", {"fabric.rails": [
        {"rail": 0, "network": "gpu"}, {"rail": 1, "network": "gpu-east"},
    ]}),
    bad("SPI006", "spiderpool-sriov-per-node", {"fabric.rails": [{"rail": 0, "network": "gpu"},
        {"rail": 1, "network": "gpu-node-east"}]}, "[0].network"),
    bad("SPI006", "spiderpool-sriov-per-node", {"fabric.rails": [{"rail": 5, "network": "other"},
        {"rail": 0, "network": "gpu"}, {"rail": 1, "network": "gpu-node-east"}]}, "[1].network"),
    irrelevant("SPI006", "sriov-per-node"),
    good("SPI007", "spiderpool-macvlan", {"software.spiderpool.values": {"spiderpoolController": {"replicas": 2}}}),
    bad("SPI007", "spiderpool-macvlan",
        {"software.spiderpool.values": {"rdma": {"rdmaSharedDevicePlugin": {"install": False}}}},
        ".rdma.rdmaSharedDevicePlugin.install"),
    bad("SPI007", "spiderpool-macvlan",
        {"software.spiderpool.values": {"rdma": {"rdmaSharedDevicePlugin": {"deviceConfig": {"configList": []}}}}},
        ".rdma.rdmaSharedDevicePlugin.deviceConfig"),
    bad("SPI007", "spiderpool-ib", {"software.spiderpool.values": {"sriov": {"install": False}}}, ".sriov.install"),
    *(
        bad("SPI007", stack, {_VALUES: values}, f"{_VALUES}.{key}")
        for stack, values, key in (
            ("spiderpool-ib", {"sriov": {"resourcePrefix": "example.com"}}, "sriov.resourcePrefix"),
            ("spiderpool-ib", {"plugins": {"installibSriovCNI": False}}, "plugins.installibSriovCNI"),
            ("spiderpool-ib", {"plugins": {"installRdmaCNI": False}}, "plugins.installRdmaCNI"),
            ("spiderpool-macvlan", {"plugins": {"installCNI": False}}, "plugins.installCNI"),
            ("spiderpool-ipoib", {"plugins": {"installIpoibCNI": False}}, "plugins.installIpoibCNI"),
            ("spiderpool-macvlan", {"multus": {"enableMultusConfig": False}}, "multus.enableMultusConfig"),
            ("spiderpool-macvlan", {"global": {"configName": "mine"}}, "global.configName"),
            ("spiderpool-macvlan", {"ipam": {"enableIPv4": False}}, "ipam.enableIPv4"),
            ("spiderpool-ib", {"spiderpoolAgent": {"tuneSysctlConfig": False}}, "spiderpoolAgent.tuneSysctlConfig"),
        )
    ),
    good("SPI007", "spiderpool-ib", {_VALUES: {
        "sriov": {"resourcePrefix": "spidernet.io"}, "plugins": {"installCNI": False}, "ipam": {"enableIPv6": False},
        "global": {"configName": "spiderpool-conf"},
    }}),
    good("SPI007", "spiderpool-ib", {
        "software.cniPlugins": "node-image", _VALUES: {"plugins": {"installibSriovCNI": False}},
    }),
    good("SPI007", "spiderpool-macvlan", {**_METRICS, _VALUES: {"spiderpoolAgent": {"tuneSysctlConfig": False}}}),
    good("SPI007", "spiderpool-macvlan", {
        _VALUES: {"spiderpoolAgent": {"tuneSysctlConfig": False, "securityContext": {"privileged": True}}},
    }),
    good("SPI008", "spiderpool-sriov-per-node"),
    bad("SPI008", "spiderpool-sriov-per-node", {"fabric.addressing.gateway": "none"}),
    bad("SPI008", "spiderpool-macvlan", {"fabric.addressing": _PER_NODE, **_TWO_NODES}, "fabric.addressing.gateway"),
    irrelevant("SPI008", "spiderpool-macvlan", {"fabric.addressing.gateway": "none"}),
    good("SPI009", "spiderpool-sriov-per-node", {"fabric.hostPreparation": {"addresses": True}}),
    bad("SPI009", "spiderpool-sriov-per-node", {}, "fabric.hostPreparation.addresses"),
    bad("SPI009", "spiderpool-sriov-per-node", {"fabric.hostPreparation": {"addresses": True, "dryRun": True}},
        ".addresses"),
    irrelevant("SPI009", "spiderpool-macvlan", {"fabric.addressing": _PER_NODE, **_TWO_NODES}),
    irrelevant("SPI009", "sriov-per-node"),
    good("SPI010", "spiderpool-ib", {"fabric.hostPreparation": {"rdmaMode": True}}),
    bad("SPI010", "spiderpool-ib", {}, "fabric.hostPreparation.rdmaMode"),
    bad("SPI010", "spiderpool-ib", {"fabric.hostPreparation": {"rdmaMode": True, "dryRun": True}}, ".rdmaMode"),
    irrelevant("SPI010", "spiderpool-macvlan"),
    irrelevant("SPI010", "spiderpool-ipoib", {"fabric.rdmaMode": "exclusive"}),
    irrelevant("SPI010", "ib-sriov"),
    good("SPI011", "spiderpool-ib", _INJECTED),
    good("SPI011", "spiderpool-sriov-per-node", _INJECTED),
    good("SPI011", "spiderpool-macvlan", _INJECTED),
    bad("SPI011", "spiderpool-macvlan", {**_INJECTED, _NIC_OF: _UNSORTED}, "software.spiderpool.injection"),
    good("SPI011", "spiderpool-macvlan", {**_INJECTED, _NIC_OF: _UNSORTED[::-1]}),
    bad("SPI011", "spiderpool-ib", {**_INJECTED, "fabric.rails": [{"rail": 0, "network": "storage"}]},
        "software.spiderpool.injection"),
    bad("SPI011", "spiderpool-sriov-per-node", {**_INJECTED,
        "fabric.rails": [{"rail": rail, "resource": f"gpu{rail + 3}"} for rail in range(8)]},
        "software.spiderpool.injection"),
    broken("SPI011", "spiderpool-ib", with_two_networks_injected_by_another_word, "software.spiderpool.injection")
    ._replace(changes=_INJECTED),
    irrelevant("SPI011", "spiderpool-macvlan", {_NIC_OF: _UNSORTED}),
    good("SPI012", "spiderpool-ib", {
        **_INJECTED,
        **_webhook({"namespacesInclude": ["default", "training"], "namespacesExclude": ["monitoring"]}),
    }),
    *(
        bad("SPI012", "spiderpool-ib", {**_INJECTED, **_webhook({key: value})},
            f"{_VALUES}.spiderpoolController.podResourceInject.{key}")
        for key, value in (
            ("enabled", False),
            ("namespacesInclude", []),
            ("namespacesInclude", ["training"]),
            ("namespacesInclude", ["default", "spiderpool"]),
            ("namespacesInclude", ["default", "kube-system"]),
            ("namespacesExclude", ["kube-system", "default"]),
        )
    ),
    irrelevant("SPI012", "spiderpool-ib", _webhook({"enabled": False})),
    good("SPI013", "spiderpool-ib", {
        "software.spiderpool.tls": {"method": "certmanager"}, "cluster.installed": ["cert-manager"],
    }),
    good("SPI013", "spiderpool-macvlan", {"software.spiderpool.tls": {"method": "provided", "secret": "webhook"}}),
    bad("SPI013", "spiderpool-macvlan", {}, "software.spiderpool.tls"),
    bad("SPI013", "spiderpool-ib", {"software.spiderpool.tls": {"method": "provided", "secret": "webhook"}}),
    irrelevant("SPI013", "ib-sriov"),
    good("SPI014", "spiderpool-ib", {
        "software.spiderpool": {"metrics": True, "serviceMonitor": True, "ibKubernetes": True,
                                "grafanaDashboards": True, "grafanaLabels": {"app": "grafana"}},
        "fabric.pkey": "0x1",
    }),
    bad("SPI014", "spiderpool-ib", {"software.spiderpool": {
        "serviceMonitor": True, "ibKubernetes": True, "grafanaLabels": {"app": "grafana"},
    }}, *(f"software.spiderpool.{key}" for key in ("serviceMonitor", "grafanaLabels", "ibKubernetes"))),
    bad("SPI014", "spiderpool-macvlan", {"software.spiderpool.ibKubernetes": True}),
    irrelevant("SPI014", "ib-sriov", {"software.spiderpool.serviceMonitor": True}),
    good("SPI015", "spiderpool-ib", {**_METRICS, **_DASHBOARDS, "software.spiderpool.grafanaLabels": {"a": "b"}}),
    bad("SPI015", "spiderpool-ib", {**_METRICS, **_DASHBOARDS}),
    bad("SPI015", "spiderpool-ib", {**_DASHBOARDS, "software.spiderpool.grafanaLabels": {"a": "b"}},
        "software.spiderpool.grafanaDashboards"),
    bad("SPI015", "spiderpool-ib", {**_METRICS, _VALUES: {"grafanaDashboard": {"install": True}}},
        ".grafanaDashboard.install"),
    irrelevant("SPI015", "spiderpool-ib"),
    good("SPI016", "spiderpool-ib", {"cluster.installed": ["cert-manager"]}),
    bad("SPI016", "spiderpool-macvlan", {"cluster.installed": ["cert-manager", "network-operator", "sriov-operator"]},
        "[1]", "[2]"),
    irrelevant("SPI016", "spiderpool-macvlan",
               {"cluster.installed": ["sriov-operator"], "software.spiderpool.cleanup": False}),
    irrelevant("SPI016", "ib-sriov", {"cluster.installed": ["sriov-operator"]}),
    good("SPI017", "spiderpool-macvlan", {_VALUES: {"spiderpoolController": {"cleanup": {"enable": True}}}}),
    bad("SPI017", "spiderpool-macvlan", {"cluster.installed": ["sriov-operator"],
        _VALUES: {"spiderpoolController": {"cleanup": {"enable": True}}}}, ".spiderpoolController.cleanup.enable"),
    irrelevant("SPI017", "ib-sriov", {"cluster.installed": ["sriov-operator"]}),
    good("SPI018", "spiderpool-ib", {"software.spiderpool.coordinator": {"podCidrType": "none"}}),
    bad("SPI018", "spiderpool-ib", {_VALUES: {"coordinator": {"podCIDRType": "none", "mode": "underlay"}}},
        ".coordinator.podCIDRType", ".coordinator.mode"),
    irrelevant("SPI018", "ib-sriov"),
    good("SPI019", "spiderpool-ib"),
    bad("SPI019", "spiderpool-ib", {_VALUES: {"sriov": {"operatorConfig": {"disableDrain": True}}}},
        ".sriov.operatorConfig.disableDrain"),
    irrelevant("SPI019", "spiderpool-ib", {"fabric.virtualFunctions": "externally-managed"}),
    irrelevant("SPI019", "spiderpool-macvlan", {_VALUES: {"sriov": {"operatorConfig": {"disableDrain": True}}}}),
    good("SPI020", "spiderpool-ib", {_VALUES: {"spiderpoolController": {"replicas": 15}}}),
    bad("SPI020", "spiderpool-ib", {_VALUES: {"spiderpoolController": {"replicas": 16}}},
        ".spiderpoolController.replicas"),
    bad("SPI020", "spiderpool-ib", {"cluster.pools[0].nodes": 1, _VALUES: {"spiderpoolController": {"replicas": 1}}},
        ".spiderpoolController.replicas"),
    irrelevant("SPI020", "spiderpool-ib", {"cluster.pools[0].nodes": 1}),
    irrelevant("SPI020", "spiderpool-ib",
               {_VALUES: {"spiderpoolController": {"replicas": 16, "hostnetwork": False}}}),
    good("SPI021", "spiderpool-ib"),
    broken("SPI021", "spiderpool-macvlan", with_the_last_pool_in_the_subnet_of_the_first, "fabric.addressing"),
    broken("SPI021", "spiderpool-ib", with_two_pools_of_one_address, "fabric.addressing"),
    irrelevant("SPI021", "ib-sriov"),
    good("SPI022", "spiderpool-macvlan"),
    bad("SPI022", "spiderpool-macvlan", _OFED),
    irrelevant("SPI022", "ib-sriov", _OFED),
    good("SPI023", "spiderpool-ib", {_VALUES: {"sriov": {"operatorConfig": {"enableOperatorWebhook": False}}}}),
    bad("SPI023", "spiderpool-ib", {}, f"{_WEBHOOK}"),
    irrelevant("SPI023", "spiderpool-macvlan"),
    irrelevant("SPI023", "oke-h100-26-4", _BY_SPIDERPOOL),
    irrelevant("SPI007", "oke-h100-26-4", _BY_SPIDERPOOL),
    bad("SPI028", "oke-h100-26-4", _BY_SPIDERPOOL, ".manager"),
    good("SPI028", "spiderpool-ib"),
    irrelevant("SPI028", "oke-h100-26-4"),
    bad("SPI007", "oke-h100-26-4",
        {**_BY_SPIDERPOOL, _VALUES: {"sriov": {"operatorConfig": {"enableOperatorWebhook": True}}}},
        ".sriov.operatorConfig.enableOperatorWebhook"),
    bad("SPI007", "spiderpool-sriov", {"software.spiderpool.values": {"plugins": {"installSriovCNI": False}}},
        ".plugins.installSriovCNI"),
    bad("SPI024", "spiderpool-ib", {"cluster.pools[0].shape": "server.dgx-b300.8"}),
    bad("SPI024", "spiderpool-ib", {"cluster.pools[0].shape": "server.dgx-b300.8",
        _VALUES: {"sriov": {"supportedExtraNICs": [_CX8]}}}, "cluster.pools[0].shape"),
    good("SPI024", "spiderpool-ib",
        {"cluster.pools[0].shape": "server.dgx-b300.8", _VALUES: {"supportedExtraNICs": [_CX8]}}),
    irrelevant("SPI024", "spiderpool-ipoib", {"cluster.pools[0].shape": "server.dgx-b300.8"}),
    good("SPI025", "spiderpool-macvlan", {_SPI: {"spiderpoolAgent": {"nodeSelector": {"kubernetes.io/os": "linux"}}}}),
    bad("SPI025", "spiderpool-macvlan", {_SPI: {"spiderpoolAgent": {"nodeSelector": {"role": "cpu"}}}},
        ".spiderpoolAgent.nodeSelector.role"),
    irrelevant("SPI025", "dev"),
    good("SPI026", "spiderpool-macvlan", {_COORDINATOR: {"hijackCidr": ["169.254.0.0/16"]}}),
    bad("SPI026", "spiderpool-macvlan", {_COORDINATOR: {"hijackCidr": ["0.0.0.0/0"]}}, ".hijackCidr[0]"),
    bad("SPI026", "spiderpool-macvlan", {_SPI: {"coordinator": {"hijackCIDR": ["10.0.0.0/8", "0.0.0.0/0"]}}},
        ".coordinator.hijackCIDR.1"),
    irrelevant("SPI026", "dev"),
    good("SPI027", "spiderpool-sriov", {_SPI: {"global": {"cniBinHostPath": "/opt/cni/bin"}}}),
    bad("SPI027", "spiderpool-ib", {_SPI: {"global": {"cniBinHostPath": "/usr/cni"}}}, ".global.cniBinHostPath"),
    bad("SPI027", "spiderpool-macvlan", {_SPI: {"global": {"cniBinHostPath": "/x"}}}, ".global.cniBinHostPath"),
    bad("SPI027", "spiderpool-macvlan", {"cluster.cniFolders.plugins": "/x"}, "cluster.cniFolders"),
    good("SPI027", "spiderpool-macvlan", {"cluster.cniFolders": {}}),
    irrelevant("SPI027", "dev"),
    good("SPI029", "spiderpool-macvlan", {_COORDINATOR: {"tunePodRoutes": True}}),
    bad("SPI029", "spiderpool-macvlan", {_COORDINATOR: {"tunePodRoutes": False}}, ".tunePodRoutes"),
    irrelevant("SPI029", "spiderpool-macvlan"),
    irrelevant("SPI029", "dev"),
)  # fmt: skip
