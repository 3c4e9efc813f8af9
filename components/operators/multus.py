"""Multus, which attaches pods to further networks."""

from __future__ import annotations

import pulumi

from components.resources import After, child_options, custom_resource
from fabric.plan import PlannedObject


class Multus(pulumi.ComponentResource):
    """Applies Multus' own objects in their order: its definition, its permissions, its configuration, its DaemonSet.

    Must exist before: the namespace; the nodes only for what runs on them, so that its readiness is theirs, too.
    Networks come after `ready`: they are of the kind that it defines, and a pod that starts on a node without it gets
    none of them. Torn down after the networks and the pods, which it detaches.
    """

    ready: tuple[pulumi.Resource, ...]

    def __init__(
        self,
        name: str,
        planned: tuple[PlannedObject, ...],
        provider: pulumi.ProviderResource,
        after: After,
        nodes: After = (),
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("gpu-fabric:operators:Multus", name, None, opts)
        applied: list[pulumi.Resource] = []
        for entry in planned:
            on_nodes = nodes if entry.object.kind == "DaemonSet" else ()
            options = child_options(self, provider, (*after, *applied, *on_nodes))
            applied.append(custom_resource(name, entry, options))
        self.ready = tuple(applied)
        self.register_outputs({"objects": len(applied)})
