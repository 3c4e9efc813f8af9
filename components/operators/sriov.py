"""The SR-IOV operator's part: virtual functions made and advertised as its policies say."""

from __future__ import annotations

import pulumi

from components.cluster.handle import ClusterHandle
from components.node_states import when_synced
from components.resources import After, child_options, custom_resource
from fabric.plan import PlannedObject, PlannedWait


class SriovPolicies(pulumi.ComponentResource):
    """Applies the pool of nodes and the node policies, and waits until every GPU node's state is `Succeeded`.

    Where a webhook checks policies against the nodes' NICs, it waits first until the operator knows those. Must exist
    before: the chart with the SR-IOV operator in it, and what its daemon waits for (the Network Operator's policy).
    Creating or changing a policy may drain and reboot nodes. `ready` are the objects, known once all nodes are in sync.
    Torn down while the operator runs, which takes its functions back.
    """

    ready: tuple[pulumi.Input[pulumi.Resource], ...]

    def __init__(
        self,
        name: str,
        planned: tuple[PlannedObject, ...],
        discovered: PlannedWait | None,
        synced: PlannedWait,
        cluster: ClusterHandle,
        after: After,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("gpu-fabric:operators:SriovPolicies", name, None, opts)
        before = after
        if discovered is not None:
            # Nothing else of what comes before is known any later.
            there = [entry for entry in after if isinstance(entry, pulumi.Resource)]
            before = (*after, *when_synced(discovered, cluster, there))
        options = child_options(self, cluster.provider, before)
        pool, *policies = planned
        first = custom_resource(name, pool, options)
        # How nodes may be drained is said before there is a reason to drain them.
        options = child_options(self, cluster.provider, (*before, first))
        resources = [first, *(custom_resource(name, policy, options) for policy in policies)]
        self.ready = when_synced(synced, cluster, resources)
        self.register_outputs({"policies": [policy.name for policy in policies]})
