"""Cases of the group `releases`."""

from __future__ import annotations

from rules.tables import bad, good, irrelevant

_GPU = "software.gpuOperator.values"
_NETWORK = "software.networkOperator.values"
_SPIDERPOOL = "software.spiderpool.values"
_DRIVER = {"software.gpuOperator.driver": True}
_SPIDERPOOL = "software.spiderpool.values"
_WATCHED = {"software.spiderpool": {"metrics": True, "serviceMonitor": True}}

_GPU_VALUES = "software.gpuOperator.values"

CASES = (
    good("REL001", "host-device", {"cluster.kubernetes": "1.31"}),
    good("REL001", "spiderpool-macvlan", {"cluster.kubernetes": "1.34"}),
    bad("REL001", "spiderpool-macvlan", {"cluster.kubernetes": "1.20.1"}, "cluster.kubernetes"),
    irrelevant("REL001", "spiderpool-macvlan"),
    good("REL002", "oke-h100-26-4", {"cluster.version": "1.35.2"}),
    bad("REL002", "guide-23-10", {"cluster.kubernetes": "1.34"}, "cluster.kubernetes"),
    good("REL002", "guide-23-10", {"cluster.kubernetes": "1.27"}),
    bad("REL002", "oke-a100", {"cluster.version": "1.34.1"}, "cluster.version"),
    bad("REL002", "oke-h100-26-4", {"cluster.version": "1.36.1"}, "cluster.version"),
    bad("REL002", "host-device", {"cluster.kubernetes": "1.30"}, "cluster.kubernetes"),
    irrelevant("REL002", "doks-h200", {"cluster.version": "1.36.1-do.0"}),
    good("REL015", "host-device", {"software.releaseLine": "26.7"}),
    bad("REL015", "host-device", {"software.releaseLine": "26.4"}, "software.releaseLine"),
    bad("REL015", "host-device", {}, "software.releaseLine"),
    irrelevant("REL015", "mi300x-macvlan", {"software.networkOperator.install": False}),
    good("REL016", "host-device", {"software.releaseLine": "26.7"}),
    bad("REL016", "host-device", {"software.releaseLine": "26.1"}, "software.releaseLine"),
    bad("REL016", "guide-23-10", {}, "software.releaseLine"),
    irrelevant("REL016", "doks-h200"),
    good("REL003", "host-device", {_NETWORK: {"maintenanceOperator": {"enabled": True}}}),
    bad("REL003", "host-device", {_NETWORK: {"deployCR": True}}, f"{_NETWORK}.deployCR"),
    bad("REL003", "host-device", {_GPU: {"draDriver": {"enabled": True}}}, f"{_GPU}.draDriver"),
    irrelevant("REL003", "host-device"),
    good("REL004", "host-device", {_GPU: {"mig": {"strategy": "mixed"}}}),
    bad(
        "REL004",
        "host-device",
        {_GPU: {"operator": {"defaultRuntime": "crio"}, "drvier": {"enabled": True}}},
        f"{_GPU}.operator.defaultRuntime",
        f"{_GPU}.drvier",
    ),
    bad(
        "REL004",
        "spiderpool-macvlan",
        {_SPIDERPOOL: {"coordinator": {"detectGateway": True}}},
        f"{_SPIDERPOOL}.coordinator.detectGateway",
    ),
    irrelevant("REL004", "host-device"),
    good("REL005", "spiderpool-macvlan", {_SPIDERPOOL: {"spiderpoolController": {"replicas": 2}}}),
    bad("REL005", "host-device", {_SPIDERPOOL: {"spiderpoolController": {"replicas": 2}}}, _SPIDERPOOL),
    bad("REL005", "doks-mi325x", {_GPU: {"mig": {"strategy": "mixed"}}}, _GPU),
    bad("REL005", "doks-mi325x", {"software.gpuOperator.driver": True, "software.gpuOperator.gdrcopy": True},
        "software.gpuOperator.driver", "software.gpuOperator.gdrcopy"),
    bad("REL005", "host-network", {"software.networkOperator.multus": False}, "software.networkOperator.multus"),
    bad("REL005", "host-device", {"software.whereabouts.values": {"resources": {}}}, "software.whereabouts.values"),
    good("REL005", "sriov-whereabouts", {"software.whereabouts.values": {"resources": {}}}),
    good("REL005", "doks-mi325x", {"software.gpuOperator": {}, "software.spiderpool": {"values": {}}}),
    good("REL005", "existing-operators", {"software.networkOperator.ofedDriver": True}),
    good("REL005", "host-device", {"software.schedulers.kueue": {"install": False, "quotas": {"cpu": "8"}}}),
    bad("REL005", "existing-operators", {"software.networkOperator.values": {"nfd": {"enabled": True}}},
        "software.networkOperator.values"),
    bad("REL005", "existing-operators", {"software.gpuOperator.cdi": True}, "software.gpuOperator.cdi"),
    irrelevant("REL005", "doks-mi325x"),
    good("REL006", "host-device", {_GPU: {"toolkit": {"version": "v1.18.1"}}}),
    good("REL006", "host-device", {_GPU: {"toolkit": {"version": "v1.17.8-ubuntu20.04"}}}),
    bad("REL006", "host-device", {_GPU: {"toolkit": {"version": "v1.18.1-ubi8"}}}, f"{_GPU}.toolkit.version"),
    good(
        "REL006",
        "host-device",
        {"software.releaseLine": "23.10", _GPU: {"toolkit": {"version": "v1.18.1-ubi8"}}},
    ),
    irrelevant("REL006", "host-device"),
    good(
        "REL007",
        "host-device",
        {
            _GPU: {"dcgmExporter": {"serviceMonitor": {"enabled": True}}},
            "cluster.installed": ["prometheus-operator"],
        },
    ),
    bad(
        "REL007",
        "host-device",
        {_GPU: {"dcgmExporter": {"serviceMonitor": {"enabled": True}}}},
        f"{_GPU}.dcgmExporter.serviceMonitor.enabled",
    ),
    bad("REL007", "host-device", {"software.gpuOperator.serviceMonitor": True}, "software.gpuOperator.serviceMonitor"),
    good("REL007", "spiderpool-ib", {**_WATCHED, "cluster.installed": ["prometheus-operator"]}),
    bad("REL007", "spiderpool-ib", _WATCHED, "software.spiderpool.serviceMonitor"),
    bad(
        "REL007",
        "spiderpool-ib",
        {_SPIDERPOOL: {"spiderpoolController": {"prometheus": {"serviceMonitor": {"install": True}}}}},
        f"{_SPIDERPOOL}.spiderpoolController.prometheus.serviceMonitor.install",
    ),
    irrelevant("REL007", "doks-mi325x"),
    good(
        "REL013",
        "spiderpool-ib",
        {"software.spiderpool.grafanaDashboards": True, "cluster.installed": ["grafana-operator"]},
    ),
    bad(
        "REL013",
        "spiderpool-ib",
        {"software.spiderpool.grafanaDashboards": True},
        "software.spiderpool.grafanaDashboards",
    ),
    bad(
        "REL013",
        "spiderpool-ib",
        {_SPIDERPOOL: {"grafanaDashboard": {"install": True}}},
        f"{_SPIDERPOOL}.grafanaDashboard.install",
    ),
    irrelevant("REL013", "spiderpool-ib"),
    good("REL008", "host-device", {**_DRIVER, _GPU: {"gdrcopy": {"enabled": True}}}),
    bad(
        "REL008",
        "host-device",
        {_GPU: {"driver": {"rdma": {"enabled": True, "useHostMofed": True}}, "gds": {"enabled": True}}},
        f"{_GPU}.driver.rdma.enabled",
        f"{_GPU}.gds.enabled",
    ),
    bad("REL008", "host-device", {_GPU: {"gdrcopy": {"enabled": True}}}, f"{_GPU}.gdrcopy.enabled"),
    bad("REL008", "host-device", {"software.gpuOperator.gdrcopy": True}, "software.gpuOperator.gdrcopy"),
    good("REL008", "host-device", {"software.gpuOperator.gpuDirect": "peermem"}),
    irrelevant("REL008", "doks-mi325x"),
    good(
        "REL009",
        "host-device",
        {**_DRIVER, _GPU: {"gds": {"enabled": True}, "driver": {"kernelModuleType": "open"}}},
    ),
    bad(
        "REL009",
        "host-device",
        {**_DRIVER, _GPU: {"gds": {"enabled": True}, "driver": {"kernelModuleType": "proprietary"}}},
        f"{_GPU}.gds.enabled",
    ),
    irrelevant(
        "REL009",
        "host-device",
        {_GPU: {"gds": {"enabled": True}, "driver": {"kernelModuleType": "proprietary"}}},
    ),
    irrelevant("REL009", "host-device", {_GPU: {"gds": {"enabled": True}}}),
    good("REL010", "host-device", {**_DRIVER, _GPU: {"driver": {"rdma": {"enabled": True, "useHostMofed": True}}}}),
    bad(
        "REL010",
        "host-device",
        {**_DRIVER, _GPU: {"driver": {"rdma": {"enabled": True}}}},
        f"{_GPU}.driver.rdma.useHostMofed",
    ),
    good("REL010", "ib-sriov", {
        **_DRIVER, "software.gpuOperator.gpuDirect": "peermem", "software.networkOperator.ofedDriver": True,
    }),
    good("REL010", "ib-sriov", {**_DRIVER, "software.gpuOperator.gpuDirect": "peermem"}),
    bad(
        "REL010",
        "ib-sriov",
        {
            **_DRIVER,
            _GPU: {"driver": {"rdma": {"enabled": True, "useHostMofed": True}}},
            "software.networkOperator.ofedDriver": True,
        },
        f"{_GPU}.driver.rdma.useHostMofed",
    ),
    good("REL010", "guide-23-10", _DRIVER),
    bad(
        "REL010",
        "guide-23-10",
        {**_DRIVER, _NETWORK: {"ofedDriver": {"deploy": True}}},
        f"{_GPU}.driver.rdma.useHostMofed",
    ),
    irrelevant("REL010", "host-device", {_GPU: {"driver": {"rdma": {"enabled": True}}}}),
    good("REL011", "host-device", {"software.gpuOperator.gdrcopy": True, "software.gpuOperator.cdi": False}),
    good("REL011", "guide-23-10", {"software.gpuOperator.cdi": False, "software.gpuOperator.mig": "mixed"}),
    bad("REL011", "guide-23-10", {"software.gpuOperator.gdrcopy": True}, "software.gpuOperator.gdrcopy"),
    irrelevant("REL011", "guide-23-10", {_GPU: {"gdrcopy": {"enabled": True}}}),
    good("REL012", "host-device"),
    bad("REL012", "guide-23-10", {}, "software.releaseLine", "software.releaseLine"),
    good("REL012", "roce-macvlan", {
        "software.releaseLine": "23.10", "fabric.addressing.gateway": "first",
        "cluster.pools[0].shape": "server.hgx-h100.8", "cluster.pools[0].labels": {"machine": "gpu"},
        "fabric.rails": [{"rail": rail, "interface": f"ens{rail}np0"} for rail in range(8)],
    }),
    irrelevant("REL012", "doks-h200"),
    good("REL014", "dev", {_GPU_VALUES: {"driver": {"enabled": False, "version": "580"}, "nfd": None}}),
    *(
        bad("REL014", stack, {f"software.{chart}.values": values}, f"software.{chart}.values.{place}")
        for stack, chart, place, values in (
            ("dev", "gpuOperator", "driver.enabled", {"driver": {"enabled": "false"}}),
            ("dev", "gpuOperator", "driver.enabled", {"driver": {"enabled": 0}}),
            ("dev", "gpuOperator", "nfd", {"nfd": "no"}),
            ("dev", "gpuOperator", "driver.upgradePolicy.drain", {"driver": {"upgradePolicy": {"drain": True}}}),
            ("dev", "networkOperator", "nfd.enabled", {"nfd": {"enabled": "no"}}),
            ("guide-23-10", "gpuOperator", "toolkit.enabled", {"toolkit": {"enabled": "true"}}),
            ("spiderpool-macvlan", "spiderpool", "plugins.installRdmaCNI", {"plugins": {"installRdmaCNI": "no"}}),
            ("spiderpool-macvlan", "spiderpool", "coordinator.vethMTU", {"coordinator": {"vethMTU": "large"}}),
        )
    ),
    irrelevant("REL014", "dev"),
)  # fmt: skip
