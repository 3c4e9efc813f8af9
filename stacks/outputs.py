"""The outputs of a stack: few, typed, versioned. A test pins their names."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import pulumi
from pydantic import JsonValue
from pydantic.alias_generators import to_camel

from components.cluster.handle import ClusterHandle
from gpu_fabric.changes.footprint import applied_document, footprint, pack
from gpu_fabric.contract import cluster_contract
from gpu_fabric.plan import Plan


@dataclass(frozen=True)
class StackOutputs:
    """What training jobs and other stacks read; None is what a stack of one part has not.

    `fabric` is the contract (JSON Schema: `gpu-fabric schema contract`); `address_plan` is the address plan with
    its proof, and `applied` is what the next run is held against: both are packed (`gpu_fabric.changes.footprint`).
    `kubeconfig` is secret. `access` is the command that leads to a cluster without a public address, where the stack
    makes a way in. `verification` says whether the fabric has passed, where the stack measures it: the job, the bars
    and what was measured. `cluster` is what a platform stack plans with (`gpu-fabric schema cluster`).
    """

    applied: str
    fabric: dict[str, JsonValue] | None = None
    address_plan: str | None = None
    cluster: pulumi.Output[dict[str, JsonValue]] | None = None
    cluster_id: pulumi.Output[str] | None = None
    kubeconfig: pulumi.Output[str] | None = None
    access: pulumi.Output[str] | None = None
    verification: pulumi.Output[dict[str, Any]] | None = None

    def export(self) -> None:
        """Make them the running stack's outputs."""
        for field in fields(self):
            if (value := getattr(self, field.name)) is not None:
                pulumi.export(to_camel(field.name), value)


def stack_outputs(
    plan: Plan, cluster: ClusterHandle, verification: pulumi.Output[dict[str, Any]] | None = None
) -> StackOutputs:
    """The outputs of a plan on a cluster, with the outcome of its verification where there is one."""
    return replace(
        platform_outputs(plan, verification, address=cluster.address),
        cluster_id=cluster.cluster_id,
        kubeconfig=cluster.kubeconfig,
        access=cluster.access,
    )


def platform_outputs(
    plan: Plan,
    verification: pulumi.Output[dict[str, Any]] | None = None,
    cluster_id: str | None = None,
    address: str | None = None,
) -> StackOutputs:
    """The outputs of what lies on another stack's cluster, whose id that is; or on one that exists, at an address."""
    return StackOutputs(
        fabric=plan.workload.model_dump(mode="json", by_alias=True, exclude_none=True),
        address_plan=pack(plan.addresses.model_dump(mode="json", by_alias=True, exclude_none=True)),
        applied=pack(applied_document(footprint(plan, cluster_id, address))),
        verification=verification,
    )


def cluster_outputs(plan: Plan, cluster: ClusterHandle) -> StackOutputs:
    """The outputs of a cluster with nothing on it."""
    assert plan.split is not None, "a plan of a cluster alone says what others plan with"
    facts = plan.split.cluster
    return StackOutputs(
        applied=pack(applied_document(footprint(plan, address=cluster.address))),
        cluster=cluster.cluster_id.apply(lambda known: cluster_contract(facts, known)),
        cluster_id=cluster.cluster_id,
        kubeconfig=cluster.kubeconfig,
        access=cluster.access,
    )
