"""Types of fields that several kinds share: addresses, amounts and names."""

import ipaddress
import re
from typing import Annotated

from pydantic import AfterValidator, Field, PlainSerializer, WithJsonSchema

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
    """The number of usable addresses: all except the network address and, in IPv4, the broadcast address.

    A network of two addresses is a point-to-point link, and one of one address is a host: all are usable.
    """
    if network.max_prefixlen - network.prefixlen <= 1:
        return network.num_addresses
    return network.num_addresses - (2 if network.version == 4 else 1)


_PERCENT = re.compile(r"([1-9][0-9]?|100)%")


def _number_or_percent(value: int | str) -> int | str:
    if isinstance(value, int):
        if value < 1:
            raise ValueError(f"{value}: with less than 1 nothing would ever be updated; write 1 or more")
    elif not _PERCENT.fullmatch(value):
        hint = f"; as a number write {value} without quotes" if value.isdigit() else ""
        raise ValueError(f"{value!r}: allowed are a whole number and a text from '1%' to '100%'{hint}")
    return value


NumberOrPercent = Annotated[
    int | str, AfterValidator(_number_or_percent), WithJsonSchema({"x-kubernetes-int-or-string": True})
]
"""A part of a set: a number from 1, or a percentage as text, for example `10%`."""

Quantity = Annotated[str, Field(pattern=r"^[0-9]+(\.[0-9]+)?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$")]
"""An amount of a compute resource as text, for example `100m` or `64Mi`."""


_INTERFACE = re.compile(r"[^/:\s]{1,15}")
_EXTENDED_RESOURCE = re.compile(
    r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*/[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
)


def _interface(value: str) -> str:
    if not _INTERFACE.fullmatch(value) or value in (".", ".."):
        raise ValueError(f"{value!r} is not an interface name: allowed are 1-15 characters without '/', ':' and spaces")
    return value


def _extended_resource(value: str) -> str:
    if not _EXTENDED_RESOURCE.fullmatch(value):
        raise ValueError(
            f"{value!r} is not an extended resource: write <prefix>/<name>, as the device plug-in advertises it"
        )
    return value


InterfaceName = Annotated[str, AfterValidator(_interface)]
"""A valid name of a network interface."""

ExtendedResource = Annotated[str, AfterValidator(_extended_resource)]
"""An extended resource that pods request, for example `rdma/fabric0`."""


def _sort(value: dict[str, str]) -> dict[str, str]:
    return dict(sorted(value.items()))


SortedTexts = Annotated[dict[str, str], PlainSerializer(_sort)]
"""Texts by name, which are dumped in sorted order."""
