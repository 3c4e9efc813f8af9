"""Networks, addresses and spans in a stack file, for both IPv4 and IPv6."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Annotated, Any

from pydantic import GetPydanticSchema, PlainSerializer, WithJsonSchema
from pydantic_core import core_schema

from gpu_fabric.model import FrozenModel

IPAddress = IPv4Address | IPv6Address
IPNetwork = IPv4Network | IPv6Network


def parse_network(value: Any) -> IPNetwork:
    """A network in CIDR notation.

    Raises:
        ValueError: not a network, or one with host bits; the message then names the probable network.
    """
    if isinstance(value, (IPv4Network, IPv6Network)):
        return value
    # The message does not repeat the value, which may be a secret in the wrong place.
    problem = "this is not a valid network; write CIDR notation, such as 192.168.0.0/16 or fd00:10::/48"
    if not isinstance(value, str) or "/" not in value:
        raise ValueError(problem)
    try:
        meant = ip_network(value, strict=False)
    except ValueError:
        raise ValueError(problem) from None
    if value.partition("/")[2] not in (str(meant.prefixlen), str(meant.netmask)) or "%" in value:
        # Python also accepts leading zeros, host masks (0.0.255.255) and zones; other parsers do not.
        raise ValueError(problem)
    try:
        return ip_network(value)
    except ValueError:
        raise ValueError(f"{value} has host bits set; write {meant}") from None


class AddressSpan(FrozenModel):
    """A range of addresses, both ends included."""

    first: IPAddress
    last: IPAddress

    def __str__(self) -> str:
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


def parse_span(value: Any) -> AddressSpan:
    """An address, a range `first-last`, or a network in CIDR notation.

    Raises:
        ValueError: none of these, or a range whose first address is higher than the last.
    """
    if isinstance(value, AddressSpan):
        return value
    # As above, the message does not repeat the value.
    problem = "this is not a valid address; write an address, a range first-last, or a network"
    if not isinstance(value, str):
        raise ValueError(problem)
    if "/" in value:
        network = parse_network(value)
        return AddressSpan(first=network.network_address, last=network.broadcast_address)
    start, _, end = value.partition("-")
    if "%" in value:
        raise ValueError(problem)
    try:
        first = ip_address(start.strip())
        last = ip_address(end.strip()) if end else first
    except ValueError:
        raise ValueError(problem) from None
    if first.version != last.version or int(first) > int(last):
        raise ValueError(f"{value} runs backwards; write the lower address first")
    return AddressSpan(first=first, last=last)


Network = Annotated[
    IPNetwork,
    GetPydanticSchema(lambda _source, _handler: core_schema.no_info_plain_validator_function(parse_network)),
    PlainSerializer(str, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "description": "network in CIDR notation"}),
]
Span = Annotated[
    AddressSpan,
    GetPydanticSchema(lambda _source, _handler: core_schema.no_info_plain_validator_function(parse_span)),
    PlainSerializer(str, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "description": "address, range first-last, or network"}),
]
