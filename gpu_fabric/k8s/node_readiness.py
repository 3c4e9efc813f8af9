"""readiness.node.x-k8s.io/v1alpha1: rules of Kubernetes' Node Readiness Controller.

Source: kubernetes-sigs/node-readiness-controller, api/v1alpha1/nodereadinessrule_types.go (commit 00ef9cb).
"""

from typing import Literal

from pydantic import Field

from gpu_fabric.k8s.base import KubernetesModel, KubernetesObject


class RequiredCondition(KubernetesModel):
    """A condition of the node, and the status that it must have."""

    type: str
    required_status: Literal["True", "False", "Unknown"]


class NodeTaint(KubernetesModel):
    """A taint as a node has it."""

    key: str = Field(pattern=r"^readiness\.k8s\.io/")
    value: str | None = None
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]


class NodeSelector(KubernetesModel):
    """Labels of the nodes that a rule is for; the controller asks for at least one label."""

    match_labels: dict[str, str] = Field(min_length=1)


class NodeReadinessRuleSpec(KubernetesModel):
    """The taint that nodes have while one of the conditions does not hold."""

    conditions: tuple[RequiredCondition, ...] = Field(min_length=1)
    enforcement_mode: Literal["bootstrap-only", "continuous"]
    taint: NodeTaint
    node_selector: NodeSelector


class NodeReadinessRule(KubernetesObject, api_version="readiness.node.x-k8s.io/v1alpha1", scope="Cluster"):
    """Nodes that take pods only while their conditions hold."""

    spec: NodeReadinessRuleSpec
