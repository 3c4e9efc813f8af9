"""The cluster of another stack, by that stack's outputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi
from pydantic import ValidationError

from gpu_fabric.contract.cluster import ClusterContract, differences
from gpu_fabric.plan.plan import PlannedSplit

from ..engine.stack_outputs import StackOutputsError, full_name, last_outputs
from .handle import ClusterHandle, kubernetes_provider

CLUSTER, KUBECONFIG = "cluster", "kubeconfig"
"""The outputs of a cluster stack that are read here."""


class ReferencedCluster(pulumi.ComponentResource):
    """Builds the provider of another stack's cluster, and creates nothing in it.

    Must exist before: the cluster stack, brought up with its present file, and the key that decrypts its kubeconfig.
    Waits for nothing: its outputs are known before the first resource is registered, in a preview as well. Its deletion
    does not change the cluster; objects are deleted one by one, since Pulumi's `deletedWith` cannot name a resource of
    another stack. `cluster_id` is the cluster's id as plain text, which the handle has as an output.
    """

    handle: ClusterHandle
    cluster_id: str

    def __init__(self, name: str, planned: PlannedSplit, opts: pulumi.ResourceOptions | None = None) -> None:
        # Nothing is registered if the two stacks disagree.
        stack = full_name(planned.cluster_stack, planned.organization)
        contract = agreed(planned, _outputs(planned, stack))
        self.cluster_id = contract.cluster_id
        super().__init__("gpu-fabric:cluster:ReferencedCluster", name, None, opts)
        reference = pulumi.StackReference(f"{name}-stack", stack, pulumi.ResourceOptions(parent=self))
        kubeconfig: pulumi.Output[str] = pulumi.Output.secret(reference.require_output(KUBECONFIG))
        cluster_id = pulumi.Output.from_input(contract.cluster_id)
        provider = kubernetes_provider(f"{name}-kubernetes", kubeconfig, None, cluster_id, self)
        self.handle = ClusterHandle(provider=provider, cluster_id=cluster_id, kubeconfig=kubeconfig, context=None)
        self.register_outputs({"clusterId": cluster_id, "kubeconfig": kubeconfig})


def agreed(planned: PlannedSplit, outputs: Mapping[str, Any]) -> ClusterContract:
    """The cluster as its stack created it.

    Raises:
        pulumi.RunError: it does not exist, differs from this plan, or its kubeconfig cannot be read; with the remedy.
    """
    stack = planned.cluster_stack
    if not outputs.get(CLUSTER):
        raise _refusal(planned, f"the cluster stack {stack} has created no cluster yet")
    try:
        contract = ClusterContract.model_validate(outputs[CLUSTER])
    except ValidationError:
        text = f"the output `{CLUSTER}` of stack {stack} was written by another version of this program"
        raise _refusal(planned, text) from None
    if found := differences(contract, planned.cluster):
        text = f"the cluster of stack {stack} is not as its file says now:"
        raise _refusal(planned, "\n".join([text, *(f"  {line}" for line in found)]))
    kubeconfig = outputs.get(KUBECONFIG)
    # Pulumi replaces an output that it cannot decrypt by a placeholder, without an error.
    if not isinstance(kubeconfig, str) or "users" not in kubeconfig:
        raise pulumi.RunError(
            f"the kubeconfig of stack {stack} cannot be read: give this run what decrypts that stack's secrets, its "
            "passphrase or the right to use its key (docs/split-stacks.md)"
        )
    return contract


def cluster_id_of(planned: PlannedSplit) -> str | None:
    """The id of another stack's cluster; None if its outputs do not have it, which ReferencedCluster then reports."""
    try:
        contract = last_outputs(full_name(planned.cluster_stack, planned.organization)).get(CLUSTER)
    except StackOutputsError:
        return None
    found = contract.get("clusterId") if isinstance(contract, Mapping) else None
    return found if isinstance(found, str) else None


def _outputs(planned: PlannedSplit, stack: str) -> Mapping[str, Any]:
    """All outputs of the cluster stack.

    Raises:
        pulumi.RunError: the stack does not exist, or cannot be read.
    """
    try:
        return last_outputs(stack)
    except StackOutputsError as error:
        raise _refusal(planned, f"the outputs of the cluster stack cannot be read: {error}") from None


def _refusal(planned: PlannedSplit, why: str) -> pulumi.RunError:
    return pulumi.RunError(
        f"{why}\n-> run `up` of that stack first: `pulumi up --stack {planned.cluster_stack}` (or `make up "
        f"STACK={planned.cluster_stack}`), then this one. Nothing was changed"
    )
