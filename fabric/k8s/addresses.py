"""Addresses and networks as text fields of objects: read once, refused with the form that is allowed."""

import ipaddress
from typing import Annotated

from pydantic import AfterValidator

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


def _address(value: str) -> str:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        raise ValueError(f"{value!r} is not an IP address: write an IPv4 or IPv6 address without a prefix") from None
    return value


def _network(value: str) -> str:
    try:
        ipaddress.ip_network(value)
    except ValueError as error:
        raise ValueError(f"{value!r} is not a network: {error}; write CIDR notation without host bits") from None
    if "/" not in value:
        raise ValueError(f"{value!r} is not a network: write CIDR notation, with the prefix length")
    return value


Address = Annotated[str, AfterValidator(_address)]
Cidr = Annotated[str, AfterValidator(_network)]


def usable_hosts(network: Network) -> int:
    """How many addresses nodes and pods may have: all but the network's own and, in IPv4, the broadcast address.

    A network of two addresses is a point-to-point link, and of one address a host: there all are usable.
    """
    if network.max_prefixlen - network.prefixlen <= 1:
        return network.num_addresses
    return network.num_addresses - (2 if network.version == 4 else 1)
