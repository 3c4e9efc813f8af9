"""The NVIDIA Network Operator with its policy."""

from __future__ import annotations

import pulumi

from components.helm import release
from components.resources import After, child_options, custom_resource
from fabric.plan import HelmRelease, PlannedObject


class NetworkOperator(pulumi.ComponentResource):
    """Installs the chart, applies the NicClusterPolicy and waits until the operator says that it is ready.

    Must exist before: its namespace and Node Feature Discovery. Address pools come after `policy`, for only then does
    the operator bring their definitions. Torn down in reverse: the policy goes while its operator still runs.
    """

    policy: pulumi.Resource

    def __init__(
        self,
        name: str,
        planned: HelmRelease,
        policy: PlannedObject,
        provider: pulumi.ProviderResource,
        after: After,
        policy_after: After,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """`after` comes before the chart, `policy_after` before the policy."""
        super().__init__("gpu-fabric:operators:NetworkOperator", name, None, opts)
        chart = release(name, planned, child_options(self, provider, after))
        self.policy = custom_resource(name, policy, child_options(self, provider, (chart, *policy_after)))
        self.register_outputs({"version": planned.chart.version})
