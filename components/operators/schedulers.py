"""Schedulers of jobs."""

from __future__ import annotations

import pulumi

from components.helm import release
from components.resources import After, child_options, custom_resource
from fabric.plan import HelmRelease, PlannedObject


class Volcano(pulumi.ComponentResource):
    """Installs Volcano's chart, then makes the queue and the accounts of its jobs.

    Must exist before: its namespace, and those of the fabric. Nothing of the fabric needs it, so it comes up beside
    the operators; no job waits for `ready` but a user's own. Torn down in the other order: a queue goes while its
    controller runs.
    """

    ready: tuple[pulumi.Resource, ...]

    def __init__(
        self,
        name: str,
        planned: HelmRelease,
        objects: tuple[PlannedObject, ...],
        provider: pulumi.ProviderResource,
        after: After,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("gpu-fabric:operators:Volcano", name, None, opts)
        installed = release(name, planned, child_options(self, provider, after))
        options = child_options(self, provider, (*after, installed))
        self.ready = (installed, *(custom_resource(name, entry, options) for entry in objects))
        self.register_outputs({"version": planned.chart.version})
