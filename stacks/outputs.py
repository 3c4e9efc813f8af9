"""The outputs of a stack: few, typed, versioned. A test pins their names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pulumi
from pydantic import JsonValue

from components.cluster.handle import ClusterHandle
from fabric.plan import Plan


@dataclass(frozen=True)
class StackOutputs:
    """What training jobs and other stacks read.

    `fabric` is the contract (JSON Schema: `python -m fabric schema contract`); `address_plan` is the address plan with
    its proof; `kubeconfig` is secret. `access` is the command that leads to a cluster without a public address, where
    the stack makes a way in. `verification` says whether the fabric has passed, where the stack measures it: the job,
    the bars and what was measured.
    """

    fabric: dict[str, JsonValue]
    address_plan: dict[str, JsonValue]
    cluster_id: pulumi.Output[str]
    kubeconfig: pulumi.Output[str]
    access: pulumi.Output[str] | None = None
    verification: pulumi.Output[dict[str, Any]] | None = None

    def export(self) -> None:
        """Make them the running stack's outputs."""
        pulumi.export("fabric", self.fabric)
        pulumi.export("addressPlan", self.address_plan)
        pulumi.export("clusterId", self.cluster_id)
        pulumi.export("kubeconfig", self.kubeconfig)
        if self.access is not None:
            pulumi.export("access", self.access)
        if self.verification is not None:
            pulumi.export("verification", self.verification)


def stack_outputs(
    plan: Plan, cluster: ClusterHandle, verification: pulumi.Output[dict[str, Any]] | None = None
) -> StackOutputs:
    """The outputs of a plan on a cluster, with the outcome of its verification where there is one."""
    return StackOutputs(
        fabric=plan.workload.model_dump(mode="json", by_alias=True, exclude_none=True),
        address_plan=plan.addresses.model_dump(mode="json", by_alias=True, exclude_none=True),
        cluster_id=cluster.cluster_id,
        kubeconfig=cluster.kubeconfig,
        access=cluster.access,
        verification=verification,
    )
