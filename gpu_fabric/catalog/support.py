"""Supported combinations: one record per manager and model (`support.yaml`)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from gpu_fabric.catalog.nccl import DeviceAccess
from gpu_fabric.catalog.shape import LinkType
from gpu_fabric.model import FrozenModel


class Support(FrozenModel):
    """A manager with a model, and the values that they support; the first entry of a list is the default.

    `access` is the pod's access to NICs: a virtual function, a physical one, or a shared one. `virtual_functions` says
    what can create the functions, where pods get one. `one_pool`: the manager's device plug-in finds the NICs by
    itself, and offers all of a node as one resource. `up_providers` are the providers on whose clusters this version
    supports `up`; for the others it only plans and proves.
    """

    manager: Literal["amd-network-operator", "cloud", "doks", "dranet", "network-operator", "spiderpool"]
    model: Literal["host-device", "macvlan", "sriov", "ib-sriov", "ipoib", "host-network", "rdma-device"]
    access: DeviceAccess
    virtual_functions: tuple[Literal["node-image", "daemon-set", "sriov-operator", "externally-managed"], ...] = Field(
        # A rendered plan holds the choice made.
        default=(),
        exclude=True,
    )
    one_pool: bool = Field(default=False, exclude=True)
    link_types: tuple[LinkType, ...] = Field(min_length=1)
    rdma_modes: tuple[Literal["shared", "exclusive"], ...] = Field(min_length=1)
    layouts: tuple[Literal["none", "flat", "per-rail", "per-node"], ...] = Field(min_length=1)
    ipams: tuple[Literal["nv-ipam", "whereabouts", "spiderpool", "host"], ...]
    providers: tuple[Literal["existing", "doks", "oke"], ...] = Field(min_length=1)
    up_providers: tuple[Literal["existing", "doks", "oke"], ...] = ()
    why: str
    source: str
