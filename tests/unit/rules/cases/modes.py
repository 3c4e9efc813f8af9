"""Cases of the group `modes`."""

from __future__ import annotations

from rules.alterations import in_rdma_mode, with_one_network_that_keeps_the_device_on_the_host
from rules.tables import broken, good, irrelevant

CASES = (
    good("RDM001", "oke-h100"),
    good("RDM001", "oke-h100", {"fabric.rdmaMode": "shared"}),
    good("RDM001", "spiderpool-ib"),
    good("RDM001", "ib-sriov"),
    good("RDM001", "spiderpool-ipoib", {"fabric.rdmaMode": "exclusive"}),
    broken("RDM001", "oke-h100", in_rdma_mode("shared"), "fabric.rdmaMode"),
    broken("RDM001", "oke-h100", with_one_network_that_keeps_the_device_on_the_host, "fabric.rdmaMode"),
    broken("RDM001", "spiderpool-ib", in_rdma_mode("shared"), "fabric.rdmaMode"),
    broken("RDM001", "roce-macvlan", in_rdma_mode("exclusive"), "fabric.rdmaMode"),
    irrelevant("RDM001", "host-network"),
    good("RDM002", "roce-macvlan"),
    broken("RDM002", "roce-macvlan", in_rdma_mode("exclusive"), "fabric.rdmaMode"),
    broken("RDM002", "spiderpool-macvlan", in_rdma_mode("exclusive"), "fabric.rdmaMode"),
    irrelevant("RDM002", "oke-h100"),
)
