"""admissionregistration.k8s.io: policies in CEL that change or check objects at admission, and their bindings."""

from typing import Literal

from pydantic import Field

from gpu_fabric.k8s.base import KubernetesModel, KubernetesObject
from gpu_fabric.k8s.scheduling import NodeSelectorRequirement

_GROUP = "admissionregistration.k8s.io"
MutatingVersion = Literal["v1", "v1beta1", "v1alpha1"]
"""Versions of mutating policies: v1 in Kubernetes 1.36, v1beta1 from 1.34, v1alpha1 from 1.32."""


class LabelSelector(KubernetesModel):
    """Conditions on labels, all of which must hold."""

    match_labels: dict[str, str] | None = None
    match_expressions: tuple[NodeSelectorRequirement, ...] | None = None


class ResourceRule(KubernetesModel):
    """Requests for resources of API groups."""

    api_groups: tuple[str, ...]
    api_versions: tuple[str, ...]
    operations: tuple[Literal["CREATE", "UPDATE", "DELETE"], ...]
    resources: tuple[str, ...]


class MatchResources(KubernetesModel):
    """The requests that a policy or a binding is for."""

    resource_rules: tuple[ResourceRule, ...] | None = None
    namespace_selector: LabelSelector | None = None
    object_selector: LabelSelector | None = None


class Named(KubernetesModel):
    """An expression with a name: a condition, or a variable of a policy."""

    name: str
    expression: str


class JsonPatch(KubernetesModel):
    """An expression that gives the operations of a JSON patch."""

    expression: str


class Mutation(KubernetesModel):
    """A change of the object."""

    patch_type: Literal["JSONPatch"] = "JSONPatch"
    json_patch: JsonPatch = Field(alias="jsonPatch")


class MutatingSpec(KubernetesModel):
    """A policy that changes objects."""

    failure_policy: Literal["Fail", "Ignore"]
    reinvocation_policy: Literal["Never", "IfNeeded"]
    match_constraints: MatchResources
    match_conditions: tuple[Named, ...]
    variables: tuple[Named, ...]
    mutations: tuple[Mutation, ...]


class Validation(KubernetesModel):
    """An expression that must be true; the message is an expression, too."""

    expression: str
    message_expression: str


class ValidatingSpec(KubernetesModel):
    """A policy that checks objects."""

    failure_policy: Literal["Fail", "Ignore"]
    match_constraints: MatchResources
    match_conditions: tuple[Named, ...]
    variables: tuple[Named, ...]
    validations: tuple[Validation, ...]


class MutatingBindingSpec(KubernetesModel):
    """The policy and the requests that it is in effect for."""

    policy_name: str
    match_resources: MatchResources


class ValidatingBindingSpec(KubernetesModel):
    """The policy, and what follows from an expression that is false."""

    policy_name: str
    validation_actions: tuple[Literal["Warn", "Audit", "Deny"], ...]


class MutatingAdmissionPolicy(KubernetesObject, api_version=f"{_GROUP}/v1", scope="Cluster"):
    """A policy that changes objects."""

    spec: MutatingSpec


class MutatingAdmissionPolicyBinding(KubernetesObject, api_version=f"{_GROUP}/v1", scope="Cluster"):
    """Puts a mutating policy into effect."""

    spec: MutatingBindingSpec


class ValidatingAdmissionPolicy(KubernetesObject, api_version=f"{_GROUP}/v1", scope="Cluster"):
    """A policy that checks objects."""

    spec: ValidatingSpec


class ValidatingAdmissionPolicyBinding(KubernetesObject, api_version=f"{_GROUP}/v1", scope="Cluster"):
    """Puts a validating policy into effect."""

    spec: ValidatingBindingSpec
