"""Address pools of the fabric's IPAM."""

from __future__ import annotations

from typing import ClassVar

import pulumi

from components.helm import release
from components.resources import After, ObjectGroup, child_options
from fabric.plan import PlannedGroup


class ReservedIps(ObjectGroup):
    """Addresses that the IPAM never gives.

    Must exist before: the IPAM. Pools come after.
    """

    type_token: ClassVar[str] = "gpu-fabric:rdma:ReservedIps"


class IpPools(ObjectGroup):
    """One pool object per planned pool.

    Must exist before: what brings the pools' definition. Ready when created. Torn down while the IPAM still runs, and
    after the networks that draw from them.
    """

    type_token: ClassVar[str] = "gpu-fabric:rdma:IpPools"


class NodePools(pulumi.ComponentResource):
    """The pools of every node, a release a rail: as many resources as rails, however many nodes there are.

    Must exist before: the IPAM and its webhooks. One node more changes a value of each release, and Helm then creates
    just that node's pool. Pools cut another way replace the release: the API lets no pool change its subnet.
    """

    resources: tuple[pulumi.Resource, ...]

    def __init__(
        self,
        name: str,
        planned: tuple[PlannedGroup, ...],
        provider: pulumi.ProviderResource,
        after: After,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("gpu-fabric:rdma:NodePools", name, None, opts)
        options = child_options(self, provider, after)
        self.resources = tuple(
            release(name, group.release, options, resource=f"{name}-{group.name}", check_schema=False)
            for group in planned
        )
        self.register_outputs({"rails": len(planned)})
