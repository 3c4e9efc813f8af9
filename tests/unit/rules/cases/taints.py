"""Cases of the group `taints`."""

from __future__ import annotations

from rules.alterations import (
    without_tolerations_of_a_node_policy,
    without_tolerations_of_cni_plugins,
    without_tolerations_of_host_preparation,
    without_tolerations_of_jobs,
    without_tolerations_of_operands,
    without_tolerations_of_virtual_functions,
)
from rules.tables import bad, broken, good, irrelevant

_OWN_TAINT = {"cluster.pools[0].taints": [{"key": "dedicated", "value": "training", "effect": "NoExecute"}]}
_EVERYTHING = {"daemonsets": {"tolerations": [{"operator": "Exists"}]}}
_PREPARED = {"fabric.hostPreparation": {"disableAcs": True}, "fabric.check": {}}
_DRIVER = {"software.ofedDriver": {"os": "ubuntu", "osVersion": "22.04"}}

CASES = (
    good("TNT001", "ib-sriov", _OWN_TAINT),
    broken("TNT001", "ib-sriov", without_tolerations_of_jobs, "cluster.pools[0].taints"),
    broken("TNT001", "doks-mi325x", without_tolerations_of_jobs, "cluster.pools[0].taints"),
    irrelevant("TNT001", "ib-sriov", {"cluster.pools[0].taints": []}),
    good("TNT002", "ib-sriov", _OWN_TAINT),
    good("TNT002", "ib-sriov", {"software.gpuOperator.values": _EVERYTHING}),
    good("TNT002", "spiderpool-ib", _OWN_TAINT),
    bad("TNT002", "ib-sriov", {"software.gpuOperator.values": {"daemonsets": {"tolerations": []}}},
        ".daemonsets.tolerations"),
    bad("TNT002", "ib-sriov", {"software.gpuOperator.values": {"daemonsets": {"tolerations": [{"key": "nvidia.com/gpu",
        "value": "no"}]}}}, ".daemonsets.tolerations"),
    bad("TNT002", "ib-sriov",
        {"software.gpuOperator.values": {"node-feature-discovery": {"worker": {"tolerations": []}}}},
        ".node-feature-discovery.worker.tolerations"),
    bad("TNT002", "spiderpool-macvlan",
        {"software.spiderpool.values": {"rdma": {"rdmaSharedDevicePlugin": {"tolerations": []}}}},
        ".rdma.rdmaSharedDevicePlugin.tolerations"),
    *(
        bad(
            "TNT002",
            "ib-sriov",
            {
                **_OWN_TAINT,
                "software.gpuOperator.values": {"daemonsets": {"tolerations": [{"key": "dedicated", **wrong}]}},
            },
            "software.gpuOperator.values.daemonsets.tolerations",
        )
        for wrong in (
            {"operator": "Exists", "effect": "NoSchedule"},
            {"value": "inference", "effect": "NoExecute"},
            {"key": "another", "operator": "Exists"},
        )
    ),
    bad("TNT002", "spiderpool-macvlan", {"software.spiderpool.values": {"spiderpoolAgent": {"tolerations": []}}},
        ".spiderpoolAgent.tolerations"),
    bad("TNT002", "oke-h100-26-4", {"cluster.pools[0].shape": "BM.GPU.MI300X.8",
        "software.networkOperator.values": {"node-feature-discovery": {"worker": {"tolerations": []}}}},
        ".node-feature-discovery.worker.tolerations"),
    good("TNT002", "ib-sriov", {
        "cluster.installed": ["nfd"],
        "software.gpuOperator": {
            "featureDiscovery": False, "values": {"node-feature-discovery": {"worker": {"tolerations": []}}},
        },
    }),
    broken("TNT002", "ib-sriov", without_tolerations_of_operands, "cluster.pools"),
    good("TNT002", "node-kinds", _OWN_TAINT),
    good("TNT002", "sriov-operator", _OWN_TAINT),
    good("TNT002", "guide-23-10", _OWN_TAINT),
    broken("TNT002", "node-kinds", without_tolerations_of_a_node_policy, "cluster.pools"),
    broken("TNT002", "ib-sriov", without_tolerations_of_cni_plugins, "cluster.pools"),
    broken("TNT002", "guide-23-10", without_tolerations_of_virtual_functions, "cluster.pools"),
    good("TNT002", "spiderpool-ib", {**_OWN_TAINT, **_PREPARED}),
    broken("TNT002", "spiderpool-ib", without_tolerations_of_host_preparation, "cluster.pools", "cluster.pools")
    ._replace(changes=_PREPARED),
    bad("TNT002", "guide-23-10", {"software.networkOperator.values": {"tolerations": [{"key": "dedicated"}]}},
        ".tolerations"),
    bad("TNT002", "sriov-whereabouts", _OWN_TAINT, "software.whereabouts.values.tolerations"),
    good("TNT002", "sriov-whereabouts", {
        **_OWN_TAINT, "software.whereabouts.values": {"tolerations": [{"operator": "Exists"}]},
    }),
    irrelevant("TNT002", "ib-sriov", {
        "cluster.pools[0].taints": [{"key": "busy", "effect": "PreferNoSchedule"}],
        "software.gpuOperator.values": {"daemonsets": {"tolerations": []}},
    }),
    good("TNT003", "spiderpool-macvlan", {**_DRIVER, "cluster.pools[0].taints": []}),
    bad("TNT003", "spiderpool-macvlan", _DRIVER),
    irrelevant("TNT003", "spiderpool-macvlan"),
)  # fmt: skip
