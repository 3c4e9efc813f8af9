"""The network that Oracle is asked for: VCN, gateways, routes, subnets and security groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from gpu_fabric.catalog.oke import Peer, SecurityRuleRow, SubnetName
from gpu_fabric.model import FrozenModel
from gpu_fabric.plan.clouds.oke.site import SERVICES, Site
from gpu_fabric.plan.clouds.record import Id, Lookup, Record, Ref, Value


class PlannedVcn(Record):
    """The network. Its default security list is a resource of its own, which is emptied."""

    sdk: ClassVar[str] = "core.Vcn"
    compartment_id: str
    cidr_blocks: list[str]
    display_name: str
    dns_label: str


class PlannedInternetGateway(Record):
    """The way in and out for public subnets."""

    sdk: ClassVar[str] = "core.InternetGateway"
    compartment_id: str
    vcn_id: Id
    display_name: str
    enabled: bool = True


class PlannedNatGateway(Record):
    """The way out for machines without public addresses."""

    sdk: ClassVar[str] = "core.NatGateway"
    compartment_id: str
    vcn_id: Id
    display_name: str


class PlannedServiceGateway(Record):
    """The way to Oracle's own services, without the internet."""

    sdk: ClassVar[str] = "core.ServiceGateway"
    compartment_id: str
    vcn_id: Id
    display_name: str
    services: list[dict[str, Value]]


class PlannedRouteTable(Record):
    """Where a subnet's traffic goes."""

    sdk: ClassVar[str] = "core.RouteTable"
    compartment_id: str
    vcn_id: Id
    display_name: str
    route_rules: list[dict[str, Value]]


class PlannedDefaultSecurityList(Record):
    """The VCN's default security list without a rule: groups say what may pass."""

    sdk: ClassVar[str] = "core.DefaultSecurityList"
    manage_default_resource_id: Ref
    compartment_id: str
    display_name: str
    egress_security_rules: list[Value] = []
    ingress_security_rules: list[Value] = []


class PlannedSecurityList(Record):
    """A load balancer subnet's own list, empty at first, which the cloud controller then fills."""

    sdk: ClassVar[str] = "core.SecurityList"
    compartment_id: str
    vcn_id: Id
    display_name: str


class PlannedSubnet(Record):
    """A subnet. Without a list of its own the default one applies, which is empty."""

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


class PlannedSecurityGroup(Record):
    """A network security group."""

    sdk: ClassVar[str] = "core.NetworkSecurityGroup"
    compartment_id: str
    vcn_id: Id
    display_name: str


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
    """The network's records; of a VCN that exists only the groups, their rules, and subnets that lack an id."""

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
        """All of them, each after what it refers to."""
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
# Oracle and the tenancy's rules write tags into what exists, and the cloud controller rules into its lists.
_SUBNET_IGNORED = ("defined_tags", "freeform_tags")
_LIST_IGNORED = ("egress_security_rules", "ingress_security_rules")


def services_lookup() -> Lookup:
    """Oracle's services as a gateway reaches them, whose name and range differ by region."""
    return Lookup(
        logical_name=SERVICES,
        function="core.get_services",
        arguments={
            "filters": [{"name": "name", "values": ["All .* Services In Oracle Services Network"], "regex": True}]
        },
        outputs={"id": "services[0].id", "cidr_block": "services[0].cidr_block"},
    )


def oke_network(site: Site) -> OkeNetwork:
    """The network's records of a cluster."""
    new, made = site.cluster.vcn.id is None, _made_subnets(site)
    public = bool(site.public_subnets)
    common = {"compartment_id": site.compartment, "vcn_id": site.vcn}
    named = {**common, "display_name": site.name}
    # Lists of subnets that exist are their owner's.
    lists = [name for name in made if name in _LOAD_BALANCERS]
    groups = security_groups(site)
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
            for name in lists
        ),
        subnets=tuple(_subnet(site, name) for name in made),
        security_groups=tuple(
            PlannedSecurityGroup(logical_name=f"nsg-{name}", display_name=f"{site.name}-{name}", **common)
            for name in groups
        ),
        security_rules=tuple(security_rules(site)),
    )


def security_groups(site: Site) -> tuple[str, ...]:
    """The groups that the cluster has: one for every subnet but the Bastion service's, which has no machines."""
    return tuple(name for name in site.subnets if name != "bastion-service")


def security_rules(site: Site) -> Iterator[PlannedSecurityRule]:
    """The rules of the catalog that this cluster has a use for, a rule for each range that a peer stands for."""
    groups = security_groups(site)
    for row in site.facts.security_rules:
        if row.group not in groups or (row.needs == "internet" and not site.cluster.vcn.internet):
            continue
        for peer, kind in _peers(site, row.peer, groups):
            yield _rule(row, peer, kind)


def _peers(site: Site, peer: Peer, groups: tuple[str, ...]) -> Iterator[tuple[Id, str]]:
    ranges = {
        "anywhere": [_ANYWHERE],
        "vcn": [str(network) for network in (site.cluster.ranges.nodes,) if network is not None],
        "api-clients": [str(network) for network in site.cluster.endpoint.allowed]
        if site.cluster.endpoint.public
        else [],
        "bastion-clients": [str(network) for network in site.cluster.access.allowed],
        "bastion-service": [str(network) for network in (site.range_of("bastion-service"),) if network is not None]
        if "bastion-service" in site.subnets
        else [],
    }
    if peer == "services":
        yield Ref(ref=SERVICES, output="cidr_block"), "SERVICE_CIDR_BLOCK"
    elif peer in groups:
        yield Ref(ref=f"nsg-{peer}"), "NETWORK_SECURITY_GROUP"
    else:
        yield from ((network, "CIDR_BLOCK") for network in ranges.get(peer, []))


def _rule_name(row: SecurityRuleRow, peer: Id) -> str:
    """A name by what the rule says, so that a row or a range more renames no other."""
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


def _made_subnets(site: Site) -> list[SubnetName]:
    return [name for name in site.subnets if name not in site.cluster.vcn.subnet_ids]


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
    common = {"compartment_id": site.compartment, "vcn_id": site.vcn}
    private: list[dict[str, Value]] = [
        {
            "destination": Ref(ref=SERVICES, output="cidr_block"),
            "destination_type": "SERVICE_CIDR_BLOCK",
            "network_entity_id": Ref(ref="service-gateway"),
            "description": "Oracle's own services",
        }
    ]
    if site.cluster.vcn.internet:
        private.insert(0, _internet_route("nat-gateway"))
    yield PlannedRouteTable(
        logical_name="routes-private", display_name=f"{site.name}-private", route_rules=private, **common
    )
    if public:
        yield PlannedRouteTable(
            logical_name="routes-public",
            display_name=f"{site.name}-public",
            route_rules=[_internet_route("internet-gateway")],
            **common,
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
        # Names in somebody else's VCN could clash with what is there.
        dns_label=_LABELS[name] if vcn.id is None else None,
        prohibit_public_ip_on_vnic=not public,
        prohibit_internet_ingress=not public,
        route_table_id=stated or Ref(ref=f"routes-{'public' if public else 'private'}"),
        security_list_ids=[Ref(ref=f"security-list-{name}")] if name in _LOAD_BALANCERS else None,
        ignore_changes=_SUBNET_IGNORED,
    )
