"""Cases of the group `objects`."""

from __future__ import annotations

from typing import Any

from rules.alterations import (
    with_a_device_plugin_configuration_of_two_mebibytes,
    with_a_file_of_two_mebibytes,
    with_a_node_policy_in_namespace_default,
    with_a_node_policy_of_two_mebibytes,
    with_an_annotation_of_300_kibibytes,
    with_an_object_of_300_kibibytes_of_annotations,
    with_every_network_and_the_contract_of_mtu,
    with_one_network_of_mtu,
    with_one_object_twice,
    with_one_spiderpool_network_of_mtu,
    with_rail_0_attached,
    with_rail_0_in_the_pool_of_rail_1,
    with_rail_0_of_no_pool,
    with_rail_0_of_the_operator_in_the_pool_of_rail_1,
    with_rail_0_of_the_resource_of_rail_1,
    with_rail_0_on_the_device_of_rail_1,
    with_rail_0_on_the_interface_of_rail_1,
    with_tables_of_two_mebibytes,
    with_the_first_network_under_another_name,
    with_the_pool_of_rail_0_in_namespace_default,
    without_namespaces_in_the_contract,
    without_nccl_files,
    without_the_last_network,
)
from rules.tables import bad, broken, good, irrelevant


def _pool(name: str, *nodes: str) -> dict[str, Any]:
    return {"name": name, "shape": "server.dgx-h100.8", "nodes": len(nodes), "nodeNames": list(nodes)}


_INJECTED = {"software.spiderpool.injection": "rdma-network"}
_ADDRESSES = {
    "fabric.hostPreparation": {"addresses": True},
    "cluster.pools[0].nodeNames": [f"gpu-{number}" for number in range(8)],
}

CASES = (
    broken("OBJ001", "oke-h100-26-4", without_the_last_network, "fabric.namespaces[0]"),
    broken("OBJ001", "spiderpool-ib", without_the_last_network, "fabric.namespaces[0]"),
    broken("OBJ001", "oke-h100-26-4", without_nccl_files, "fabric.namespaces[0]"),
    broken("OBJ001", "oke-h100-26-4", without_namespaces_in_the_contract, "fabric.namespaces[0]"),
    broken("OBJ001", "externally-managed", without_the_last_network, "fabric.namespaces[0]"),
    good("OBJ001", "spiderpool-ib", {**_INJECTED, "fabric.namespaces": ["default", "training"]}),
    broken("OBJ001", "spiderpool-ib", without_the_last_network, "fabric.namespaces[0]")._replace(changes=_INJECTED),
    irrelevant("OBJ001", "host-network"),
    good("OBJ002", "oke-h100-26-4", {"fabric.mtu": 4200}),
    broken("OBJ002", "oke-h100-26-4", with_one_network_of_mtu(1500), "fabric.mtu"),
    broken("OBJ002", "roce-macvlan", with_one_network_of_mtu(9000), "fabric.mtu"),
    broken("OBJ002", "oke-h100-26-4", with_every_network_and_the_contract_of_mtu(9000), "fabric.mtu"),
    broken("OBJ002", "spiderpool-macvlan", with_one_spiderpool_network_of_mtu(1500), "fabric.mtu"),
    irrelevant("OBJ002", "ib-sriov"),
    good("OBJ003", "oke-h100-26-4", {"fabric.rails": [{"rail": 0, "network": "first", "resource": "first"}]}),
    broken("OBJ003", "oke-h100-26-4", with_rail_0_in_the_pool_of_rail_1, "fabric.rails"),
    broken("OBJ003", "roce-macvlan", with_rail_0_on_the_interface_of_rail_1, "fabric.rails"),
    broken("OBJ003", "oke-h100-26-4", with_rail_0_of_the_resource_of_rail_1, "fabric.rails"),
    broken("OBJ003", "oke-h100-26-4", with_rail_0_of_no_pool, "fabric.rails"),
    broken("OBJ003", "oke-h100-26-4", with_rail_0_attached(resource="nvidia.com/another"), "fabric.rails"),
    broken("OBJ003", "oke-h100-26-4", with_rail_0_attached(rail=1), "fabric.rails"),
    broken("OBJ003", "oke-h100-26-4", with_the_first_network_under_another_name, "fabric.rails"),
    broken("OBJ003", "doks-b300", with_rail_0_on_the_device_of_rail_1, "fabric.rails"),
    broken("OBJ003", "externally-managed", with_rail_0_of_the_operator_in_the_pool_of_rail_1, "fabric.rails"),
    irrelevant("OBJ003", "host-network"),
    good("OBJ004", "oke-h100-26-4", {"fabric.namespaces": ["default", "training"]}),
    broken("OBJ004", "oke-h100-26-4", with_one_object_twice, "fabric.rails"),
    irrelevant("OBJ004", "host-network"),
    broken("OBJ005", "oke-h100-26-4", with_a_file_of_two_mebibytes, "cluster.pools[0].shape"),
    broken("OBJ005", "oke-h100-26-4", with_an_annotation_of_300_kibibytes, "cluster.pools[0].shape"),
    broken("OBJ005", "oke-h100-26-4", with_an_object_of_300_kibibytes_of_annotations, "cluster.pools[0].shape"),
    broken("OBJ005", "oke-h100-26-4", with_a_device_plugin_configuration_of_two_mebibytes, "cluster.pools[0].shape"),
    broken("OBJ005", "spiderpool-sriov-per-node", with_tables_of_two_mebibytes, "cluster.pools[0].shape")
    ._replace(changes=_ADDRESSES),
    good("OBJ005", "spiderpool-sriov-per-node", _ADDRESSES),
    broken("OBJ005", "node-kinds", with_a_node_policy_of_two_mebibytes, "cluster.pools[0].shape"),
    irrelevant("OBJ005", "host-network"),
    good("OBJ006", "spiderpool-macvlan", {"cluster.pools[0].nodeNames": ["gpu-1.rack-7", "10.0.0.12"]}),
    bad("OBJ006", "spiderpool-macvlan", {"cluster.pools[0].nodeNames": ["gpu-1", "GPU_2"]}, "[1]"),
    good("OBJ006", "spiderpool-macvlan", {"cluster.pools[0].nodeNames": ["gpu-1", "n" * 253]}),
    bad("OBJ006", "spiderpool-macvlan", {"cluster.pools[0].nodeNames": ["gpu-1", "n" * 254]}, "[1]"),
    irrelevant("OBJ006", "spiderpool-macvlan"),
    good("OBJ007", "ib-sriov", {"cluster.pools": [_pool("a", "gpu-1"), _pool("b", "gpu-2")]}),
    bad("OBJ007", "ib-sriov", {"cluster.pools": [_pool("a", "gpu-1"), _pool("b", "gpu-1")]}, "[1].nodeNames[0]"),
    irrelevant("OBJ007", "ib-sriov"),
    good("OBJ008", "sriov-operator"),
    broken("OBJ008", "sriov-operator", with_a_node_policy_in_namespace_default, "fabric.rails"),
    broken("OBJ008", "oke-h100-26-4", with_the_pool_of_rail_0_in_namespace_default, "fabric.rails"),
    broken("OBJ008", "spiderpool-ib", with_a_node_policy_in_namespace_default, "fabric.rails"),
    irrelevant("OBJ008", "spiderpool-macvlan"),
)  # fmt: skip
