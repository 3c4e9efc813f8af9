"""Address pools of the fabric's IPAM."""

from __future__ import annotations

from typing import ClassVar

from components.resources import ObjectGroup


class IpPools(ObjectGroup):
    """One pool object per planned pool.

    Must exist before: the NicClusterPolicy, which brings the pools' definition. Ready when created. Torn down while
    the IPAM still runs, and after the networks that draw from them.
    """

    type_token: ClassVar[str] = "gpu-fabric:rdma:IpPools"
