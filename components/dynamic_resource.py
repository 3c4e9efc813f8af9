"""A resource of the engine's for Python, made as the plan has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi.dynamic import Resource, ResourceProvider

from gpu_fabric import resources

from .cluster.handle import ClusterHandle
from .engine_options import handled


class DynamicResource(Resource):
    """A planned resource that a program of ours makes on a cluster.

    The subclass names the program and the type. `sent` are properties that the engine gets otherwise than the plan has
    them, and outputs, which are None until they are known.
    """

    def __init__(
        self,
        provider: ResourceProvider,
        planned: resources.Resource,
        cluster: ClusterHandle,
        opts: pulumi.ResourceOptions | None,
        sent: Mapping[str, Any] = {},
    ) -> None:
        known = {"kubeconfig": cluster.kubeconfig, "cluster": cluster.cluster_id}
        options = handled(pulumi.ResourceOptions() if opts is None else opts, planned.handling)
        super().__init__(provider, planned.name, {**planned.properties, **known, **sent}, options)
