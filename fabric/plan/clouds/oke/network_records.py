"""The records of a network that Oracle is asked for."""

from __future__ import annotations

from typing import ClassVar

from fabric.model import FrozenModel
from fabric.plan.clouds.oke.record import Id, Record, Ref, Value


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
