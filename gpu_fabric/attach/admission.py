"""Policies of the API server that attach the fabric at admission, without a webhook's server."""

from __future__ import annotations

import re
from typing import Any

from gpu_fabric.attach.cel import ANNOTATIONS, additions, all_of, asking, fits_nodes, has_fabric, variables
from gpu_fabric.attach.devices import gpu_resource
from gpu_fabric.base.cel import literal
from gpu_fabric.contract import FabricContract
from gpu_fabric.contract.fabric import without_channel
from gpu_fabric.k8s.admission import (
    JsonPatch,
    LabelSelector,
    MatchResources,
    MutatingAdmissionPolicy,
    MutatingAdmissionPolicyBinding,
    MutatingBindingSpec,
    MutatingSpec,
    MutatingVersion,
    Mutation,
    Named,
    ResourceRule,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
    ValidatingBindingSpec,
    ValidatingSpec,
    Validation,
)
from gpu_fabric.k8s.base import KubernetesObject, ObjectMeta
from gpu_fabric.k8s.scheduling import NodeSelectorRequirement

OPT_IN = "gpu-fabric.dev/attach"
"""The label of a pod or of its namespace, `enabled`, with which its pods get the fabric; a pod's `disabled` wins."""

_NAMESPACE = "kubernetes.io/metadata.name"
_NEW_PODS = ResourceRule(api_groups=("",), api_versions=("v1",), operations=("CREATE",), resources=("pods",))


def admission_policies(contract: FabricContract, version: MutatingVersion = "v1") -> list[dict[str, Any]]:
    """The policies and their bindings, as manifests; `version` is that of the mutating policy's API.

    They see single pods and not how many a job has, so they give none a channel: `attach` does.
    """
    contract = without_channel(contract)
    objects = [*_attaching(contract), *_warning(contract)]
    manifests = [entry.manifest() for entry in objects]
    for manifest in manifests:
        if manifest["kind"].startswith("Mutating"):
            manifest["apiVersion"] = manifest["apiVersion"].replace("/v1", f"/{version}")
    return manifests


def _attaching(contract: FabricContract) -> list[KubernetesObject]:
    name = _name("attach", contract)
    offered = NodeSelectorRequirement(key=_NAMESPACE, operator="In", values=contract.namespaces)
    spec = MutatingSpec(
        failure_policy="Fail",
        reinvocation_policy="IfNeeded",
        match_constraints=MatchResources(
            resource_rules=(_NEW_PODS,), namespace_selector=LabelSelector(match_expressions=(offered,))
        ),
        match_conditions=(
            Named(name="one-container-asks-for-gpus", expression=f"{asking(contract)}.filter(asks, asks).size() == 1"),
        ),
        variables=tuple(Named(name=name, expression=text) for name, text in variables(contract).items()),
        mutations=(Mutation(json_patch=JsonPatch(expression=f"!variables.fits ? [] :\n{additions(contract)}")),),
    )
    enabled = LabelSelector(match_labels={OPT_IN: "enabled"})
    not_disabled = NodeSelectorRequirement(key=OPT_IN, operator="NotIn", values=("disabled",))
    bindings = {
        "pods": MatchResources(object_selector=enabled),
        "namespaces": MatchResources(
            namespace_selector=enabled, object_selector=LabelSelector(match_expressions=(not_disabled,))
        ),
    }
    return [
        MutatingAdmissionPolicy(metadata=ObjectMeta(name=name), spec=spec),
        *(
            MutatingAdmissionPolicyBinding(
                metadata=ObjectMeta(name=f"{name}-{which}"),
                spec=MutatingBindingSpec(policy_name=name, match_resources=match),
            )
            for which, match in bindings.items()
        ),
    ]


def _warning(contract: FabricContract) -> list[KubernetesObject]:
    name = _name("warn", contract)
    whole = f"{asking(contract, contract.gpus_per_node)}.exists(whole, whole)"
    what = "is not on the node's own network" if contract.host_network else "has no networks of it"
    text = (
        f" takes a node of stack {contract.stack} ({contract.gpus_per_node} {gpu_resource(contract)}) and {what}: "
        f"NCCL would use TCP; label the pod or its namespace {OPT_IN}=enabled, or run gpu-fabric attach"
    )
    metadata = "object.metadata"
    who = f'(has({metadata}.name) ? {metadata}.name : has({metadata}.generateName) ? {metadata}.generateName : "a pod")'
    takes_whole = Named(name="takes-a-node-of-the-stack-whole", expression=all_of([whole, *fits_nodes(contract)]))
    spec = ValidatingSpec(
        failure_policy="Ignore",
        match_constraints=MatchResources(resource_rules=(_NEW_PODS,)),
        match_conditions=(takes_whole,),
        variables=tuple(Named(name=key, expression=value) for key, value in ANNOTATIONS.items()),
        validations=(Validation(expression=has_fabric(contract), message_expression=f"{who} + {literal(text)}"),),
    )
    binding = ValidatingBindingSpec(policy_name=name, validation_actions=("Warn",))
    return [
        ValidatingAdmissionPolicy(metadata=ObjectMeta(name=name), spec=spec),
        ValidatingAdmissionPolicyBinding(metadata=ObjectMeta(name=name), spec=binding),
    ]


def _name(what: str, contract: FabricContract) -> str:
    """A name for the cluster, which may have the policies of several stacks."""
    fabric = f"-{contract.fabric}" if contract.fabric else ""
    return f"gpu-fabric-{what}-{re.sub('[^a-z0-9]+', '-', contract.stack.lower()).strip('-')}{fabric}"
