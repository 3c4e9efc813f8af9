"""The coordinator's settings: written by the names that Spiderpool reads, and refused where it would refuse them."""

from typing import Any

import pytest
from pydantic import ValidationError

from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.k8s.spiderpool import COORDINATOR_NAME, SpiderCoordinator, SpiderCoordinatorSpec


def coordinator(**spec: Any) -> SpiderCoordinator:
    return SpiderCoordinator(
        metadata=ObjectMeta(name=COORDINATOR_NAME), spec=SpiderCoordinatorSpec.model_validate(spec)
    )


def test_settings_are_written_by_the_names_that_spiderpool_reads_and_only_those_that_are_given() -> None:
    made = coordinator(
        podCIDRType="none",
        hijackCIDR=["169.254.0.0/16", "10.96.0.10"],
        policyRoutes=[{"dst": "172.16.0.0/16", "gw": "172.16.11.254"}],
        podMACPrefix="0a:1b",
        podDefaultRouteNIC="eth0",
        podRPFilter=-1,
        vethLinkAddress="169.254.100.1",
        vethMTU=1400,
        txQueueLen=0,
    )
    assert made.manifest() == {
        "apiVersion": "spiderpool.spidernet.io/v2beta1",
        "kind": "SpiderCoordinator",
        "metadata": {"name": "default"},
        "spec": {
            "podCIDRType": "none",
            "hijackCIDR": ["169.254.0.0/16", "10.96.0.10"],
            "policyRoutes": [{"dst": "172.16.0.0/16", "gw": "172.16.11.254"}],
            "podMACPrefix": "0a:1b",
            "podDefaultRouteNIC": "eth0",
            "podRPFilter": -1,
            "txQueueLen": 0,
            "vethLinkAddress": "169.254.100.1",
            "vethMTU": 1400,
        },
    }


def test_the_coordinator_belongs_to_no_namespace() -> None:
    with pytest.raises(ValidationError, match="cluster-scoped"):
        SpiderCoordinator(metadata=ObjectMeta(name="default", namespace="spiderpool"), spec=SpiderCoordinatorSpec())


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"mode": "macvlan"}, "'auto', 'underlay', 'overlay' or 'disabled'"),
        ({"podCIDRType": "flannel"}, "'calico', 'cilium' or 'none'"),
        ({"hijackCIDR": ["169.254.1.0/16"]}, "write CIDR notation without host bits"),
        ({"hijackCIDR": ["node-local"]}, "neither an address nor a network"),
        ({"policyRoutes": [{"dst": "fd00::/64", "gw": "172.16.11.254"}]}, "of the other address family"),
        ({"policyRoutes": [{"dst": "172.16.0.0/16"}]}, "gw"),
        ({"podMACPrefix": "0b:1b"}, "odd first byte is a multicast address"),
        ({"podMACPrefix": "0a1b"}, "write the first two bytes"),
        ({"podMACPrefix": "0a:1b:2c"}, "write the first two bytes"),
        ({"podDefaultRouteNIC": "an-interface-name"}, "not an interface name"),
        ({"podRPFilter": 3}, "less than or equal to 2"),
        ({"txQueueLen": -1}, "greater than or equal to 0"),
        ({"vethLinkAddress": "169.254.100.1/32"}, "not an IP address"),
        ({"vethMTU": 0}, "greater than or equal to 1"),
        ({"vethMtu": 1400}, "did you mean vethMTU"),
        ({"detectGateway": True}, "unknown field 'detectGateway'"),
    ],
)
def test_what_spiderpool_would_refuse_is_refused_before(spec: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        coordinator(**spec)


@pytest.mark.parametrize("prefix", ["00:00", "fe:FF", "A2:0c"])
def test_a_prefix_of_own_addresses_is_taken_in_either_case(prefix: str) -> None:
    assert coordinator(podMACPrefix=prefix).spec.pod_mac_prefix == prefix
