"""Cases of the group `network_operator`."""

from __future__ import annotations

from typing import Any

from rules.tables import bad, good, irrelevant

_OPERATOR = "software.networkOperator"
_OFED = {f"{_OPERATOR}.ofedDriver": True}
_OFED_AT = f"{_OPERATOR}.ofedDriver"
_RKE2 = "/var/lib/rancher/rke2/data/bin"
_KEYS = f"{_OPERATOR}.partitionKeys"
_UFM: dict[str, Any] = {
    _KEYS: {
        "ufmSecret": "ufm-login",
        "guidRangeStart": "02:00:00:00:00:00:00:00",
        "guidRangeEnd": "02:FF:FF:FF:FF:FF:FF:FF",
    }
}

_BROADCOM = {"cluster.shapes.guide-cx5.nicModel": {"vendorId": "14e4", "driver": "bnxt_en", "linkType": "ether"}}
_NETWORK_OPERATOR = {"fabric.manager": "network-operator"}


def _front_end(nic: dict[str, str]) -> dict[str, Any]:
    return {f"cluster.shapes.{make}-machine.frontEndNics": [nic] for make in ("old", "new")}


def _values(**values: Any) -> dict[str, Any]:
    return {f"{_OPERATOR}.values": values}


CASES = (
    bad("NOP001", "host-device", _OFED),
    bad("NOP001", "guide-23-10", _OFED),
    bad("NOP001", "host-device", {**_OFED, "cluster.pools[0].shape": "gpu-h200x8-1128gb-fabric-contracted"},
        f"{_OPERATOR}.ofedDriver"),
    bad("NOP001", "oke-h100-26-4", {"fabric.manager": "spiderpool",
        "software.ofedDriver": {"os": "ubuntu", "osVersion": "22.04"}}),
    good("NOP001", "spiderpool-macvlan", {"software.ofedDriver": {"os": "ubuntu", "osVersion": "22.04"}}),
    irrelevant("NOP001", "host-network", _OFED),
    good("NOP009", "node-kinds", {**_OFED, **_front_end({"interface": "eno1"})}),
    bad("NOP009", "node-kinds", {**_OFED, **_front_end({"interface": "ens1f0", "rdmaDevice": "mlx5_9"})},
        *[_OFED_AT] * 2),
    bad("NOP009", "spiderpool-macvlan", {"software.ofedDriver": {"os": "ubuntu", "osVersion": "22.04"}},
        "software.ofedDriver"),
    irrelevant("NOP009", "host-device", _OFED),
    irrelevant("NOP009", "node-kinds"),
    good("NOP002", "ib-sriov", _UFM),
    bad("NOP002", "ib-sriov", {**_UFM, "fabric.pkey": None}, _KEYS),
    bad("NOP002", "ipoib", _UFM),
    irrelevant("NOP002", "spiderpool-ib", _UFM),
    good("NOP003", "ib-sriov"),
    bad("NOP003", "ib-sriov-pkey", {}, f"{_KEYS}.ufmSecret"),
    irrelevant("NOP003", "spiderpool-ib", _UFM),
    good("NOP004", "guide-23-10", _values(nvIpam={"deploy": True}, nicFeatureDiscovery={"deploy": True})),
    bad("NOP004", "guide-23-10", _values(sriovDevicePlugin={"deploy": False}), ".sriovDevicePlugin.deploy"),
    bad("NOP004", "guide-23-10", _values(sriovDevicePlugin={"resources": []}), ".sriovDevicePlugin.resources"),
    bad("NOP004", "guide-23-10", _values(deployCR=False), ".deployCR"),
    bad("NOP004", "ipoib", {"software.releaseLine": "23.10", "fabric.addressing.gateway": "first",
        **_values(secondaryNetwork={"ipoib": {"deploy": False}})}, ".secondaryNetwork.ipoib.deploy"),
    bad("NOP004", "sriov-operator", _values(sriovNetworkOperator={"enabled": False}), ".sriovNetworkOperator.enabled"),
    bad("NOP004", "externally-managed", _values(**{"sriov-network-operator": {"sriovOperatorConfig": {"deploy": False},
        "operator": {"resourcePrefix": "openshift.io"}}}), ".sriov-network-operator.sriovOperatorConfig.deploy",
        ".sriov-network-operator.operator.resourcePrefix"),
    irrelevant("NOP004", "host-device", _values(sriovNetworkOperator={"enabled": False})),
    bad("NOP004", "sriov-operator", _values(**{
        "sriov-network-operator": {
            "sriovOperatorConfig": {"featureGates": {"dynamicResourceAllocation": True}},
        },
    }), f"{_OPERATOR}.values.sriov-network-operator.sriovOperatorConfig.featureGates.dynamicResourceAllocation"),
    good("NOP005", "sriov-operator", _values(**{
        "operator": {"cniBinDirectory": _RKE2}, "sriov-network-operator": {"operator": {"cniBinPath": _RKE2}},
    })),
    good("NOP005", "ib-sriov", {**_values(operator={"cniBinDirectory": _RKE2}), "software.cniPlugins": "node-image"}),
    bad("NOP005", "ib-sriov", _values(operator={"cniBinDirectory": _RKE2}), ".operator.cniBinDirectory"),
    bad("NOP005", "sriov-operator", _values(operator={"cniBinDirectory": _RKE2}), ".operator.cniBinDirectory"),
    bad("NOP005", "sriov-operator", _values(**{"sriov-network-operator": {"operator": {"cniBinPath": _RKE2}}}),
        ".sriov-network-operator.operator.cniBinPath"),
    good("NOP005", "ib-sriov", {"cluster.cniFolders": {"plugins": _RKE2, "networks": "/etc/multus"}}),
    good("NOP005", "sriov-operator", {"cluster.cniFolders.plugins": _RKE2}),
    bad("NOP005", "ib-sriov", {"cluster.cniFolders.plugins": _RKE2,
        **_values(operator={"cniBinDirectory": "/opt/cni/bin"})}, ".operator.cniBinDirectory"),
    bad("NOP005", "guide-23-10", {"cluster.cniFolders.networks": "/etc/multus"}, "cluster.cniFolders.networks"),
    irrelevant("NOP005", "spiderpool-ib"),
    good("NOP006", "ib-sriov", _values(
        operator={"maintenanceOperator": {"useRequestor": True}}, maintenanceOperator={"enabled": True},
    )),
    bad("NOP006", "ib-sriov", _values(operator={"maintenanceOperator": {"useRequestor": True}}),
        ".operator.maintenanceOperator.useRequestor"),
    bad("NOP006", "sriov-operator", _values(operator={"maintenanceOperator": {"useDrainControllerRequestor": True}}),
        ".operator.maintenanceOperator.useDrainControllerRequestor"),
    bad("NOP006", "sriov-operator",
        _values(**{"sriov-network-operator": {"operator": {"externalDrainer": {"enabled": True}}}}),
        ".sriov-network-operator.operator.externalDrainer.enabled"),
    irrelevant("NOP006", "spiderpool-ib"),
    bad("NOP007", "oke-guide", {"cluster.pools[0].shape": "BM.GPU.MI355X.8"}, "fabric.manager"),
    good("NOP007", "spiderpool-macvlan", _NETWORK_OPERATOR),
    irrelevant("NOP007", "spiderpool-macvlan", _BROADCOM),
    good("NOP008", "host-device"),
    bad("NOP008", "host-device", {"cluster.pools[0].shape": "server.mi300x.8"}, "fabric.manager"),
    irrelevant("NOP008", "host-network", {"cluster.pools[0].shape": "server.hgx-h100.8"}),
)  # fmt: skip
