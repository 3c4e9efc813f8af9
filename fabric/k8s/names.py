"""Names that several kinds and configurations share: network interfaces and extended resources."""

import re
from typing import Annotated

from pydantic import AfterValidator

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
"""A name that the kernel takes for a network interface."""

ExtendedResource = Annotated[str, AfterValidator(_extended_resource)]
"""A resource as pods request it, for example `rdma/fabric0`."""
