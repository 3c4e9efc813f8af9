"""The NVIDIA Network Operator with its policies."""

from __future__ import annotations

import pulumi

from components.helm import release
from components.resources import After, await_readiness, child_options, custom_resource, roll_out
from fabric.plan import Plan


class NetworkOperator(pulumi.ComponentResource):
    """Installs the chart, applies the policies and waits until the operator says that they are ready.

    In lines whose chart makes the policy, that one is waited for. Must exist before: the namespace, Node Feature
    Discovery, and what the nodes must have before device plug-ins look at them. Address pools come after `ready`, for
    only then does the operator bring their definitions. Device plug-ins are rolled when their configuration changes.
    Torn down in reverse: the policies go while their operator still runs.
    """

    chart: pulumi.Resource
    ready: tuple[pulumi.Resource, ...]

    def __init__(
        self,
        name: str,
        plan: Plan,
        provider: pulumi.ProviderResource,
        after: After,
        policy_after: After,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """`after` comes before the chart, `policy_after` before the policies."""
        super().__init__("gpu-fabric:operators:NetworkOperator", name, None, opts)
        if plan.network_operator is None:
            raise ValueError("a plan without the Network Operator; the composition leaves this component out")
        # A chart that makes the policy itself makes it at once, so what a policy must wait for the chart waits for.
        before = after if plan.policy_ready is None else (*after, *policy_after)
        self.chart = release(name, plan.network_operator, child_options(self, provider, before))
        policies: list[pulumi.Resource] = []
        if plan.policy_ready is not None:
            policies.append(await_readiness(name, plan.policy_ready, child_options(self, provider, (self.chart,))))
        if plan.policy is not None:
            options = child_options(self, provider, (self.chart, *policy_after))
            policies.append(custom_resource(name, plan.policy, options))
        # The cluster's policy brings what the others' operands wait for.
        options = child_options(self, provider, policies)
        policies += [custom_resource(name, planned, options) for planned in plan.node_policies]
        rolled = [roll_out(name, planned, child_options(self, provider, policies)) for planned in plan.plugin_rollouts]
        self.ready = (*policies, *rolled)
        self.register_outputs({"version": plan.network_operator.chart.version})
