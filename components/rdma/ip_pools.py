"""Address pools of the fabric's IPAM."""

from __future__ import annotations

from typing import ClassVar

import pulumi

from components.cluster.handle import ClusterHandle
from components.kept_objects import KeptObjects, written
from components.resources import After, ObjectGroup
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
    """The pools of every node, a resource a rail: as many resources as rails, however many nodes there are.

    Must exist before: the IPAM and its webhooks. One node more is one pool more in each resource, and just that is
    written. Pools cut another way replace the resource: the API lets no pool change its subnet. `resources` are known
    when all pools are there; a pool that pods use goes with the last of them.
    """

    resources: After

    def __init__(
        self,
        name: str,
        planned: tuple[PlannedGroup, ...],
        cluster: ClusterHandle,
        after: After,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("gpu-fabric:rdma:NodePools", name, None, opts)
        gone_with = cluster.provider.gone_with
        options = pulumi.ResourceOptions(parent=self, depends_on=list(after), deleted_with=gone_with)
        kept = [KeptObjects(name, group, cluster, options) for group in planned]
        self.resources = tuple(written(entry) for entry in kept)
        self.register_outputs({"rails": len(planned)})
