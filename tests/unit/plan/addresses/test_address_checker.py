"""The checker that plans are held against: it must see every kind of mistake, or its silence proves nothing."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from address_checker import faults, pools_of
from ipam_behaviour import nv_ipam_faults, spiderpool_faults, whereabouts_faults

from gpu_fabric.plan.addresses import AddressDemand, AddressPlan, plan_addresses
from gpu_fabric.plan.ipam import cni_ipam, pool_objects
from gpu_fabric.spec.addressing import AddressingSpec
from gpu_fabric.spec.cluster import AddressRangesSpec

Json = dict[str, Any]

SECTION: Json = {"supernet": "10.1.0.0/20", "gateway": "first", "reservedLast": 2, "exclude": ["10.1.0.9-10.1.0.10"]}


def planned(layout: str, ipam: str, **section: Any) -> AddressPlan:
    demand = AddressDemand.model_validate(
        {"layout": layout, "ipam": ipam, "rails": 4, "addresses_per_nic": 2, "nodes": 5}, by_name=True
    )
    plan = plan_addresses(AddressingSpec.model_validate({**SECTION, **section}), AddressRangesSpec(), demand)
    assert isinstance(plan, AddressPlan), plan
    return plan


def as_json(plan: AddressPlan) -> Json:
    found: Json = plan.with_shares().model_dump(mode="json", by_alias=True)
    return found


def setting(name: str, value: Any) -> Callable[[Json], None]:
    return lambda pool: pool.update({name: value})


def share(node: int, text: str) -> Callable[[Json], None]:
    def tamper(pool: Json) -> None:
        pool["shares"][node] = text

    return tamper


TAMPERINGS = {
    "usable addresses, and claims 254": setting("usable", 254),
    "nodes, and claims 300": setting("maxNodes", 300),
    "addresses, and claims 11": setting("needed", 11),
    "are served": setting("rails", [3]),
    "is not part 1": setting("space", "10.1.2.0/24"),
    "is outside the supernet": setting("space", "10.2.1.0/24"),
    "differ in size": setting("space", "10.1.1.0/25"),
    "has 4 shares": setting("shares", ["10.1.1.2-10.1.1.4"] * 4),
    "overlap": share(1, "10.1.1.3-10.1.1.6"),
    "of 2 addresses": share(1, "10.1.1.4"),
    "nobody may have": share(0, "10.1.1.1-10.1.1.3"),
    "not its share": share(4, "10.1.1.13-10.1.1.14"),
    "same first address": share(1, "10.1.1.2-10.1.1.3"),
}


@pytest.mark.parametrize("said", [*TAMPERINGS])
def test_the_checker_sees_what_is_tampered_with(said: str) -> None:
    plan = as_json(planned("per-rail", "nv-ipam"))
    assert faults(plan, SECTION, {}, 5, 4) == []

    tampered = deepcopy(plan)
    TAMPERINGS[said](tampered["pools"][1])

    assert said in "\n".join(faults(tampered, SECTION, {}, 5, 4))


def test_the_checker_sees_a_range_in_use() -> None:
    plan = as_json(planned("per-rail", "nv-ipam"))

    assert faults(plan, SECTION, {"reserved": ["10.1.2.0/24"]}, 5, 4)[0] == (
        "node 0 of rail-02 lies in 10.1.2.0/24, which is in use"
    )


def test_the_checker_sees_more_nodes_and_rails_than_planned() -> None:
    plan = as_json(planned("per-node", "nv-ipam"))

    assert faults(plan, SECTION, {}, 5, 4) == []
    assert faults(plan, SECTION, {}, 6, 4)
    assert faults(plan, SECTION, {}, 5, 5)


def manifests(plan: AddressPlan) -> list[Json]:
    return [planned.object.manifest() for planned in pool_objects(plan, "nvidia-network-operator")]


def edited(document: list[Json], **changes: Any) -> list[Json]:
    copy = deepcopy(document)
    copy[2]["spec"] = {**copy[2]["spec"], **changes}
    return copy


@pytest.mark.parametrize(
    "change",
    [
        {"perNodeBlockSize": 4},
        {"gateway": "10.1.2.3"},
        {"exclusions": [{"startIP": "10.1.2.9", "endIP": "10.1.2.9"}]},
        {"subnet": "10.1.4.0/24"},
    ],
)
def test_an_edited_ip_pool_hands_out_something_else(change: Json) -> None:
    plan = planned("per-rail", "nv-ipam")
    pools, objects = pools_of(as_json(plan), SECTION), manifests(plan)

    assert list(nv_ipam_faults(pools, objects, ())) == []
    assert list(nv_ipam_faults(pools, edited(objects, **change), ())) != []


@pytest.mark.parametrize(
    "change",
    [
        {"perNodeNetworkPrefix": 28},
        {"gatewayIndex": 2},
        {"perNodeExclusions": [{"startIndex": 3, "endIndex": 3}]},
        {"cidr": "10.1.4.0/24"},
        {"staticAllocations": [{"nodeName": "gpu-0", "prefix": "10.1.2.0/29"}]},
    ],
)
def test_an_edited_cidr_pool_hands_out_something_else(change: Json) -> None:
    plan = planned("per-node", "nv-ipam", exclude=[])
    pools, objects = pools_of(as_json(plan), {**SECTION, "exclude": []}), manifests(plan)

    assert list(nv_ipam_faults(pools, objects, ())) == []
    assert list(nv_ipam_faults(pools, edited(objects, **change), ())) != []


@pytest.mark.parametrize(
    "change",
    [
        {"range_start": "10.1.0.1"},
        {"range_end": "10.1.0.12"},
        {"exclude": []},
        {"range": "10.1.1.0/24"},
    ],
)
def test_an_edited_whereabouts_section_hands_out_something_else(change: Json) -> None:
    plan = planned("per-rail", "whereabouts")
    pool = pools_of(as_json(plan), SECTION)[0]
    section = cni_ipam(plan, plan.pools[0])
    assert section is not None

    assert list(whereabouts_faults(pool, section.to_dict())) == []
    assert list(whereabouts_faults(pool, {**section.to_dict(), **change})) != []


def test_a_pattern_without_dash_takes_another_rails_pool() -> None:
    plan = planned("per-rail", "spiderpool")
    pools, objects = pools_of(as_json(plan), SECTION), manifests(plan)
    exact = {pool.name: (pool.name,) for pool in plan.pools}
    loose = {pool.name: (f"{pool.name[:-1]}*",) for pool in plan.pools}

    assert list(spiderpool_faults(pools, objects, exact, ())) == []
    assert "another rail" in "\n".join(spiderpool_faults(pools, objects, loose, ()))
    assert "lacks" in "\n".join(spiderpool_faults(pools, edited(objects, ips=["10.1.2.200"]), exact, ()))
