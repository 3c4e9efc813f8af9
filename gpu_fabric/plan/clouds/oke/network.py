"""The network at Oracle: VCN, gateways, routes, subnets and security groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

from gpu_fabric.catalog.oke import Peer, SecurityRuleRow, SubnetName
from gpu_fabric.model import FrozenModel
from gpu_fabric.plan.clouds.oke.site import SERVICES, Site
from gpu_fabric.plan.clouds.record import Id, Lookup, Record, Ref, Value
from gpu_fabric.spec.network_types import IPNetwork


class PlannedVcn(Record):
    """The VCN. Its default security list is a separate resource, which is emptied."""

    sdk: ClassVar[str] = "core.Vcn"
    compartment_id: str
    cidr_blocks: list[str]
    display_name: str
    dns_label: str


class _InVcn(Record):
    """A part of the network, with a name."""

    compartment_id: str
    vcn_id: Id
    display_name: str


class PlannedInternetGateway(_InVcn):
    """The internet gateway of the public subnets."""

    sdk: ClassVar[str] = "core.InternetGateway"
    enabled: bool = True


class PlannedNatGateway(_InVcn):
    """The NAT gateway for machines without public addresses."""

    sdk: ClassVar[str] = "core.NatGateway"


class PlannedServiceGateway(_InVcn):
    """The gateway to Oracle's own services, without the internet."""

    sdk: ClassVar[str] = "core.ServiceGateway"
    services: list[dict[str, Value]]


class PlannedRouteTable(_InVcn):
    """The routes of a subnet."""

    sdk: ClassVar[str] = "core.RouteTable"
    route_rules: list[dict[str, Value]]


class PlannedDefaultSecurityList(Record):
    """The VCN's default security list without rules: security groups allow the traffic."""

    sdk: ClassVar[str] = "core.DefaultSecurityList"
    manage_default_resource_id: Ref
    compartment_id: str
    display_name: str
    egress_security_rules: list[Value] = []
    ingress_security_rules: list[Value] = []


class PlannedSecurityList(_InVcn):
    """The security list of a load balancer's subnet. It is created empty, and the cloud controller fills it."""

    sdk: ClassVar[str] = "core.SecurityList"


class PlannedSubnet(Record):
    """A subnet. Without its own security list, the default one applies, which is empty."""

    sdk: ClassVar[str] = "core.Subnet"
    clashes: ClassVar[bool] = True
    compartment_id: str
    vcn_id: Id
    cidr_block: str
    display_name: str
    dns_label: str | None
    prohibit_public_ip_on_vnic: bool
    prohibit_internet_ingress: bool
    route_table_id: Id
    security_list_ids: list[Value] | None


class PlannedSecurityGroup(_InVcn):
    """A network security group."""

    sdk: ClassVar[str] = "core.NetworkSecurityGroup"


class PlannedSecurityRule(Record):
    """One stateful rule of a group."""

    sdk: ClassVar[str] = "core.NetworkSecurityGroupSecurityRule"
    network_security_group_id: Ref
    direction: str
    protocol: str
    description: str
    stateless: bool = False
    source: Id | None = None
    source_type: str | None = None
    destination: Id | None = None
    destination_type: str | None = None
    tcp_options: dict[str, Value] | None = None
    udp_options: dict[str, Value] | None = None
    icmp_options: dict[str, Value] | None = None


class OkeNetwork(FrozenModel):
    """The network's records. In an existing VCN: only the groups, their rules, and the subnets without an id."""

    vcn: PlannedVcn | None
    internet_gateway: PlannedInternetGateway | None
    nat_gateway: PlannedNatGateway | None
    service_gateway: PlannedServiceGateway | None
    route_tables: tuple[PlannedRouteTable, ...]
    default_security_list: PlannedDefaultSecurityList | None
    security_lists: tuple[PlannedSecurityList, ...]
    subnets: tuple[PlannedSubnet, ...]
    security_groups: tuple[PlannedSecurityGroup, ...]
    security_rules: tuple[PlannedSecurityRule, ...]

    @property
    def records(self) -> tuple[Record, ...]:
        """All records, each after those that it refers to."""
        single = (self.vcn, self.internet_gateway, self.nat_gateway, self.service_gateway, self.default_security_list)
        return (
            *(record for record in single if record is not None),
            *self.route_tables,
            *self.security_lists,
            *self.subnets,
            *self.security_groups,
            *self.security_rules,
        )


_ANYWHERE = "0.0.0.0/0"
_PROTOCOLS = {"all": "all", "icmp": "1", "tcp": "6", "udp": "17"}
_LOAD_BALANCERS: tuple[SubnetName, ...] = ("internal-lb", "public-lb")
# DNS labels are the first two letters of a subnet's short name, but for those two.
_LABELS: dict[SubnetName, str] = {
    "control-plane": "cp",
    "bastion": "ba",
    "operator": "op",
    "internal-lb": "ilb",
    "public-lb": "plb",
    "file-storage": "fs",
    "bastion-service": "bs",
    "workers": "wo",
    "pods": "po",
}
# Oracle and the tenancy's tag rules add tags to resources, and the cloud controller adds rules to its lists.
_SUBNET_IGNORED = ("defined_tags", "freeform_tags")
_LIST_IGNORED = ("egress_security_rules", "ingress_security_rules")


def services_lookup() -> Lookup:
    """The look-up of the service gateway's services, whose name and range differ by region."""
    return Lookup(
        logical_name=SERVICES,
        function="core.get_services",
        arguments={
            "filters": [{"name": "name", "values": ["All .* Services In Oracle Services Network"], "regex": True}]
        },
        outputs={"id": "services[0].id", "cidr_block": "services[0].cidr_block"},
    )


def oke_network(site: Site) -> OkeNetwork:
    """The network of a cluster."""
    new, public = site.cluster.vcn.id is None, bool(site.public_subnets)
    created = [name for name in site.subnets if name not in site.cluster.vcn.subnet_ids]
    common = {"compartment_id": site.compartment, "vcn_id": site.vcn}
    named = {**common, "display_name": site.name}
    # The security lists of existing subnets belong to their owner.
    return OkeNetwork(
        vcn=_vcn(site) if new else None,
        internet_gateway=PlannedInternetGateway(logical_name="internet-gateway", **named) if new and public else None,
        nat_gateway=PlannedNatGateway(logical_name="nat-gateway", **named)
        if new and site.cluster.vcn.internet
        else None,
        service_gateway=PlannedServiceGateway(
            logical_name="service-gateway", services=[{"service_id": Ref(ref=SERVICES)}], **named
        )
        if new
        else None,
        route_tables=tuple(_route_tables(site, public=public)) if new else (),
        default_security_list=PlannedDefaultSecurityList(
            logical_name="default-security-list",
            manage_default_resource_id=Ref(ref="vcn", output="default_security_list_id"),
            compartment_id=site.compartment,
            display_name=f"{site.name}-default",
        )
        if new
        else None,
        security_lists=tuple(
            PlannedSecurityList(
                logical_name=f"security-list-{name}",
                display_name=f"{site.name}-{name}",
                ignore_changes=_LIST_IGNORED,
                **common,
            )
            for name in created
            if name in _LOAD_BALANCERS
        ),
        subnets=tuple(_subnet(site, name) for name in created),
        security_groups=tuple(
            PlannedSecurityGroup(logical_name=f"nsg-{name}", display_name=f"{site.name}-{name}", **common)
            for name in security_groups(site)
        ),
        security_rules=tuple(security_rules(site)),
    )


def security_groups(site: Site) -> tuple[str, ...]:
    """The cluster's groups: one per subnet, except the Bastion service's subnet, which has no machines."""
    return tuple(name for name in site.subnets if name != "bastion-service")


def security_rules(site: Site) -> Iterator[PlannedSecurityRule]:
    """The rules of the catalog that this cluster needs, one for each range of a peer."""
    groups = security_groups(site)
    for row in site.facts.security_rules:
        if row.group not in groups or (row.needs == "internet" and not site.cluster.vcn.internet):
            continue
        for peer, kind in _peers(site, row.peer, groups):
            yield _rule(row, peer, kind)


def _peers(site: Site, peer: Peer, groups: tuple[str, ...]) -> Iterator[tuple[Id, str]]:
    cluster = site.cluster
    ranges: dict[str, Iterable[IPNetwork | None]] = {
        "vcn": (cluster.ranges.nodes,),
        "api-clients": cluster.endpoint.allowed if cluster.endpoint.public else (),
        "bastion-clients": cluster.access.allowed,
        "bastion-service": (site.range_of("bastion-service"),) if "bastion-service" in site.subnets else (),
    }
    if peer == "services":
        yield Ref(ref=SERVICES, output="cidr_block"), "SERVICE_CIDR_BLOCK"
    elif peer in groups:
        yield Ref(ref=f"nsg-{peer}"), "NETWORK_SECURITY_GROUP"
    elif peer == "anywhere":
        yield _ANYWHERE, "CIDR_BLOCK"
    else:
        yield from ((str(network), "CIDR_BLOCK") for network in ranges.get(peer, ()) if network is not None)


def _rule_name(row: SecurityRuleRow, peer: Id) -> str:
    """A name made of the rule's content, so that a further row or range renames no other rule."""
    words = ["rule", row.group, row.direction, row.peer, row.protocol]
    if row.ports:
        words.append(str(row.ports[0]))
    if row.source_ports:
        words.append(f"from-{row.source_ports[0]}")
    if row.peer in ("api-clients", "bastion-clients"):
        words.append(str(peer).replace("/", "-").replace(":", "-"))
    return "-".join(words)


def _rule(row: SecurityRuleRow, peer: Id, kind: str) -> PlannedSecurityRule:
    outwards = row.direction == "egress"
    options: dict[str, Value] = {
        key: {"min": ports[0], "max": ports[1]}
        for key, ports in (("destination_port_range", row.ports), ("source_port_range", row.source_ports))
        if ports is not None
    }
    return PlannedSecurityRule(
        logical_name=_rule_name(row, peer),
        network_security_group_id=Ref(ref=f"nsg-{row.group}"),
        direction=row.direction.upper(),
        protocol=_PROTOCOLS[row.protocol],
        description=row.why,
        source=None if outwards else peer,
        source_type=None if outwards else kind,
        destination=peer if outwards else None,
        destination_type=kind if outwards else None,
        tcp_options=options if options and row.protocol == "tcp" else None,
        udp_options=options if options and row.protocol == "udp" else None,
        icmp_options={"type": row.icmp[0], "code": row.icmp[1]} if row.icmp else None,
    )


def _vcn(site: Site) -> PlannedVcn:
    network = site.cluster.ranges.nodes
    assert network is not None, "a new VCN without its range was refused"
    return PlannedVcn(
        logical_name="vcn",
        compartment_id=site.compartment,
        cidr_blocks=[str(network)],
        display_name=site.name,
        dns_label=_dns_label(site.name),
        protect=site.cluster.protect,
    )


def _dns_label(name: str) -> str:
    # A letter, then at most 14 letters and digits.
    plain = "".join(letter for letter in name if letter.isalnum())
    return (plain if plain[:1].isalpha() else f"v{plain}")[:15]


def _route_tables(site: Site, *, public: bool) -> Iterator[PlannedRouteTable]:
    services: dict[str, Value] = {
        "destination": Ref(ref=SERVICES, output="cidr_block"),
        "destination_type": "SERVICE_CIDR_BLOCK",
        "network_entity_id": Ref(ref="service-gateway"),
        "description": "Oracle's own services",
    }
    tables = {"private": [*([_internet_route("nat-gateway")] if site.cluster.vcn.internet else []), services]}
    if public:
        tables["public"] = [_internet_route("internet-gateway")]
    for name, rules in tables.items():
        yield PlannedRouteTable(
            logical_name=f"routes-{name}",
            compartment_id=site.compartment,
            vcn_id=site.vcn,
            display_name=f"{site.name}-{name}",
            route_rules=rules,
        )


def _internet_route(gateway: str) -> dict[str, Value]:
    return {
        "destination": _ANYWHERE,
        "destination_type": "CIDR_BLOCK",
        "network_entity_id": Ref(ref=gateway),
        "description": "the internet",
    }


def _subnet(site: Site, name: SubnetName) -> PlannedSubnet:
    public, vcn = name in site.public_subnets, site.cluster.vcn
    stated = vcn.route_table_ids.public if public else vcn.route_table_ids.private
    return PlannedSubnet(
        logical_name=f"subnet-{name}",
        compartment_id=site.compartment,
        vcn_id=site.vcn,
        cidr_block=str(site.range_of(name)),
        display_name=f"{site.name}-{name}",
        # In an existing VCN the labels could clash with those of its owner.
        dns_label=_LABELS[name] if vcn.id is None else None,
        prohibit_public_ip_on_vnic=not public,
        prohibit_internet_ingress=not public,
        route_table_id=stated or Ref(ref=f"routes-{'public' if public else 'private'}"),
        security_list_ids=[Ref(ref=f"security-list-{name}")] if name in _LOAD_BALANCERS else None,
        ignore_changes=_SUBNET_IGNORED,
    )
