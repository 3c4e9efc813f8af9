"""Address ranges with a meaning of their own, one record per row of `special_ranges.yaml`."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network
from typing import Literal

from fabric.model import FrozenModel


class SpecialRange(FrozenModel):
    """A range and whether a fabric may lie in it: `no`, or `private` where nobody on the internet can own it."""

    range: IPv4Network | IPv6Network
    hosts: Literal["no", "private"]
    use: str
    source: str
