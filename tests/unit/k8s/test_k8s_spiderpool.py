"""Spiderpool's objects: the form its webhook keeps, and what it would refuse, refused before anything is applied."""

import ipaddress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.k8s.names import RDMA_RESOURCE_INJECT_ANNOTATION
from gpu_fabric.k8s.spiderpool import (
    SpiderIPPool,
    SpiderIPPoolSpec,
    SpiderMacvlan,
    SpiderMultusConfig,
    SpiderMultusConfigSpec,
    SpiderPools,
    SpiderReservedIP,
    SpiderReservedIPSpec,
    ip_ranges,
)

SUBNET = "172.16.11.0/24"
BASE = ipaddress.IPv4Address("172.16.11.0")
Spans = list[tuple[int, int]]


@st.composite
def spans(draw: st.DrawFn) -> Spans:
    ends = st.integers(0, 255)
    return [(min(pair), max(pair)) for pair in draw(st.lists(st.tuples(ends, ends), max_size=12))]


def numbers(ranges: tuple[str, ...]) -> list[int]:
    ends = [text.split("-") for text in ranges]
    pairs = [(ipaddress.IPv4Address(pair[0]), ipaddress.IPv4Address(pair[-1])) for pair in ends]
    return [number - int(BASE) for first, last in pairs for number in range(int(first), int(last) + 1)]


@given(spans())
def test_merged_ranges_hold_the_same_addresses_once_and_in_order(pairs: Spans) -> None:
    wanted = sorted({number for first, last in pairs for number in range(first, last + 1)})
    assert numbers(ip_ranges((BASE + first, BASE + last) for first, last in pairs)) == wanted


@given(spans())
def test_merging_merged_ranges_changes_nothing(pairs: Spans) -> None:
    once = ip_ranges((BASE + first, BASE + last) for first, last in pairs)
    if once:
        assert SpiderIPPoolSpec(subnet=SUBNET, ips=once).ips == once


def test_neighbours_become_one_range_and_a_lone_address_stays_one() -> None:
    addresses = [ipaddress.ip_address(f"fd00::{last}") for last in ("7", "2", "1", "3")]
    assert ip_ranges(addresses) == ("fd00::1-fd00::3", "fd00::7")


def test_ranges_of_two_families_are_refused() -> None:
    with pytest.raises(ValueError, match="IPv4 and IPv6 are mixed"):
        ip_ranges([BASE, ipaddress.ip_address("fd00::1")])


def test_a_pair_that_runs_backwards_is_refused() -> None:
    with pytest.raises(ValueError, match="runs backwards"):
        ip_ranges([(BASE + 9, BASE + 8)])


def test_a_pool_is_written_in_the_form_that_the_webhook_leaves_alone() -> None:
    pool = SpiderIPPool(
        metadata=ObjectMeta(name="rail-1"),
        spec=SpiderIPPoolSpec(
            subnet=SUBNET,
            ips=("172.16.11.9", "172.16.11.1-172.16.11.4", "172.16.11.3-172.16.11.8"),
            exclude_ips=("172.16.11.2",),
            gateway="172.16.11.254",
        ),
    )
    assert pool.manifest() == {
        "apiVersion": "spiderpool.spidernet.io/v2beta1",
        "kind": "SpiderIPPool",
        "metadata": {"name": "rail-1"},
        "spec": {
            "subnet": SUBNET,
            "ips": ["172.16.11.1-172.16.11.9"],
            "excludeIPs": ["172.16.11.2"],
            "gateway": "172.16.11.254",
        },
    }


def test_a_gateway_among_the_addresses_is_fine_once_it_is_excluded() -> None:
    spec = SpiderIPPoolSpec(
        subnet="fd00::/64", ips=("fd00::1-fd00::ff",), exclude_ips=("fd00::1",), gateway="fd00::1", ip_version=6
    )
    assert spec.gateway == "fd00::1"


def test_reserved_addresses_are_merged_too() -> None:
    reserved = SpiderReservedIP(
        metadata=ObjectMeta(name="switches"), spec=SpiderReservedIPSpec(ips=("172.16.11.255", "172.16.11.254"))
    )
    assert reserved.manifest()["spec"] == {"ips": ["172.16.11.254-172.16.11.255"]}


@pytest.mark.parametrize(
    "spec",
    [
        {
            "cniType": "macvlan",
            "macvlan": {"master": ["enp11s0f0np0"], "rdmaResourceName": "spidernet.io/shared_cx5_gpu1"},
        },
        {"cniType": "macvlan", "macvlan": {"master": ["a", "b"], "bond": {"name": "bond0", "mode": 4}, "vlanID": 100}},
        {"cniType": "sriov", "sriov": {"resourceName": "spidernet.io/rail_1", "ippools": {"matchMasterSubnet": True}}},
        {"cniType": "ib-sriov", "ibsriov": {"resourceName": "spidernet.io/rail_1", "pkey": "0x10"}},
        {"cniType": "ipoib", "ipoib": {"master": "ib0", "ippools": {"ipv4": ["rail1-*"], "ipv6": ["rail1-v6"]}}},
    ],
)
def test_every_planned_kind_of_network_is_read_and_written_alike(spec: dict[str, Any]) -> None:
    assert SpiderMultusConfigSpec.model_validate(spec).to_dict() == spec


SRIOV = {"resourceName": "spidernet.io/rail_1"}


def network(section: SpiderMacvlan, group: str) -> SpiderMultusConfig:
    annotations = {RDMA_RESOURCE_INJECT_ANNOTATION: group}
    return SpiderMultusConfig(
        metadata=ObjectMeta(name="rail-1", namespace="ai", annotations=annotations),
        spec=SpiderMultusConfigSpec(cni_type="macvlan", macvlan=section),
    )


def test_a_network_of_a_group_has_its_resource_and_its_pool() -> None:
    section = SpiderMacvlan(master=("rdma0",), rdma_resource_name="rdma/rail_1", ippools=SpiderPools(ipv4=("rail-1",)))
    assert network(section, "rdma-network").spec.resource == "rdma/rail_1"


@pytest.mark.parametrize(
    ("section", "group", "message"),
    [
        (
            SpiderMacvlan(master=("rdma0",), ippools=SpiderPools(ipv4=("rail-1",))),
            "rdma",
            "needs the section's resource",
        ),
        (SpiderMacvlan(master=("rdma0",), rdma_resource_name="rdma/rail_1"), "rdma", "needs at least one pool"),
        (SpiderMacvlan(master=("rdma0",)), "rdma network", "at most 63 label characters"),
    ],
)
def test_a_network_that_could_not_be_injected_is_refused(section: SpiderMacvlan, group: str, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        network(section, group)
