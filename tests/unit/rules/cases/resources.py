"""Cases of the group `resources`."""

from __future__ import annotations

from gpu_fabric.k8s.device_plugin import DeviceSelectors
from rules.alterations import (
    requesting_two_devices_of_rail_0,
    with_rail_0_shared_by_the_interface_of_rail_1,
    with_rail_1_selecting_rail_0s_nic_too,
    with_selectors_of_rail_0,
    with_the_nearest_gpus_of_two_rails_swapped,
    with_the_nics_of_two_rails_swapped,
    with_two_node_policies_for_one_nic,
    without_a_device_plugin,
    without_node_policies,
    without_the_last_rail,
)
from rules.tables import bad, broken, good, irrelevant

# A board whose NICs are named half by PCI address and half by interface.
_MIXED = {
    "cluster.pools[0].shape": "server.hgx-h100.8",
    "cluster.pools[0].labels": {"machine": "gpu"},
    "fabric.vfsPerNic": 1,
    "fabric.virtualFunctions": "node-image",
    "fabric.addressing.layout": "flat",
    "fabric.rails": [{"rail": rail, "pci": f"0000:{rail + 16}:00.0"} for rail in range(4)]
    + [{"rail": rail, "interface": f"ens{rail}np0"} for rail in range(4, 8)],
}
_FRONT_END_OF_H100 = DeviceSelectors(root_devices=("0000:1f:00.0",))
_ANY_MLX5_DEVICE = DeviceSelectors(vendors=("15b3",), drivers=("mlx5_core",))
# The Network Operator's chart brings Node Feature Discovery where the GPU Operator's does not.
_TOLERANT = {
    "software.networkOperator.values": {
        "node-feature-discovery": {"worker": {"tolerations": [{"operator": "Exists"}]}},
    }
}

CASES = (
    good("RES001", "oke-h100-26-4", {"fabric.addressing.layout": "flat"}),
    broken("RES001", "spiderpool-ib", without_node_policies, "fabric.rails"),
    bad("RES001", "sriov-ipv6", _MIXED),
    broken("RES001", "oke-h100-26-4", without_a_device_plugin, "fabric.rails"),
    broken("RES001", "oke-h100-26-4", requesting_two_devices_of_rail_0, "fabric.rails"),
    broken("RES001", "roce-macvlan", without_a_device_plugin, "fabric.rails"),
    bad("RES001", "doks-h200", {"fabric.rails": [{"rail": 0, "interface": "rdma0"}]}),
    irrelevant("RES001", "host-network"),
    good("RES002", "sriov-ipv6", {
        "cluster.pools[0].shape": "server.hgx-h100.8", "cluster.pools[0].labels": {"machine": "gpu"},
        "fabric.vfsPerNic": 1, "fabric.virtualFunctions": "node-image",
        "fabric.rails": [{"rail": rail, "interface": f"ens{rail}np0"} for rail in range(8)],
    }),
    bad("RES002", "sriov-ipv6", _MIXED),
    broken("RES002", "oke-h100-26-4", with_selectors_of_rail_0(_ANY_MLX5_DEVICE), "fabric.rails"),
    broken("RES002", "ipoib", with_rail_0_shared_by_the_interface_of_rail_1, "fabric.rails"),
    broken("RES002", "sriov-operator", with_two_node_policies_for_one_nic, "fabric.rails"),
    broken("RES002", "spiderpool-ib", with_two_node_policies_for_one_nic, "fabric.rails"),
    irrelevant("RES002", "doks-h200"),
    good("RES003", "oke-h100-26-4"),
    broken("RES003", "oke-h100-26-4", with_selectors_of_rail_0(_FRONT_END_OF_H100), "fabric.rails"),
    broken("RES003", "oke-h100-26-4", with_selectors_of_rail_0(_ANY_MLX5_DEVICE), "fabric.rails", "fabric.rails"),
    irrelevant("RES003", "doks-h200"),
    good("RES004", "oke-h100-26-4", {"fabric.addressing.layout": "flat"}),
    broken("RES004", "oke-h100-26-4", with_rail_1_selecting_rail_0s_nic_too, "fabric.rails"),
    broken("RES004", "sriov-operator", with_two_node_policies_for_one_nic, "fabric.rails"),
    irrelevant("RES004", "spiderpool-ib"),
    good("RES005", "oke-h100-26-4", {
        "fabric.rails": [{"rail": 0, "pci": "0000:17:00.0"}], "fabric.nccl": {"topology": "none"},
    }),
    broken("RES005", "oke-h100-26-4", with_the_nics_of_two_rails_swapped, "fabric.rails"),
    broken("RES005", "oke-h100-26-4", with_the_nearest_gpus_of_two_rails_swapped, "fabric.rails"),
    broken("RES005", "oke-h100-26-4", without_the_last_rail, "fabric.rails"),
    irrelevant("RES005", "doks-h200"),
    good("RES006", "oke-h100-26-4"),
    bad("RES006", "oke-h100-26-4", {"cluster.pools[0].shape": "BM.GPU.MI300X.8", **_TOLERANT},
        "cluster.pools[0].shape"),
    bad("RES006", "ib-sriov", {"software.gpuOperator.values": {"devicePlugin": {"enabled": False}}},
        ".devicePlugin.enabled"),
    good("RES006", "oke-h100-26-4", {
        "cluster.pools[0].shape": "BM.GPU.MI300X.8", "cluster.installed": ["gpu-operator"], **_TOLERANT,
    }),
    irrelevant("RES006", "host-device", {
        "cluster.pools[0].shape": "gpu-h200x8-1128gb-fabric-contracted",
        "fabric": {"manager": "doks", "model": "host-device"},
    }),
    irrelevant("RES006", "doks-mi325x"),
)  # fmt: skip
