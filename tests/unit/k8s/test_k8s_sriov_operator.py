"""The SR-IOV operator's objects: what its webhook would refuse, or the operator silently not do, is refused here."""

from typing import Any

import pytest

from gpu_fabric.k8s.sriov_operator import NetworkSpec, SriovNetworkNodePolicySpec, SriovNetworkPoolConfigSpec

POLICY: dict[str, Any] = {
    "resourceName": "rail_00",
    "nodeSelector": {"node.kubernetes.io/instance-type": "BM.GPU.H100.8"},
    "nicSelector": {"vendor": "15b3", "pfNames": ["rdma0#0-0"]},
    "numVfs": 1,
}


def policy(**changes: object) -> SriovNetworkNodePolicySpec:
    return SriovNetworkNodePolicySpec.model_validate({**POLICY, **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {"numVfs": 128, "nicSelector": {"pfNames": ["rdma0#0-127", "rdma1"]}},
        {"deviceType": "vfio-pci", "nicSelector": {"vendor": "8086"}},
        {"vdpaType": "vhost", "eSwitchMode": "switchdev"},
        {"isRdma": True, "linkType": "IB"},
    ],
)
def test_a_policy_at_the_edge_of_the_rules_is_taken(changes: dict[str, Any]) -> None:
    assert policy(**changes).to_dict() == {**POLICY, **changes}


@pytest.mark.parametrize("amount", [1, 20, "1%", "20%", "100%"])
def test_a_pool_counts_unavailable_nodes_in_numbers_or_percent(amount: int | str) -> None:
    assert SriovNetworkPoolConfigSpec(max_unavailable=amount).to_dict() == {"maxUnavailable": amount}


def test_spaces_between_the_parts_of_an_ipam_text_are_taken() -> None:
    text = '{ "type": "nv-ipam", "poolName": "rail-00" }'
    assert NetworkSpec(resource_name="rail_00", ipam=text).ipam == text
