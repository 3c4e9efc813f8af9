"""Spiderpool's objects: the form its webhook keeps, and what it would refuse, refused before anything is applied."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.k8s.names import RDMA_RESOURCE_INJECT_ANNOTATION
from gpu_fabric.k8s.spiderpool import (
    SpiderIPPoolSpec,
    SpiderMacvlan,
    SpiderMultusConfig,
    SpiderMultusConfigSpec,
    SpiderPools,
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


def test_ranges_of_two_families_are_refused() -> None:
    with pytest.raises(ValueError, match="IPv4 and IPv6 are mixed"):
        ip_ranges([BASE, ipaddress.ip_address("fd00::1")])


def test_a_pair_that_runs_backwards_is_refused() -> None:
    with pytest.raises(ValueError, match="runs backwards"):
        ip_ranges([(BASE + 9, BASE + 8)])


def test_a_gateway_among_the_addresses_is_fine_once_it_is_excluded() -> None:
    spec = SpiderIPPoolSpec(
        subnet="fd00::/64", ips=("fd00::1-fd00::ff",), exclude_ips=("fd00::1",), gateway="fd00::1", ip_version=6
    )
    assert spec.gateway == "fd00::1"


def network(section: SpiderMacvlan, group: str) -> SpiderMultusConfig:
    annotations = {RDMA_RESOURCE_INJECT_ANNOTATION: group}
    return SpiderMultusConfig(
        metadata=ObjectMeta(name="rail-1", namespace="ai", annotations=annotations),
        spec=SpiderMultusConfigSpec(cni_type="macvlan", macvlan=section),
    )


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
