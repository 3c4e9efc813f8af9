"""Cases of the group `pods`."""

from __future__ import annotations

from typing import Any

from rules.alterations import (
    attached_to_nothing,
    on_the_hosts_network,
    requesting_two_devices_of_rail_0,
    with_a_patch_for_a_network_namespace_of_its_own,
    with_an_annotation_of_networks,
    with_another_annotation_in_the_patch,
    with_environment,
    with_every_device_after_two_equals_signs,
    with_networks_of_another_namespace,
    with_other_limits_than_requests,
    with_other_requests_than_limits,
    with_rail_0_attached,
    with_shared_memory_on_disk,
    with_two_networks_swapped_in_the_annotation,
    without_capabilities,
    without_capabilities_in_the_patch,
    without_shared_memory,
)
from rules.tables import bad, broken, good, irrelevant


def _own_shape(name: str) -> dict[str, Any]:
    nic = {"interface": "ens1np0", "nearestGpu": 0}
    hardware = {"gpus": {"vendor": "nvidia", "count": 8}, "nicModel": {"linkType": "infiniband"}, "nics": [nic]}
    return {"cluster.shapes": {name: hardware}, "cluster.pools[0].shape": name}


_INJECTED = {"software.spiderpool.injection": "rdma-network"}

CASES = (
    good("POD001", "ipoib", _own_shape("Rack-7.8x")),
    bad("POD001", "ipoib", _own_shape("Rack 7"), "cluster.shapes.Rack 7"),
    bad("POD001", "ipoib", _own_shape("r" * 50), f"cluster.shapes.{'r' * 50}"),
    good("POD001", "ipoib", _own_shape("r" * 49)),
    irrelevant("POD001", "ipoib"),
    good("POD002", "oke-h100-26-4", {"fabric.addressing.layout": "flat"}),
    broken("POD002", "oke-h100-26-4", requesting_two_devices_of_rail_0, "fabric.rails"),
    irrelevant("POD002", "host-network"),
    good("POD003", "oke-h100-26-4"),
    broken("POD003", "oke-h100-26-4", with_other_limits_than_requests, "fabric.model"),
    broken("POD003", "oke-h100-26-4", with_other_requests_than_limits, "fabric.model"),
    irrelevant("POD003", "host-network"),
    good("POD004", "oke-h100-26-4"),
    broken("POD004", "oke-h100-26-4", with_environment("NCCL_IB_HCA", "mlx5_0,mlx5_1"), "fabric.rails"),
    broken("POD004", "host-device", with_environment("NCCL_IB_HCA", "mlx5"), "fabric.rails"),
    broken("POD004", "ipoib", with_environment("NCCL_IB_HCA", "==mlx5_0"), "fabric.rails"),
    broken("POD004", "ipoib", with_environment("NCCL_IB_HCA", "=mlx5_0,mlx5_3"), "fabric.rails"),
    broken("POD004", "ipoib", with_every_device_after_two_equals_signs, "fabric.rails"),
    irrelevant("POD004", "doks-h200"),
    good("POD005", "oke-h100-26-4"),
    broken("POD005", "oke-h100-26-4", with_environment("NCCL_SOCKET_IFNAME", "net"), "fabric.rails"),
    broken("POD005", "oke-h100-26-4", with_environment("NCCL_SOCKET_IFNAME", "=eth0,net3"), "fabric.rails"),
    broken("POD005", "doks-h200", with_environment("NCCL_SOCKET_IFNAME", "^lo,docker"), "fabric.rails"),
    broken("POD005", "host-network", with_environment("NCCL_SOCKET_IFNAME", "rdma0"), "fabric.rails"),
    irrelevant("POD005", "ib-sriov"),
    good("POD006", "oke-h100-26-4"),
    broken("POD006", "oke-h100-26-4", without_capabilities, "fabric.model"),
    broken("POD006", "oke-h100-26-4", without_capabilities_in_the_patch, "fabric.model"),
    irrelevant("POD006", "host-network"),
    broken("POD007", "oke-h100-26-4", on_the_hosts_network, "fabric.model"),
    broken("POD007", "oke-h100-26-4", attached_to_nothing, "fabric.model"),
    broken("POD007", "host-network", with_a_patch_for_a_network_namespace_of_its_own, "fabric.model"),
    broken("POD007", "host-network", with_an_annotation_of_networks, "fabric.model"),
    good("POD007", "spiderpool-ib", _INJECTED),
    broken("POD007", "spiderpool-ib", attached_to_nothing, "fabric.model")._replace(changes=_INJECTED),
    irrelevant("POD007", "doks-h200"),
    broken("POD008", "oke-h100-26-4", with_two_networks_swapped_in_the_annotation, "fabric.rails"),
    broken("POD008", "oke-h100-26-4", with_another_annotation_in_the_patch, "fabric.rails"),
    # The annotation no longer says the same, and the name is none that Linux takes.
    broken("POD008", "oke-h100-26-4", with_rail_0_attached(interface="n" * 16), "fabric.rails", "fabric.rails"),
    broken("POD008", "oke-h100-26-4", with_rail_0_attached(interface="net2"), "fabric.rails", "fabric.rails"),
    good("POD008", "spiderpool-ib", _INJECTED),
    good("POD008", "spiderpool-ib", {**_INJECTED, "fabric.defaultNetwork": "kube-system/calico"}),
    broken("POD008", "spiderpool-ib", with_an_annotation_of_networks, "fabric.rails")._replace(changes=_INJECTED),
    broken("POD008", "doks-h200", with_networks_of_another_namespace, "fabric.rails"),
    irrelevant("POD008", "host-network"),
    good("POD009", "doks-mi325x"),
    broken("POD009", "doks-h200", with_shared_memory_on_disk, "fabric.model"),
    broken("POD009", "oke-h100-26-4", without_shared_memory, "fabric.model"),
    irrelevant("POD009", "host-network"),
)  # fmt: skip
