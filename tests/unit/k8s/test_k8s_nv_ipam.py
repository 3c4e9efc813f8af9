"""NVIDIA's IPAM pools in both address families: what its webhook and controller would refuse is refused here."""

from typing import Any

import pytest
from pydantic import ValidationError

from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.k8s.nv_ipam import CIDRPool, CIDRPoolSpec, IPPoolSpec, StaticAllocation

OPERATOR_NAMESPACE = "nvidia-network-operator"
ONE_NODE = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "rack", "operator": "In", "values": ["a"]}]}]}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"subnet": "10.0.0.1/24", "perNodeBlockSize": 4}, "without host bits"),
        ({"subnet": "10.0.0.0/30", "perNodeBlockSize": 3}, "allowed 1-2"),
        ({"subnet": "10.0.0.0/24", "perNodeBlockSize": 4, "gateway": "10.0.1.1"}, "is outside 10.0.0.0/24"),
        ({"subnet": "10.0.0.0/24", "perNodeBlockSize": 4, "gateway": "10.0.0.0/24"}, "is not an IP address"),
        ({"subnet": "10.0.0.0/24", "perNodeBlockSize": 4, "defaultGateway": True}, "need a gateway"),
        (
            {
                "subnet": "10.0.0.0/24",
                "perNodeBlockSize": 4,
                "exclusions": [{"startIP": "10.0.0.250", "endIP": "10.0.1.2"}],
            },
            "exclusion address 10.0.1.2 is outside",
        ),
        (
            {
                "subnet": "10.0.0.0/24",
                "perNodeBlockSize": 4,
                "exclusions": [{"startIP": "10.0.0.9", "endIP": "10.0.0.8"}],
            },
            "the start must not be after the end",
        ),
        (
            {
                "subnet": "10.0.0.0/24",
                "perNodeBlockSize": 4,
                "exclusions": [{"startIP": "10.0.0.9", "endIP": "fd00::9"}],
            },
            "both ends must be of one address family",
        ),
        (
            {
                "subnet": "10.0.0.0/24",
                "perNodeBlockSize": 4,
                "perNodeExclusions": [{"startIndex": 0, "endIndex": 4}],
            },
            "is outside a node's share: allowed 0-3",
        ),
        (
            {
                "subnet": "10.0.0.0/24",
                "perNodeBlockSize": 4,
                "exclusions": [
                    {"startIP": "10.0.0.5", "endIP": "10.0.0.5"},
                    {"startIP": "10.0.0.1", "endIP": "10.0.0.9"},
                ],
            },
            "10.0.0.1-10.0.0.9 and 10.0.0.5-10.0.0.5 overlap",
        ),
        (
            {
                "subnet": "10.0.0.0/24",
                "perNodeBlockSize": 4,
                "perNodeExclusions": [{"startIndex": 0, "endIndex": 2}, {"startIndex": 2, "endIndex": 3}],
            },
            "overlap, and nv-ipam then assigns no address",
        ),
        ({"subnet": "fd00::/127", "perNodeBlockSize": 3}, "exceeds the 2 hosts of fd00::/127"),
        ({"subnet": "fd00::/64", "perNodeBlockSize": 4, "gateway": "10.0.0.1"}, "is outside fd00::/64"),
        (
            {"subnet": "fd00::/64", "perNodeBlockSize": 4, "gateway": "fd00::1", "routes": [{"dst": "10.0.0.0/8"}]},
            "not of the address family of fd00::/64",
        ),
        (
            {
                "subnet": "fd00::/64",
                "perNodeBlockSize": 4,
                "gateway": "fd00::1",
                "routes": [{"dst": "::/0"}],
                "defaultGateway": True,
            },
            "say the same",
        ),
        ({"subnet": "10.0.0.0", "perNodeBlockSize": 1}, "with the prefix length"),
    ],
)
def test_an_address_pool_that_the_ipam_webhook_would_refuse_is_refused(spec: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        IPPoolSpec.model_validate(spec)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"cidr": "10.0.0.0/16", "perNodeNetworkPrefix": 16}, "allowed 17-32"),
        ({"cidr": "10.0.0.0/16", "perNodeNetworkPrefix": 30, "gatewayIndex": 3}, "allowed 1-2"),
        ({"cidr": "10.0.0.0/16", "perNodeNetworkPrefix": 30, "gatewayIndex": 0}, "is the network address"),
        ({"cidr": "10.0.0.0/16", "perNodeNetworkPrefix": 30, "routes": [{"dst": "10.0.0.0/8"}]}, "need a gatewayIndex"),
        (
            {"cidr": "10.0.0.0/16", "perNodeNetworkPrefix": 24, "staticAllocations": [{"prefix": "10.1.0.0/24"}]},
            "is outside 10.0.0.0/16",
        ),
        (
            {"cidr": "10.0.0.0/16", "perNodeNetworkPrefix": 24, "staticAllocations": [{"prefix": "10.0.0.0/25"}]},
            "must have prefix length 24",
        ),
        (
            {"cidr": "10.0.0.0/16", "perNodeNetworkPrefix": 24, "staticAllocations": [{"prefix": "10.0.0.0/24"}] * 2},
            "repeats a prefix or a node",
        ),
        (
            {
                "cidr": "fd00::/48",
                "perNodeNetworkPrefix": 64,
                "staticAllocations": [{"prefix": "fd00::/64"}, {"prefix": "fd00:0:0::/64"}],
            },
            "repeats a prefix or a node",
        ),
        (
            {
                "cidr": "fd00::/48",
                "perNodeNetworkPrefix": 64,
                "staticAllocations": [
                    {"prefix": "fd00::/64", "nodeName": "gpu-0"},
                    {"prefix": "fd00:0:0:1::/64", "nodeName": "gpu-0"},
                ],
            },
            "repeats a prefix or a node",
        ),
        (
            {
                "cidr": "fd00::/48",
                "perNodeNetworkPrefix": 64,
                "staticAllocations": [{"prefix": "fd00::/64", "gateway": "fd00:0:0:1::1"}],
            },
            "gateway fd00:0:0:1::1 is outside it",
        ),
        ({"cidr": "10.0.0.0/16", "perNodeNetworkPrefix": 64}, "allowed 17-32"),
        ({"cidr": "fd00::/48", "perNodeNetworkPrefix": 127, "gatewayIndex": 2}, "allowed 0-1"),
        (
            {
                "cidr": "10.0.0.0/16",
                "perNodeNetworkPrefix": 31,
                "perNodeExclusions": [{"startIndex": 1, "endIndex": 2}],
            },
            "allowed 0-1",
        ),
    ],
)
def test_a_prefix_pool_that_the_ipam_webhook_would_refuse_is_refused(spec: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        CIDRPoolSpec.model_validate(spec)


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
