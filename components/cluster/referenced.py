"""A cluster that another stack has made, by that stack's outputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi
from pydantic import ValidationError

from gpu_fabric.contract import ClusterContract, differences
from gpu_fabric.plan.plan import PlannedSplit

from ..stack_outputs import StackOutputsError, full_name, last_outputs
from .handle import ClusterHandle, kubernetes_provider

CLUSTER, KUBECONFIG = "cluster", "kubeconfig"
"""The outputs of a cluster stack that are read here."""


class ReferencedCluster(pulumi.ComponentResource):
    """Builds the provider for the cluster of another stack, and creates nothing in it.

    Must exist before: the cluster stack, brought up as its file is now, and whatever decrypts its kubeconfig. Waits for
    nothing: its outputs are known before the first resource is registered, in a preview as well. Destroying it leaves
    the cluster alone; what lies there is deleted object by object: nothing can go with a resource of another stack's.
    `cluster_id` is the id that the cluster has, at a time when the handle's is still an output.
    """

    handle: ClusterHandle
    cluster_id: str

    def __init__(self, name: str, planned: PlannedSplit, opts: pulumi.ResourceOptions | None = None) -> None:
        # Where the two stacks disagree nothing is registered.
        stack = full_name(planned.cluster_stack, planned.organization)
        made = agreed(planned, _outputs(planned, stack))
        self.cluster_id = made.cluster_id
        super().__init__("gpu-fabric:cluster:ReferencedCluster", name, None, opts)
        reference = pulumi.StackReference(f"{name}-stack", stack, pulumi.ResourceOptions(parent=self))
        kubeconfig: pulumi.Output[str] = pulumi.Output.secret(reference.require_output(KUBECONFIG))
        cluster_id = pulumi.Output.from_input(made.cluster_id)
        provider = kubernetes_provider(f"{name}-kubernetes", kubeconfig, None, cluster_id, self)
        self.handle = ClusterHandle(provider=provider, cluster_id=cluster_id, kubeconfig=kubeconfig, context=None)
        self.register_outputs({"clusterId": cluster_id, "kubeconfig": kubeconfig})


def agreed(planned: PlannedSplit, outputs: Mapping[str, Any]) -> ClusterContract:
    """The cluster as its stack has made it.

    Raises:
        pulumi.RunError: it is not there, not as this plan has it, or its kubeconfig cannot be read; what to do is said.
    """
    stack = planned.cluster_stack
    if not outputs.get(CLUSTER):
        raise _refusal(planned, f"the cluster stack {stack} has created no cluster yet")
    try:
        made = ClusterContract.model_validate(outputs[CLUSTER])
    except ValidationError:
        text = f"the output `{CLUSTER}` of stack {stack} was written by another version of this program"
        raise _refusal(planned, text) from None
    if found := differences(made, planned.cluster):
        text = f"the cluster of stack {stack} is not as its file says now:"
        raise _refusal(planned, "\n".join([text, *(f"  {line}" for line in found)]))
    kubeconfig = outputs.get(KUBECONFIG)
    # The engine puts other words in the place of what it cannot decrypt, and goes on.
    if not isinstance(kubeconfig, str) or "users" not in kubeconfig:
        raise pulumi.RunError(
            f"the kubeconfig of stack {stack} cannot be read: give this run what decrypts that stack's secrets, its "
            "passphrase or the right to use its key (docs/split-stacks.md)"
        )
    return made


def cluster_id_of(planned: PlannedSplit) -> str | None:
    """The id of another stack's cluster; None where its outputs do not say: to build on it says why."""
    try:
        made = last_outputs(full_name(planned.cluster_stack, planned.organization)).get(CLUSTER)
    except StackOutputsError:
        return None
    found = made.get("clusterId") if isinstance(made, Mapping) else None
    return found if isinstance(found, str) else None


def _outputs(planned: PlannedSplit, stack: str) -> Mapping[str, Any]:
    """All outputs of the cluster stack.

    Raises:
        pulumi.RunError: there is no such stack, or the engine may not read it.
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
