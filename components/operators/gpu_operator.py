"""The NVIDIA GPU Operator."""

from __future__ import annotations

import pulumi

from components.helm import release
from components.resources import After, await_readiness, child_options
from fabric.plan import HelmRelease, PlannedReadiness


class GpuOperator(pulumi.ComponentResource):
    """Installs the chart and waits until its ClusterPolicy is ready.

    Must exist before: its namespace. It owns the cluster's one Node Feature Discovery, so whatever needs node labels
    comes after `installed`; what needs working GPUs and a container runtime at rest comes after `ready`, which is
    looked at once the nodes are there.
    """

    installed: pulumi.Resource
    ready: pulumi.Resource

    def __init__(
        self,
        name: str,
        planned: HelmRelease,
        readiness: PlannedReadiness,
        provider: pulumi.ProviderResource,
        after: After,
        nodes: After = (),
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("gpu-fabric:operators:GpuOperator", name, None, opts)
        self.installed = release(name, planned, child_options(self, provider, after))
        self.ready = await_readiness(name, readiness, child_options(self, provider, (self.installed, *nodes)))
        self.register_outputs({"version": planned.chart.version})
