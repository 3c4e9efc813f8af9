"""Spiderpool, and the settings of its coordinator."""

from __future__ import annotations

import pulumi

from components.helm import release
from components.resources import After, child_options, patch
from fabric.plan import HelmRelease, PlannedPatch


class Spiderpool(pulumi.ComponentResource):
    """Installs the chart, with its hooks, and patches the coordinator that the chart's job has made.

    Must exist before: its namespace, and a network for pods on the nodes, without which Multus ends. Pools and networks
    come after `ready`. Torn down after them: they are deleted through its webhooks, and the chart's last job removes
    the definitions. The coordinator is never deleted here; only that job takes its finalizer off.
    """

    ready: tuple[pulumi.Resource, ...]

    def __init__(
        self,
        name: str,
        planned: HelmRelease,
        coordinator: PlannedPatch | None,
        provider: pulumi.ProviderResource,
        after: After,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("gpu-fabric:operators:Spiderpool", name, None, opts)
        installed = release(name, planned, child_options(self, provider, after))
        options = child_options(self, provider, (installed,))
        patched = () if coordinator is None else (patch(name, coordinator, options),)
        self.ready = (installed, *patched)
        self.register_outputs({"version": planned.chart.version})
