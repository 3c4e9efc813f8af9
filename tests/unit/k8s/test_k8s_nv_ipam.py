"""NVIDIA's IPAM pools in both address families: what its webhook and controller would refuse is refused here."""

import pytest
from pydantic import ValidationError

from gpu_fabric.k8s.nv_ipam import CIDRPoolSpec, IPPoolSpec


@pytest.mark.parametrize(
    ("cidr", "prefix", "gateway_index"),
    [
        ("10.0.0.0/16", 31, 0),
        ("10.0.0.0/16", 31, 1),
        ("10.0.0.0/24", 32, 0),
        ("10.0.0.0/16", 30, 2),
        ("10.0.0.0/16", 24, 254),
        ("fd00::/64", 127, 1),
        ("fd00::/64", 128, 0),
        ("fd02::/32", 64, 1),
        ("fd02::/32", 64, None),
    ],
)
def test_every_size_of_node_prefix_has_room_for_its_gateway(cidr: str, prefix: int, gateway_index: int | None) -> None:
    spec = CIDRPoolSpec(cidr=cidr, per_node_network_prefix=prefix, gateway_index=gateway_index)
    assert spec.to_dict().get("gatewayIndex") == gateway_index


@pytest.mark.parametrize(
    ("subnet", "hosts"),
    [
        ("10.0.0.0/31", 2),
        ("10.0.0.0/32", 1),
        ("10.0.0.0/30", 2),
        ("fd00::/127", 2),
        ("fd00::/128", 1),
        ("fd00::/126", 3),
    ],
)
def test_a_node_may_have_every_usable_address_of_a_subnet_and_no_more(subnet: str, hosts: int) -> None:
    assert IPPoolSpec(subnet=subnet, per_node_block_size=hosts).per_node_block_size == hosts
    with pytest.raises(ValidationError, match=f"allowed 1-{hosts}"):
        IPPoolSpec(subnet=subnet, per_node_block_size=hosts + 1)
