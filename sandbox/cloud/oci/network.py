"""VCNs and their gateways, route tables and subnets."""

from __future__ import annotations

from ipaddress import IPv4Network, ip_network

from ..resource import Call
from ..store import Record
from ..wire import Properties
from .stored import Stored
from .tenancy import Tenancy, invalid


class Vcn(Stored):
    """A network. Its default security list and route table come and go with it."""

    kind, collection = "Vcn", "vcn"

    def check(self, inputs: Properties, record: Record | None) -> None:
        networks = [_network(text) for text in ranges_of(inputs)]
        if not networks:
            raise invalid("a VCN needs cidrBlocks")
        for place, network in enumerate(networks):
            if any(network.overlaps(other) for other in networks[:place]):
                raise invalid(f"cidrBlocks: {network} overlaps with another one")
        if record is not None:
            for subnet in subnets_of(self.tenancy, record["id"]):
                if not any(_lies_in(_network(subnet["inputs"]["cidrBlock"]), network) for network in networks):
                    raise invalid(f"cidrBlocks: subnet {subnet['id']} is in none of them any longer")

    def outputs(self, record: Record) -> Properties:
        store, defaults = self.tenancy.store, {}
        for kind, name in (("securitylist", "defaultSecurityListId"), ("routetable", "defaultRouteTableId")):
            inputs = {"vcnId": record["id"], "compartmentId": record["inputs"]["compartmentId"]}
            own = {"id": self.tenancy.new_id(kind), "inputs": inputs, "outputs": {}, "default": True, "busy_until": 0.0}
            defaults[name] = store.add(kind, own)["id"]
        label = record["inputs"].get("dnsLabel")
        return {
            **defaults,
            "defaultDhcpOptionsId": self.tenancy.new_id("dhcpoptions"),
            "vcnDomainName": f"{label}.oraclevcn.com" if label else "",
            "cidrBlocks": ranges_of(record["inputs"]),
            "cidrBlock": next(iter(ranges_of(record["inputs"])), ""),
        }

    def removed(self, call: Call, record: Record) -> None:
        for kind, name in (("securitylist", "defaultSecurityListId"), ("routetable", "defaultRouteTableId")):
            self.tenancy.store.remove(kind, record["outputs"][name])

    def shown(self, record: Record) -> Properties:
        return {**super().shown(record), "cidrBlock": next(iter(ranges_of(record["inputs"])), "")}


class InternetGateway(Stored):
    """The way to the internet and back."""

    kind, collection = "InternetGateway", "internetgateway"

    def outputs(self, record: Record) -> Properties:
        return {"enabled": True}


class NatGateway(Stored):
    """The way to the internet for machines without public addresses."""

    kind, collection = "NatGateway", "natgateway"

    def outputs(self, record: Record) -> Properties:
        # of a range that is for documentation only
        return {"blockTraffic": False, "natIp": "203.0.113.1"}


class ServiceGateway(Stored):
    """The way to Oracle's own services."""

    kind, collection = "ServiceGateway", "servicegateway"

    def check(self, inputs: Properties, record: Record | None) -> None:
        from .facts import services

        known = {service["id"] for service in services(self.tenancy.region)}
        for service in inputs["services"]:
            if service["serviceId"] not in known:
                raise invalid(f"services: {service['serviceId']} is not a service of region {self.tenancy.region}")

    def outputs(self, record: Record) -> Properties:
        return {"blockTraffic": False}


class RouteTable(Stored):
    """Routes; the gateways that they name cannot be deleted meanwhile."""

    kind, collection = "RouteTable", "routetable"


class Subnet(Stored):
    """A part of a VCN's range, apart from all others."""

    kind, collection = "Subnet", "subnet"

    def check(self, inputs: Properties, record: Record | None) -> None:
        if "cidrBlock" not in inputs:
            raise invalid("a subnet needs a cidrBlock")
        network = _network(inputs["cidrBlock"])
        vcn = self.tenancy.found(inputs["vcnId"])
        if not any(_lies_in(network, _network(text)) for text in ranges_of(vcn["inputs"])):
            raise invalid(f"cidrBlock {network} is not in the VCN's {', '.join(ranges_of(vcn['inputs']))}")
        for other in subnets_of(self.tenancy, vcn["id"]):
            if (record is None or other["id"] != record["id"]) and network.overlaps(
                _network(other["inputs"]["cidrBlock"])
            ):
                raise invalid(f"cidrBlock {network} overlaps with subnet {other['id']}")

    def outputs(self, record: Record) -> Properties:
        inputs = record["inputs"]
        vcn = self.tenancy.found(inputs["vcnId"])
        network = _network(inputs["cidrBlock"])
        label = inputs.get("dnsLabel")
        return {
            "routeTableId": vcn["outputs"]["defaultRouteTableId"],
            "securityListIds": [vcn["outputs"]["defaultSecurityListId"]],
            "dhcpOptionsId": vcn["outputs"]["defaultDhcpOptionsId"],
            "virtualRouterIp": str(network.network_address + 1),
            "subnetDomainName": f"{label}.{vcn['outputs']['vcnDomainName']}" if label else "",
            "prohibitPublicIpOnVnic": False,
            "prohibitInternetIngress": False,
        }


def ranges_of(inputs: Properties) -> list[str]:
    """A VCN's address ranges."""
    return list(inputs.get("cidrBlocks") or ([inputs["cidrBlock"]] if inputs.get("cidrBlock") else []))


def subnets_of(tenancy: Tenancy, vcn: str) -> list[Record]:
    """The subnets of a VCN, the oldest first."""
    return [subnet for subnet in tenancy.store.list("subnet") if subnet["inputs"]["vcnId"] == vcn]


def _network(text: str) -> IPv4Network:
    try:
        network = ip_network(text)
    except ValueError:
        raise invalid(f"{text} is not a range of addresses") from None
    if not isinstance(network, IPv4Network):
        raise invalid(f"{text} is not an IPv4 range")
    return network


def _lies_in(inner: IPv4Network, outer: IPv4Network) -> bool:
    return inner.subnet_of(outer)
