"""The `ipam` section of Whereabouts, which assigns addresses from ranges that the whole cluster shares."""

import ipaddress
from typing import Literal, Self

from pydantic import Field, model_validator

from gpu_fabric.k8s.base import KubernetesModel
from gpu_fabric.k8s.field_types import Address, IpAddress, Network


def _span(text: str) -> tuple[Network, IpAddress, IpAddress]:
    """Network, first and last address of `10.0.0.0/24` or `10.0.0.10-10.0.0.20/24`."""
    try:
        if "-" not in text:
            network = ipaddress.ip_network(text)
            return network, network[0], network[-1]
        addresses, _, length = text.partition("/")
        low, _, high = addresses.partition("-")
        first, last = ipaddress.ip_address(low), ipaddress.ip_address(high)
        network = ipaddress.ip_network(f"{low}/{length}", strict=False)
    except ValueError as error:
        raise ValueError(f"range {text!r}: {error}; write 10.0.0.0/24 or 10.0.0.10-10.0.0.20/24") from None
    if last not in network or int(first) > int(last):
        raise ValueError(f"range {text!r}: both ends must be in one network, the first not after the last")
    return network, first, last


class _Narrowed(KubernetesModel):
    range: str | None = None
    # Whereabouts spells these two with underscores, against the CNI habit.
    range_start: Address | None = Field(default=None, validation_alias="range_start", serialization_alias="range_start")
    range_end: Address | None = Field(default=None, validation_alias="range_end", serialization_alias="range_end")
    exclude: tuple[str, ...] | None = None

    @model_validator(mode="after")
    def _inside_the_range(self) -> Self:
        if self.range is None:
            if self.range_start or self.range_end or self.exclude:
                raise ValueError("range_start, range_end and exclude need the range that they narrow")
            return self
        network, first, last = _span(self.range)
        for name, end in (("range_start", self.range_start), ("range_end", self.range_end)):
            if end is not None and ipaddress.ip_address(end) not in network:
                raise ValueError(f"{name} {end} is outside {network}")
        start = int(ipaddress.ip_address(self.range_start)) if self.range_start else int(first)
        stop = int(ipaddress.ip_address(self.range_end)) if self.range_end else int(last)
        if start > stop:
            raise ValueError(f"range_start {self.range_start} is after range_end {self.range_end}")
        for excluded in self.exclude or ():
            # Whereabouts does not check this: an exclusion outside the range has no effect.
            try:
                share = ipaddress.ip_network(excluded)
            except ValueError as error:
                raise ValueError(f"exclude {excluded!r}: {error}; write an address or CIDR notation") from None
            if share[0] not in network or share[-1] not in network:
                raise ValueError(f"exclude {excluded} is outside {network}")
        return self


class WhereaboutsRange(_Narrowed):
    """One range of several, for example one per address family."""

    range: str


class Whereabouts(_Narrowed):
    """One range, or `ip_ranges`, from each of which a pod gets an address; range ends and exclusions are inside it.

    An IPv6 range of /64 or more is used only up to half of it.
    """

    type: Literal["whereabouts"] = "whereabouts"
    gateway: Address | None = None
    ip_ranges: tuple[WhereaboutsRange, ...] | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _ranges(self) -> Self:
        if (self.range is None) == (self.ip_ranges is None):
            raise ValueError("give either range or ipRanges")
        texts = [self.range] if self.range else [entry.range for entry in self.ip_ranges or ()]
        spans = [_span(text)[0] for text in texts]
        if self.gateway is not None and not any(ipaddress.ip_address(self.gateway) in span for span in spans):
            raise ValueError(f"gateway {self.gateway} is outside {', '.join(map(str, spans))}")
        return self
