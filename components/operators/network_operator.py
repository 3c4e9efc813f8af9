"""The NVIDIA Network Operator, and the policies that it obeys."""

from __future__ import annotations

from typing import ClassVar

import pulumi

from components.helm import ChartOperator
from components.resources import After, await_readiness, child_options, custom_resource, roll_out
from fabric.plan import Plan


class NetworkOperator(ChartOperator):
    """Installs the chart.

    Must exist before: its namespace, and Node Feature Discovery's definitions where the chart holds a rule of it. A
    chart that makes the policy itself starts the operands at once, so what those need comes before it, too.
    """

    type_token: ClassVar[str] = "gpu-fabric:operators:NetworkOperator"


class NicPolicies(pulumi.ComponentResource):
    """Applies the policies and waits until the operator says that they are ready, everywhere.

    Where the line's chart makes the policy, that one is waited for. Must exist before: the operator, node labels, and
    what device plug-ins look for when they start. Address pools come after `ready`, for only then does the operator
    bring their definitions; nothing waits for device plug-ins to be made anew, which their changed configuration takes,
    but the end of the run. Torn down while the operator runs.
    """

    ready: tuple[pulumi.Resource, ...]

    def __init__(
        self,
        name: str,
        plan: Plan,
        provider: pulumi.ProviderResource,
        after: After,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("gpu-fabric:operators:NicPolicies", name, None, opts)
        options = child_options(self, provider, after)
        first: list[pulumi.Resource] = []
        if plan.policy_ready is not None:
            first.append(await_readiness(name, plan.policy_ready, options))
        if plan.policy is not None:
            first.append(custom_resource(name, plan.policy, options))
        # The cluster's policy brings what the others' operands wait for.
        options = child_options(self, provider, (*after, *first))
        policies = [*first, *(custom_resource(name, planned, options) for planned in plan.node_policies)]
        options = child_options(self, provider, (*after, *policies))
        for planned in plan.plugin_rollouts:
            roll_out(name, planned, options)
        self.ready = tuple(policies)
        self.register_outputs({"policies": len(policies)})
