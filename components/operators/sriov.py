"""The SR-IOV operator's part: virtual functions made and advertised as its policies say."""

from __future__ import annotations

import pulumi

from components.cluster.handle import ClusterHandle
from components.node_states import when_synced
from components.resources import After, child_options, custom_resource
from fabric.plan import PlannedObject, PlannedWait


class SriovPolicies(pulumi.ComponentResource):
    """Applies the pool of nodes and the node policies, and waits until every GPU node's state is `Succeeded`.

    Must exist before: the Network Operator's chart with the SR-IOV operator in it, and its policy, whose label the
    operator's daemon waits for. Creating or changing a policy may drain and reboot nodes. `ready` are the objects,
    known once all nodes are in sync. Torn down while the operator runs, which takes its functions back.
    """

    ready: tuple[pulumi.Input[pulumi.Resource], ...]

    def __init__(
        self,
        name: str,
        planned: tuple[PlannedObject, ...],
        synced: PlannedWait,
        cluster: ClusterHandle,
        after: After,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("gpu-fabric:operators:SriovPolicies", name, None, opts)
        options = child_options(self, cluster.provider, after)
        pool, *policies = planned
        first = custom_resource(name, pool, options)
        # How nodes may be drained is said before there is a reason to drain them.
        options = child_options(self, cluster.provider, (*after, first))
        resources = [first, *(custom_resource(name, policy, options) for policy in policies)]
        self.ready = when_synced(synced, cluster, resources)
        self.register_outputs({"policies": [policy.name for policy in policies]})
