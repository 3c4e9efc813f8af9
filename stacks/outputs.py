"""The outputs of a stack. A test pins their names."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import pulumi
from pydantic import JsonValue
from pydantic.alias_generators import to_camel

from components.cluster.handle import ClusterHandle
from components.engine.steps import Registered
from gpu_fabric.changes.footprint import applied_document, footprint, pack
from gpu_fabric.contract.cluster import cluster_contract
from gpu_fabric.plan import Plan


@dataclass(frozen=True)
class StackOutputs:
    """The values that training jobs and other stacks read; None in a stack of the part that does not have them.

    `fabric` is the contract (JSON Schema: `gpu-fabric schema contract`). `fabrics` has the contracts of a stack with
    several fabrics by name, of which `fabric` is the first. `address_plan` is the address plan with its proof,
    `address_plans` has those of all fabrics by name, and `applied` is the record that the next run is compared with;
    all are packed (`gpu_fabric.changes.footprint`). `kubeconfig` is secret. `access` is the command that opens a way to
    a cluster without a public address. `verification` is the outcome of the verification: the job, the bars and the
    measured values; `verifications` has those of further fabrics, by name. `cluster` is the input of a platform stack's
    plan (`gpu-fabric schema cluster`). `other_pools` has, for each pool outside the fabric, what pods carry that are to
    run on it.
    """

    applied: str
    fabric: dict[str, JsonValue] | None = None
    fabrics: dict[str, JsonValue] | None = None
    address_plan: str | None = None
    address_plans: dict[str, str] | None = None
    cluster: pulumi.Output[dict[str, JsonValue]] | None = None
    cluster_id: pulumi.Output[str] | None = None
    kubeconfig: pulumi.Output[str] | None = None
    access: pulumi.Output[str] | None = None
    verification: pulumi.Output[dict[str, Any]] | None = None
    other_pools: dict[str, JsonValue] | None = None
    verifications: dict[str, pulumi.Output[dict[str, Any]]] | None = None

    def export(self) -> None:
        """Export them as the running stack's outputs."""
        for field in fields(self):
            if (value := getattr(self, field.name)) is not None:
                pulumi.export(to_camel(field.name), value)


def stack_outputs(plan: Plan, cluster: ClusterHandle, registered: Registered) -> StackOutputs:
    """The outputs of a plan on a cluster, with the outcomes of its verifications."""
    return replace(
        platform_outputs(plan, registered, address=cluster.address),
        cluster_id=cluster.cluster_id,
        kubeconfig=cluster.kubeconfig,
        access=cluster.access,
        other_pools=_other_pools(plan),
    )


def platform_outputs(
    plan: Plan,
    registered: Registered,
    cluster_id: str | None = None,
    address: str | None = None,
) -> StackOutputs:
    """The outputs of the resources on another stack's cluster with this id, or on an existing one at this address."""
    return StackOutputs(
        fabric=_contract(plan),
        fabrics={name: _contract(one) for name, one in plan.by_fabric.items()} if plan.fabrics else None,
        address_plan=_addresses(plan),
        address_plans={name: _addresses(one) for name, one in plan.by_fabric.items()} if plan.fabrics else None,
        applied=pack(applied_document(footprint(plan, cluster_id, address))),
        verification=registered.verification,
        verifications=registered.verifications or None,
    )


def _contract(plan: Plan) -> dict[str, JsonValue]:
    document: dict[str, JsonValue] = plan.workload.model_dump(mode="json", by_alias=True, exclude_none=True)
    return document


def _addresses(plan: Plan) -> str:
    return pack(plan.addresses.model_dump(mode="json", by_alias=True, exclude_none=True))


def cluster_outputs(plan: Plan, cluster: ClusterHandle) -> StackOutputs:
    """The outputs of a stack that creates only the cluster."""
    assert plan.split is not None, "a plan of a cluster alone states the input of other plans"
    facts = plan.split.cluster
    return StackOutputs(
        applied=pack(applied_document(footprint(plan, address=cluster.address))),
        cluster=cluster.cluster_id.apply(lambda known: cluster_contract(facts, known)),
        cluster_id=cluster.cluster_id,
        kubeconfig=cluster.kubeconfig,
        access=cluster.access,
        other_pools=_other_pools(plan),
    )


def _other_pools(plan: Plan) -> dict[str, JsonValue] | None:
    """The contract of each pool outside the fabric, by name; None where there is none."""
    entries = plan.cluster.other_pools
    return {nodes.name: nodes.model_dump(mode="json", by_alias=True, exclude_none=True) for nodes in entries} or None
