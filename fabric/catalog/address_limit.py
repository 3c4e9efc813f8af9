"""What bounds an address plan besides its own addresses: `address_limits.yaml`."""

from __future__ import annotations

from pydantic import Field

from fabric.model import FrozenModel


class AddressLimit(FrozenModel):
    """A figure with its unit."""

    value: int = Field(ge=1)
    unit: str
    source: str


class AddressLimits(FrozenModel):
    """The figures by what they bound.

    `object_bytes` is the largest object a cluster stores, `allocation_bytes` what a node adds to an nv-ipam pool.
    `spiderpool_allocated` and `spiderpool_listed` bound one Spiderpool pool: addresses handed out, and addresses that
    its object names. From `spiderpool_pools` and `whereabouts_pods` on, nothing good is known.
    """

    object_bytes: AddressLimit
    allocation_bytes: AddressLimit
    spiderpool_allocated: AddressLimit
    spiderpool_listed: AddressLimit
    spiderpool_pools: AddressLimit
    whereabouts_pods: AddressLimit
