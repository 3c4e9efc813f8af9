"""NVIDIA's IPAM pools in both address families: what its webhook and controller would refuse is refused here."""

import pytest
from pydantic import ValidationError

from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.k8s.nv_ipam import CIDRPool, CIDRPoolSpec, IPPoolSpec, StaticAllocation

OPERATOR_NAMESPACE = "nvidia-network-operator"
ONE_NODE = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "rack", "operator": "In", "values": ["a"]}]}]}


def test_a_prefix_of_two_addresses_may_have_its_gateway_at_index_zero() -> None:
    spec = CIDRPoolSpec(
        cidr="10.0.0.0/16",
        per_node_network_prefix=31,
        gateway_index=0,
        static_allocations=(StaticAllocation(prefix="10.0.0.4/31", node_name="gpu-0", gateway="10.0.0.4"),),
    )
    pool = CIDRPool(metadata=ObjectMeta(name="rail", namespace=OPERATOR_NAMESPACE), spec=spec)
    assert pool.manifest()["spec"]["gatewayIndex"] == 0


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


def test_a_pool_of_routed_rails_reads_as_the_vendor_writes_it() -> None:
    written = {
        "cidr": "fd02::/48",
        "perNodeNetworkPrefix": 64,
        "gatewayIndex": 1,
        "exclusions": [{"startIP": "fd02::1", "endIP": "fd02::ff"}],
        "perNodeExclusions": [{"startIndex": 0, "endIndex": 9}],
        "staticAllocations": [
            {"prefix": "fd02:0:0:1::/64", "nodeName": "gpu-0", "gateway": "fd02:0:0:1::1"},
            {"prefix": "fd02:0:0:2::/64"},
        ],
        "routes": [{"dst": "fd02::/32"}],
        "defaultGateway": False,
        "nodeSelector": ONE_NODE,
    }
    assert CIDRPoolSpec.model_validate(written).to_dict() == written
