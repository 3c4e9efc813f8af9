"""Whereabouts, the IPAM that needs no pools."""

from __future__ import annotations

import pulumi

from components.helm import release
from components.resources import After, child_options
from fabric.plan import HelmRelease


class Whereabouts(pulumi.ComponentResource):
    """Installs the chart, which lays the plug-in into the nodes.

    Must exist before: its namespace. Networks that name it come after `installed`.
    """

    installed: pulumi.Resource

    def __init__(
        self,
        name: str,
        planned: HelmRelease,
        provider: pulumi.ProviderResource,
        after: After,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("gpu-fabric:operators:Whereabouts", name, None, opts)
        self.installed = release(name, planned, child_options(self, provider, after))
        self.register_outputs({"version": planned.chart.version})
