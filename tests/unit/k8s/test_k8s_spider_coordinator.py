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


@pytest.mark.parametrize("prefix", ["00:00", "fe:FF", "A2:0c"])
def test_a_prefix_of_own_addresses_is_taken_in_either_case(prefix: str) -> None:
    assert coordinator(podMACPrefix=prefix).spec.pod_mac_prefix == prefix
