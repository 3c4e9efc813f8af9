"""What goes with what: one record per manager and model, from `support.yaml`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fabric.catalog.nccl_setting import DeviceAccess
from fabric.catalog.shape import LinkType
from fabric.model import FrozenModel


class Support(FrozenModel):
    """A manager with a model, and what each works with; the first entry of a list is the default.

    `access` is what a pod holds: a virtual function, a physical one, or a share of one. `up_providers`
    says on whose clusters this version can bring the row up; elsewhere it plans and proves only.
    """

    manager: Literal["doks", "network-operator", "spiderpool"]
    model: Literal["host-device", "macvlan", "sriov", "ib-sriov", "ipoib", "host-network"]
    access: DeviceAccess
    link_types: tuple[LinkType, ...] = Field(min_length=1)
    rdma_modes: tuple[Literal["shared", "exclusive"], ...] = Field(min_length=1)
    layouts: tuple[Literal["none", "flat", "per-rail", "per-node"], ...] = Field(min_length=1)
    ipams: tuple[Literal["nv-ipam", "whereabouts", "spiderpool", "host"], ...]
    providers: tuple[Literal["existing", "doks", "oke"], ...] = Field(min_length=1)
    up_providers: tuple[Literal["existing", "doks", "oke"], ...] = ()
    why: str
    source: str
