"""Oracle's security rules held against the catalog; the rest of the network is in rows/oke.yaml."""

from typing import Any

from changes import Changes
from planned_oke import EVERYTHING, HOSTS, resources_of

from gpu_fabric.catalog import catalog
from gpu_fabric.catalog.oke import SecurityRuleRow
from gpu_fabric.plan.clouds.oke.network import PlannedSecurityRule
from gpu_fabric.plan.clouds.oke.resources import OkeResources
from gpu_fabric.plan.clouds.record import Ref

FACTS = catalog().oke_clusters
OPEN: Changes = EVERYTHING["open"][1]
_PROTOCOLS = {"all": "all", "1": "icmp", "6": "tcp", "17": "udp"}


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


def test_no_rule_of_a_closed_cluster_lets_the_internet_in_but_for_icmp() -> None:
    incoming = [row for row in as_rows(resources_of("oke-h100-26-4")) if row[1] == "ingress" and row[2] == "0.0.0.0/0"]

    assert {row[3] for row in incoming} == {"icmp"}


def test_without_the_internet_no_rule_leads_to_everywhere() -> None:
    resources = resources_of("oke-h100-26-4", {"cluster.vcn.internet": False})

    assert resources.network.nat_gateway is None
    assert [row for row in as_rows(resources) if row[2] == "0.0.0.0/0" and row[3] != "icmp"] == []


def test_the_bastion_service_reaches_the_api_server_from_its_own_subnet_only() -> None:
    rows = [row for row in as_rows(resources_of("oke-h200")) if row[2] == "10.140.0.128/27"]

    assert [row[:5] for row in rows] == [("control-plane", "ingress", "10.140.0.128/27", "tcp", (6443, 6443))]


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


def test_hosts_come_after_the_rules_that_let_people_in() -> None:
    order = [record.logical_name for record in resources_of("oke-h100-26-4", {"cluster.access": HOSTS}).records]

    assert order.index("host-bastion") > max(place for place, name in enumerate(order) if name.startswith("rule-"))
