"""Cases of the group `modes`."""

from __future__ import annotations

from rules.alterations import (
    in_rdma_mode,
    with_one_network_that_keeps_the_device_on_the_host,
    with_rail_0_of_the_operator_keeping_its_device_on_the_host,
    with_the_shared_plugin_in_a_node_policy,
)
from rules.tables import bad, broken, good, irrelevant

CASES = (
    good("RDM001", "oke-h100-26-4", {"fabric.rdmaMode": "shared"}),
    good("RDM001", "spiderpool-ipoib", {"fabric.rdmaMode": "exclusive"}),
    broken("RDM001", "oke-h100-26-4", in_rdma_mode("shared"), "fabric.rdmaMode"),
    broken("RDM001", "oke-h100-26-4", with_one_network_that_keeps_the_device_on_the_host, "fabric.rdmaMode"),
    broken("RDM001", "spiderpool-ib", in_rdma_mode("shared"), "fabric.rdmaMode"),
    broken("RDM001", "roce-macvlan", in_rdma_mode("exclusive"), "fabric.rdmaMode"),
    broken("RDM001", "externally-managed", in_rdma_mode("shared"), "fabric.rdmaMode"),
    broken("RDM001", "externally-managed", with_rail_0_of_the_operator_keeping_its_device_on_the_host,
           "fabric.rdmaMode"),
    irrelevant("RDM001", "host-network"),
    good("RDM002", "roce-macvlan"),
    broken("RDM002", "roce-macvlan", in_rdma_mode("exclusive"), "fabric.rdmaMode"),
    broken("RDM002", "spiderpool-macvlan", in_rdma_mode("exclusive"), "fabric.rdmaMode"),
    broken("RDM002", "node-kinds", with_the_shared_plugin_in_a_node_policy, "fabric.rdmaMode"),
    bad("RDM002", "guide-23-10", {"software.networkOperator.values": {"rdmaSharedDevicePlugin": {"deploy": True}}},
        "fabric.rdmaMode"),
    irrelevant("RDM002", "oke-h100-26-4"),
)  # fmt: skip
