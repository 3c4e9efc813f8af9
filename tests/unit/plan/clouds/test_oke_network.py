"""The network that Oracle is asked for: the address plan, routes, security rules, and a VCN that exists."""

from __future__ import annotations

from typing import Any

import pytest
from changes import Changes
from planned_oke import EVERYTHING, HOSTS, VCN, names_of, record_of, resources_of

from gpu_fabric.catalog import catalog
from gpu_fabric.catalog.oke import SecurityRuleRow
from gpu_fabric.plan.clouds.oke.network import PlannedSecurityRule, PlannedSubnet
from gpu_fabric.plan.clouds.oke.resources import OkeResources
from gpu_fabric.plan.clouds.record import Ref

FACTS = catalog().oke_clusters
OPEN: Changes = EVERYTHING["open"][1]
_PROTOCOLS = {"all": "all", "1": "icmp", "6": "tcp", "17": "udp"}


def subnets(resources: OkeResources) -> dict[str, PlannedSubnet]:
    return {subnet.logical_name.removeprefix("subnet-"): subnet for subnet in resources.network.subnets}


def as_rows(resources: OkeResources) -> list[tuple[Any, ...]]:
    """The planned rules in the catalog's words."""
    return [_row(rule) for rule in resources.network.security_rules]


def _row(rule: PlannedSecurityRule) -> tuple[Any, ...]:
    peer = rule.source if rule.direction == "INGRESS" else rule.destination
    assert peer is not None
    options: Any = rule.tcp_options or rule.udp_options or {}
    ports, sources = options.get("destination_port_range"), options.get("source_port_range")
    icmp: Any = rule.icmp_options
    return (
        rule.network_security_group_id.ref.removeprefix("nsg-"),
        rule.direction.lower(),
        peer.ref.removeprefix("nsg-") if isinstance(peer, Ref) else peer,
        _PROTOCOLS[rule.protocol],
        (ports["min"], ports["max"]) if ports else None,
        (sources["min"], sources["max"]) if sources else None,
        (icmp["type"], icmp["code"]) if icmp else None,
        rule.description,
    )


def row_of(row: SecurityRuleRow, peer: str) -> tuple[Any, ...]:
    """A row of the catalog with the peer as the plan names it."""
    return (row.group, row.direction, peer, row.protocol, row.ports, row.source_ports, row.icmp, row.why)


def test_subnets_are_cut_from_the_vcn_by_the_published_plan() -> None:
    assert {name: subnet.cidr_block for name, subnet in subnets(resources_of("oke-h100-26-4", OPEN)).items()} == {
        "control-plane": "10.140.0.0/29",
        "bastion": "10.140.0.8/29",
        "operator": "10.140.0.16/29",
        "internal-lb": "10.140.0.32/27",
        "public-lb": "10.140.0.64/27",
        "file-storage": "10.140.0.96/27",
        "workers": "10.140.64.0/19",
        "pods": "10.140.128.0/17",
    }


def test_a_stated_range_takes_the_place_of_the_published_one() -> None:
    resources = resources_of("oke-h100-26-4", {"cluster.vcn.subnets": {"workers": "10.140.96.0/20"}})

    assert subnets(resources)["workers"].cidr_block == "10.140.96.0/20"
    assert subnets(resources)["control-plane"].cidr_block == "10.140.0.0/29"


def test_a_closed_cluster_has_only_private_subnets_and_no_internet_gateway() -> None:
    resources = resources_of("oke-h100-26-4")

    assert set(subnets(resources)) == {"control-plane", "internal-lb", "workers"}
    assert all(subnet.prohibit_public_ip_on_vnic for subnet in resources.network.subnets)
    assert all(subnet.prohibit_internet_ingress for subnet in resources.network.subnets)
    assert names_of(resources, "core.InternetGateway") == []
    assert names_of(resources, "core.RouteTable") == ["routes-private"]


def test_no_rule_of_a_closed_cluster_lets_the_internet_in_but_for_icmp() -> None:
    incoming = [row for row in as_rows(resources_of("oke-h100-26-4")) if row[1] == "ingress" and row[2] == "0.0.0.0/0"]

    assert {row[3] for row in incoming} == {"icmp"}


def test_public_subnets_go_out_by_the_internet_gateway_and_private_ones_by_nat() -> None:
    resources = resources_of("oke-h100-26-4", OPEN)
    tables = {name: subnet.route_table_id for name, subnet in subnets(resources).items()}

    assert {name for name, table in tables.items() if table == Ref(ref="routes-public")} == {
        "control-plane",
        "bastion",
        "public-lb",
    }
    assert [rule["network_entity_id"] for rule in resources.network.route_tables[0].route_rules] == [
        Ref(ref="nat-gateway"),
        Ref(ref="service-gateway"),
    ]
    assert [rule["network_entity_id"] for rule in resources.network.route_tables[1].route_rules] == [
        Ref(ref="internet-gateway")
    ]


def test_without_the_internet_there_is_neither_nat_nor_a_rule_to_everywhere() -> None:
    resources = resources_of("oke-h100-26-4", {"cluster.vcn.internet": False})

    assert resources.network.nat_gateway is None
    assert [rule["network_entity_id"] for rule in resources.network.route_tables[0].route_rules] == [
        Ref(ref="service-gateway")
    ]
    assert [row for row in as_rows(resources) if row[2] == "0.0.0.0/0" and row[3] != "icmp"] == []


def test_the_default_security_list_is_emptied() -> None:
    record = record_of(resources_of("oke-h100-26-4"), "default-security-list")

    assert record.arguments["manage_default_resource_id"] == Ref(ref="vcn", output="default_security_list_id")
    assert record.arguments["ingress_security_rules"] == []
    assert record.arguments["egress_security_rules"] == []


def test_load_balancer_subnets_have_lists_of_their_own_whose_rules_are_left_to_the_cloud_controller() -> None:
    resources = resources_of("oke-h100-26-4", OPEN)

    assert [entry.logical_name for entry in resources.network.security_lists] == [
        "security-list-internal-lb",
        "security-list-public-lb",
    ]
    assert {entry.ignore_changes for entry in resources.network.security_lists} == {
        ("egress_security_rules", "ingress_security_rules")
    }
    assert subnets(resources)["public-lb"].security_list_ids == [Ref(ref="security-list-public-lb")]
    assert subnets(resources)["workers"].security_list_ids is None


def test_every_row_of_the_catalog_is_a_rule_where_everything_is_asked_for() -> None:
    peers: dict[str, list[str]] = {
        "services": ["oracle-services"],
        "anywhere": ["0.0.0.0/0"],
        "vcn": ["10.140.0.0/16"],
        "api-clients": ["203.0.113.0/24", "198.51.100.0/24"],
        "bastion-clients": ["203.0.113.0/24", "198.51.100.7/32"],
        "bastion-service": [],
    }
    expected = [row_of(row, peer) for row in FACTS.security_rules for peer in peers.get(row.peer, [row.peer])]

    assert as_rows(resources_of("oke-h100-26-4", OPEN)) == expected


def test_groups_that_the_cluster_lacks_have_no_rules_on_either_side() -> None:
    resources = resources_of("oke-h100-26-4")
    groups = {group.logical_name.removeprefix("nsg-") for group in resources.network.security_groups}
    peers = {row[2] for row in as_rows(resources)}

    assert groups == {"control-plane", "internal-lb", "workers"}
    assert peers == {*groups, "oracle-services", "0.0.0.0/0", "10.140.0.0/16"}


def test_the_bastion_service_reaches_the_api_server_from_its_own_subnet_only() -> None:
    rows = [row for row in as_rows(resources_of("oke-h200")) if row[2] == "10.140.0.128/27"]

    assert [row[:5] for row in rows] == [("control-plane", "ingress", "10.140.0.128/27", "tcp", (6443, 6443))]


def test_api_clients_count_only_where_the_api_server_is_public() -> None:
    changes: Changes = {"cluster.endpoint.allowed": ["203.0.113.0/24"]}

    assert "203.0.113.0/24" not in {row[2] for row in as_rows(resources_of("oke-h100-26-4", changes))}
    public = resources_of("oke-h100-26-4", {**changes, "cluster.endpoint.public": True})
    assert "203.0.113.0/24" in {row[2] for row in as_rows(public)}


def test_a_range_more_renames_no_rule() -> None:
    def names(*allowed: str) -> set[str]:
        changes = {"cluster.endpoint": {"public": True, "allowed": list(allowed)}}
        return {rule.logical_name for rule in resources_of("oke-h100-26-4", changes).network.security_rules}

    more = names("192.0.2.0/24", "203.0.113.0/24") - names("203.0.113.0/24")

    assert more == {"rule-control-plane-ingress-api-clients-tcp-6443-192.0.2.0-24"}


def test_in_a_vcn_that_exists_only_what_lacks_is_made() -> None:
    resources = resources_of(*EVERYTHING["there-already"])

    assert not {"core.Vcn", "core.NatGateway", "core.ServiceGateway", "core.RouteTable", "core.DefaultSecurityList"} & {
        record.kind for record in resources.records
    }
    assert set(subnets(resources)) == {"control-plane", "internal-lb"}
    assert {subnet.vcn_id for subnet in resources.network.subnets} == {VCN}
    assert subnets(resources)["control-plane"].route_table_id == "ocid1.routetable.oc1.iad.private"
    assert subnets(resources)["control-plane"].dns_label is None
    assert "ocid1.subnet.oc1.iad.workers" in str(record_of(resources, "pool-gpu").arguments)


@pytest.mark.parametrize(
    ("name", "label"), [("gpu-lab-7", "gpulab7"), ("7", "v7"), ("a-name-that-is-far-too-long", "anamethatisfart")]
)
def test_the_vcns_dns_label_is_a_letter_and_at_most_14_letters_and_digits(name: str, label: str) -> None:
    assert record_of(resources_of("oke-h100-26-4", {"cluster.name": name}), "vcn").arguments["dns_label"] == label


def test_a_protected_stack_protects_its_vcn() -> None:
    assert record_of(resources_of("oke-h200"), "vcn").protect
    assert not record_of(resources_of("oke-h100-26-4"), "vcn").protect


def test_hosts_come_after_the_rules_that_let_people_in() -> None:
    order = [record.logical_name for record in resources_of("oke-h100-26-4", {"cluster.access": HOSTS}).records]

    assert order.index("host-bastion") > max(place for place, name in enumerate(order) if name.startswith("rule-"))
