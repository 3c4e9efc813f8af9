"""An address plan in Spiderpool's words: pools of rails and of nodes, how networks name them, and what is reserved."""

from __future__ import annotations

from typing import Any

import pytest
from planned_addresses import Json, answer, pinned_27, planned

from gpu_fabric.plan.addresses import AddressPlan
from gpu_fabric.plan.ipam import cni_ipam, node_pools, pool_objects, pool_pattern, reserved_objects

NAMES = ("gpu-a", "gpu-b", "gpu-c")


def by_spiderpool(layout: str, section: Json, **demand: Any) -> AddressPlan:
    """A plan for three nodes with twelve rails and one pod a NIC, unless `demand` says otherwise."""
    return planned(section, layout=layout, ipam="spiderpool", **{"rails": 12, "nodes": 3, **demand})


def of_rails(plan: AddressPlan) -> list[Json]:
    return [entry.object.manifest() for entry in pool_objects(plan, "spiderpool")]


def of_nodes(plan: AddressPlan, rail: int = 0) -> list[Json]:
    """The pools that a rail has for every node."""
    return [entry.object.manifest() for entry in node_pools(plan)[rail][1]]


def reserved(plan: AddressPlan) -> dict[str, list[str]]:
    manifests = [entry.object.manifest() for entry in reserved_objects(plan)]
    return {manifest["metadata"]["name"]: manifest["spec"]["ips"] for manifest in manifests}


def test_a_rail_has_a_pool_with_the_gaps_left_out() -> None:
    section = {"supernet": "172.16.0.0/20", "gateway": "last", "exclude": ["172.16.0.10", "172.16.0.12-172.16.0.20"]}
    first = of_rails(by_spiderpool("per-rail", section))[0]

    assert first == {
        "apiVersion": "spiderpool.spidernet.io/v2beta1",
        "kind": "SpiderIPPool",
        "metadata": {"name": "rail-00"},
        "spec": {
            "subnet": "172.16.0.0/24",
            "ipVersion": 4,
            "ips": ["172.16.0.1-172.16.0.9", "172.16.0.11", "172.16.0.21-172.16.0.253"],
            "gateway": "172.16.0.254",
        },
    }


def test_flat_rails_have_one_subnet_and_disjoint_addresses() -> None:
    found = of_rails(by_spiderpool("flat", {"supernet": "172.17.0.0/16", "gateway": "first"}, rails=2))

    assert [(pool["spec"]["subnet"], pool["spec"]["gateway"], pool["spec"]["ips"]) for pool in found] == [
        ("172.17.0.0/16", "172.17.0.1", ["172.17.0.2-172.17.15.254"]),
        ("172.17.0.0/16", "172.17.0.1", ["172.17.16.1-172.17.31.254"]),
    ]


def test_every_node_and_rail_has_a_pool_named_by_its_share_and_bound_by_the_nodes_name() -> None:
    section = {"supernet": "172.17.0.0/20", "nodePrefixLength": 27, "gateway": "first", "reservedFirst": 2}
    plan = by_spiderpool("per-node", section, node_names=NAMES, addresses_per_nic=28)

    assert of_rails(plan) == []
    assert [len(pools) for _, pools in node_pools(plan)] == 12 * [3]
    assert of_nodes(plan, rail=1)[1] == {
        "apiVersion": "spiderpool.spidernet.io/v2beta1",
        "kind": "SpiderIPPool",
        "metadata": {"name": "rail-01-node-0001"},
        "spec": {
            "subnet": "172.17.1.32/27",
            "ipVersion": 4,
            "ips": ["172.17.1.35-172.17.1.62"],
            "gateway": "172.17.1.33",
            "nodeName": ["gpu-b"],
        },
    }


def test_every_node_reaches_the_other_nodes_rails_by_the_gateway_of_its_first_rail_alone() -> None:
    plan = pinned_27()

    assert [pool["spec"]["routes"] for pool in of_nodes(plan, rail=0)][:2] == [
        [{"dst": "172.17.0.0/21", "gw": "172.17.0.1"}],
        [{"dst": "172.17.0.0/21", "gw": "172.17.0.33"}],
    ]
    others = [pool["spec"] for rail in range(1, 8) for pool in of_nodes(plan, rail)]
    assert [spec for spec in others if "routes" in spec] == []


def test_without_a_gateway_or_own_prefixes_no_pool_has_a_route() -> None:
    without = of_nodes(by_spiderpool("per-node", {"supernet": "172.16.0.0/12"}))
    shared = of_rails(by_spiderpool("per-rail", {"supernet": "172.16.0.0/12", "gateway": "first"}))

    assert [pool for pool in (*without, *shared) if "routes" in pool["spec"]] == []


def test_the_first_pool_is_that_of_the_share_that_the_nodes_start_from() -> None:
    section = {"supernet": "172.17.0.0/20", "nodePrefixLength": 27, "gateway": "first"}
    demand = {"layout": "per-node", "ipam": "spiderpool", "rails": 1, "nodes": 3}
    first, second, _ = of_nodes(_unchecked(section, **demand, node_names=NAMES, node_numbers=(4, 5, 6)))

    assert (first["metadata"]["name"], first["spec"]["subnet"], first["spec"]["gateway"], first["spec"]["ips"]) == (
        "rail-00-node-0004",
        "172.17.0.128/27",
        "172.17.0.129",
        ["172.17.0.130-172.17.0.158"],
    )
    assert first["spec"]["nodeName"] == ["gpu-a"]
    assert (second["spec"]["subnet"], second["spec"]["gateway"]) == ("172.17.0.160/27", "172.17.0.161")


def _unchecked(section: Json, **demand: Any) -> AddressPlan:
    """A plan whose shares do not begin with the first, which the checker would look for."""
    plan = answer(section, demand)
    assert isinstance(plan, AddressPlan), plan
    return plan


def test_pools_of_unnamed_nodes_are_bound_to_none_and_numbered_in_text_order() -> None:
    pools = of_nodes(by_spiderpool("per-node", {"supernet": "172.16.0.0/12"}, nodes=120))
    names = [pool["metadata"]["name"] for pool in pools]

    assert names == sorted(names)
    assert (names[0], names[-1]) == ("rail-00-node-0000", "rail-00-node-0119")
    assert not any("nodeName" in pool["spec"] for pool in pools)


def test_a_network_names_its_rails_pools_and_no_other_rails() -> None:
    shared = by_spiderpool("per-rail", {"supernet": "172.16.0.0/12"})
    own = by_spiderpool("per-node", {"supernet": "172.16.0.0/12"}, names={1: "rail-1", 10: "rail-10"})

    assert pool_pattern(shared.pools[1]) == "rail-01"
    assert (pool_pattern(own.pools[1]), pool_pattern(own.pools[10])) == ("rail-1-node-*", "rail-10-node-*")


def test_it_is_asked_to_enumerate_no_whole_64() -> None:
    pool = of_nodes(by_spiderpool("per-node", {"supernet": "fd00:10::/48"}))[0]

    assert (pool["spec"]["subnet"], pool["spec"]["ips"]) == ("fd00:10::/64", ["fd00:10::1-fd00:10::1:0"])


def test_its_addresses_are_in_no_cni_configuration() -> None:
    plan = by_spiderpool("per-rail", {"supernet": "172.16.0.0/12"})

    assert cni_ipam(plan, plan.pool_of(0)) is None


def test_pools_are_made_anew_where_their_subnet_changes_since_the_api_refuses_the_change() -> None:
    shared = pool_objects(by_spiderpool("per-rail", {"supernet": "172.16.0.0/12"}), "spiderpool")
    own = [entry for _, pools in node_pools(pinned_27()) for entry in pools]

    assert {entry.replaced_on for entry in (*shared, *own)} == {("spec.subnet",)}


def test_what_hosts_and_switches_hold_in_a_shared_subnet_is_reserved_in_the_whole_cluster() -> None:
    section = {
        "supernet": "172.16.0.0/20",
        "gateway": "last",
        "reservedFirst": 2,
        "reservedLast": 54,
        "exclude": ["172.16.0.10", "172.16.1.12-172.16.1.20"],
    }

    assert reserved(by_spiderpool("per-rail", section, rails=3)) == {
        "rail-00": ["172.16.0.1-172.16.0.2", "172.16.0.10", "172.16.0.201-172.16.0.254"],
        "rail-01": ["172.16.1.1-172.16.1.2", "172.16.1.12-172.16.1.20", "172.16.1.201-172.16.1.254"],
        "rail-02": ["172.16.2.1-172.16.2.2", "172.16.2.201-172.16.2.254"],
    }


@pytest.mark.parametrize(
    ("layout", "section"),
    [
        ("per-rail", {"supernet": "172.16.0.0/20"}),
        # One object more a node; each node's pool leaves them out itself.
        ("per-node", {"supernet": "172.17.0.0/20", "nodePrefixLength": 27, "reservedFirst": 2}),
        # More than the webhook counts in reasonable time.
        ("per-rail", {"supernet": "fd00:10::/48", "exclude": ["fd00:10::/80"]}),
    ],
)
def test_nothing_is_reserved_where_nothing_is_held_or_it_cannot_be_listed(layout: str, section: Json) -> None:
    assert reserved(by_spiderpool(layout, section, rails=3)) == {}


def test_an_exclusion_inside_a_nodes_prefix_is_reserved() -> None:
    section = {"supernet": "172.17.0.0/20", "nodePrefixLength": 27, "exclude": ["172.17.0.40"]}

    assert reserved(by_spiderpool("per-node", section, rails=3)) == {"rail-00": ["172.17.0.40"]}


@pytest.mark.parametrize("ipam", ["nv-ipam", "whereabouts"])
def test_other_ipams_are_told_of_reservations_in_their_own_way(ipam: str) -> None:
    plan = planned({"supernet": "172.16.0.0/16", "addressesPerNode": 8, "reservedFirst": 4}, ipam=ipam)

    assert (reserved_objects(plan), node_pools(plan)) == ((), ())
