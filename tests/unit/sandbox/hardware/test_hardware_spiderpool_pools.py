"""Spiderpool's webhook on address pools: what it writes into them, and which it refuses beside those that are there."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Any

import pytest
from played_objects import Object

from sandbox.hardware.spider_checks import Checks, RefusedError
from sandbox.hardware.spider_defaults import with_defaults


def pool(name: str = "new", subnet: str = "172.16.11.0/24", **spec: Any) -> Object:
    metadata = {"name": name, "resourceVersion": "1"}
    ranges = {"ips": ["172.16.11.1-172.16.11.200"]} if subnet == "172.16.11.0/24" else {}
    return {"kind": "SpiderIPPool", "metadata": metadata, "spec": {"subnet": subnet, **ranges, **spec}}


def reservation(*ips: str, **spec: Any) -> Object:
    return {"kind": "SpiderReservedIP", "metadata": {"name": "kept"}, "spec": {"ips": list(ips), **spec}}


def admitted(new: Object, *others: Object, old: Object | None = None) -> Object:
    """The object as it is stored when these pools are there; raises what the API server would show."""
    before = {item["metadata"]["name"]: with_defaults(item) for item in others}
    stored = with_defaults(new)
    Checks().check(stored, with_defaults(old) if old else None, before)
    return stored


def refusal(new: Object, *others: Object, old: Object | None = None) -> str:
    with pytest.raises(RefusedError) as caught:
        admitted(new, *others, old=old)
    return str(caught.value)


def in_one(last: int, *, name: str = "", **spec: Any) -> Object:
    """A pool of a few addresses of the one subnet 172.16.0.0/16."""
    ips = {"ips": [f"172.16.{last}.1-172.16.{last}.9"]}
    return pool(name or f"rail-{last}", "172.16.0.0/16", **{**ips, **spec})


def test_a_subnet_with_host_bits_is_refused_with_the_form_that_is_meant() -> None:
    assert "write 172.16.0.0/16" in refusal(pool(subnet="172.16.11.0/16"))


@pytest.mark.parametrize("subnet", ["172.16.11.0", "172.16.11.0/33", "rail", ""])
def test_what_is_no_subnet_is_refused(subnet: str) -> None:
    assert "spec.subnet" in refusal(pool(subnet=subnet))


def test_pools_of_one_subnet_share_it_out() -> None:
    rails = [in_one(last) for last in range(11, 19)]
    for count, rail in enumerate(rails):
        admitted(rail, *rails[:count])


def test_an_address_in_two_pools_of_a_subnet_is_refused_with_the_other_pools_name() -> None:
    both = in_one(12, ips=["172.16.11.9", "172.16.12.1"])
    assert refusal(both, in_one(11)) == "spec: 172.16.11.9 would be in both (pool rail-11)"


def test_excluded_addresses_count_as_free_for_another_pool() -> None:
    part = {"ips": ["172.16.11.1-172.16.11.9"]}
    lower = in_one(11, excludeIPs=["172.16.11.5-172.16.11.9"])
    admitted(in_one(12, **part, excludeIPs=["172.16.11.1-172.16.11.4"]), lower)
    assert "172.16.11.4" in refusal(in_one(12, **part, excludeIPs=["172.16.11.1-172.16.11.3"]), lower)


@pytest.mark.parametrize(("new", "there"), [("172.16.11.0/24", "172.16.0.0/16"), ("172.16.0.0/16", "172.16.11.0/24")])
def test_subnets_that_are_written_differently_must_not_overlap(new: str, there: str) -> None:
    assert f"subnet {new} overlaps subnet {there}" in refusal(pool(subnet=new), pool("other", there))


def test_neighbouring_subnets_and_those_of_the_other_family_are_taken() -> None:
    admitted(pool(), pool("next", "172.16.12.0/24"), pool("six", "fd00:11::/64"))


def test_a_pool_is_not_in_its_own_way_when_it_changes() -> None:
    admitted(pool(ips=["172.16.11.1-172.16.11.250"]), pool(), old=pool())


def test_a_gateway_outside_the_ranges_is_taken_and_one_to_be_handed_out_is_not() -> None:
    admitted(pool(gateway="172.16.11.254"))
    admitted(pool(gateway="172.16.11.1", excludeIPs=["172.16.11.1"]))
    assert "would be handed to a pod" in refusal(pool(gateway="172.16.11.1"))
    assert "is outside" in refusal(pool(gateway="172.16.12.254"))


def test_a_gateway_of_a_larger_subnet_is_inside() -> None:
    admitted(in_one(11, gateway="172.16.11.254"))


@pytest.mark.parametrize(
    ("ips", "problem"),
    [
        ("172.16.11.0/25", "is not a valid range"),
        ("172.16.11.1 - 172.16.11.9", "is not a valid range"),
        ("172.16.12.1", "outside"),
        ("172.16.11.9-172.16.11.1", "backwards"),
    ],
)
def test_ranges_that_no_address_can_come_from_are_refused(ips: str, problem: str) -> None:
    assert problem in refusal(pool(ips=[ips]))


def test_the_networks_own_address_and_the_broadcast_address_are_not_looked_for() -> None:
    admitted(pool(ips=["172.16.11.0-172.16.11.255"]))


@pytest.mark.parametrize(
    ("routes", "problem"),
    [
        ([("0.0.0.0/0", "172.16.11.254")], "default route"),
        ([("172.16.0.0/16", "172.16.12.1")], "outside"),
        ([("fd00::/16", "172.16.11.254")], "address family"),
        ([("172.16.0.0/16", "172.16.11.254")] * 2, "given twice"),
    ],
)
def test_routes_that_cannot_work_are_refused(routes: list[tuple[str, str]], problem: str) -> None:
    assert problem in refusal(pool(routes=[{"dst": dst, "gw": gw} for dst, gw in routes]))


def test_a_route_to_the_whole_fabric_is_taken() -> None:
    admitted(pool(routes=[{"dst": "172.16.0.0/16", "gw": "172.16.11.254"}]))


def test_an_empty_pod_selector_is_refused() -> None:
    assert "podAffinity is empty" in refusal(pool(podAffinity={}))


def test_subnet_and_family_stay_as_they_are() -> None:
    assert "cannot change" in refusal(pool(subnet="172.16.12.0/24"), old=pool())
    assert "spec.ipVersion" in refusal(reservation("fd00::1"), old=reservation("172.16.11.254"))


def test_a_pool_gets_its_family_its_label_and_the_finalizer() -> None:
    stored = admitted(pool(subnet="172.16.0.0/16"))
    assert stored["spec"]["ipVersion"] == 4
    assert stored["metadata"]["labels"] == {"ipam.spidernet.io/ippool-cidr": "172-16-0-0-16"}
    assert stored["metadata"]["finalizers"] == ["spiderpool.spidernet.io"]
    assert with_defaults(stored) == stored


def test_several_ranges_are_merged_and_sorted_and_a_single_one_stays() -> None:
    apart = ["172.16.11.40", "172.16.11.20-172.16.11.30", "172.16.11.1-172.16.11.20"]
    assert admitted(pool(ips=apart))["spec"]["ips"] == ["172.16.11.1-172.16.11.30", "172.16.11.40"]
    assert admitted(pool(ips=["172.16.11.7-172.16.11.7"]))["spec"]["ips"] == ["172.16.11.7-172.16.11.7"]


def test_a_pool_that_is_being_deleted_may_lose_its_finalizer_whatever_else_is_there() -> None:
    leaving = pool(subnet="172.16.11.0/16")
    leaving["metadata"]["deletionTimestamp"] = "now"
    assert admitted(leaving, pool("other", "172.16.0.0/16"), old=pool()) == leaving


def test_reserved_addresses_get_their_family_and_must_be_addresses_of_one() -> None:
    assert admitted(reservation("172.16.11.254", "172.16.11.253"))["spec"] == {
        "ipVersion": 4,
        "ips": ["172.16.11.253-172.16.11.254"],
    }
    assert "is not a valid range" in refusal(reservation("172.16.11.0/24"))
    assert "IPv4 and IPv6" in refusal(reservation("172.16.11.254", "fd00::1"))
    assert "ipVersion 6" in refusal(reservation("172.16.11.254", ipVersion=6))


def test_a_pool_that_came_while_nobody_checked_is_in_nobodys_way() -> None:
    Checks().check(with_defaults(pool()), None, {"odd": pool("odd", "nonsense")})


def test_the_last_of_two_thousand_pools_is_compared_with_all_others() -> None:
    subnets = [str(subnet) for subnet in ip_network("172.16.0.0/16").subnets(new_prefix=27)]
    there = {subnet: pool(subnet, subnet) for subnet in subnets[1:]}
    checks = Checks()
    checks.check(with_defaults(pool("first", subnets[0])), None, there)
    with pytest.raises(RefusedError, match=r"172\.16\.255\.224/27 \(pool"):
        checks.check(with_defaults(pool("last", "172.16.255.224/28")), None, there)
