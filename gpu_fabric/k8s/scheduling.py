"""Tolerations, node labels and selectors, and container settings that several API groups share."""

from collections.abc import Mapping
from typing import Literal, Self

from pydantic import Field, model_validator

from gpu_fabric.k8s.base import KubernetesModel

JobController = Literal["volcano", "mpi-operator", "job-set", "leader-worker-set"]
"""Controllers that create the pods of jobs of other kinds than Kubernetes' own."""


class Toleration(KubernetesModel):
    """A taint that pods tolerate; without a key and with operator Exists: every taint."""

    key: str | None = None
    operator: Literal["Exists", "Equal"] | None = None
    value: str | None = None
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None
    toleration_seconds: int | None = None

    @model_validator(mode="after")
    def _value_fits_operator(self) -> Self:
        if self.operator == "Exists" and self.value:
            raise ValueError(f"toleration of {self.key}: operator Exists takes no value; use Equal")
        if self.key is None and self.operator != "Exists":
            raise ValueError("a toleration without a key needs operator Exists")
        return self


class NodeSelectorRequirement(KubernetesModel):
    """One condition on a node label."""

    key: str
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
    values: tuple[str, ...] | None = None

    @model_validator(mode="after")
    def _values_fit_operator(self) -> Self:
        takes_values = self.operator not in ("Exists", "DoesNotExist")
        if takes_values != bool(self.values):
            need = "needs" if takes_values else "takes no"
            raise ValueError(f"node selector on {self.key}: operator {self.operator} {need} values")
        if self.operator in ("Gt", "Lt") and [value.isdigit() for value in self.values or ()] != [True]:
            raise ValueError(f"node selector on {self.key}: operator {self.operator} takes one whole number")
        return self


class NodeSelectorTerm(KubernetesModel):
    """Conditions that must all hold."""

    match_expressions: tuple[NodeSelectorRequirement, ...] | None = None
    match_fields: tuple[NodeSelectorRequirement, ...] | None = None


class NodeSelector(KubernetesModel):
    """Terms of which one must hold."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = Field(min_length=1)


def nodes_with(*labels: Mapping[str, str]) -> NodeSelector:
    """The nodes that carry all of these labels, or all of the next."""
    terms = (
        tuple(NodeSelectorRequirement(key=key, operator="In", values=(text,)) for key, text in sorted(wanted.items()))
        for wanted in labels
    )
    return NodeSelector(node_selector_terms=tuple(NodeSelectorTerm(match_expressions=term) for term in terms))


class LabelRequirement(KubernetesModel):
    """One condition on a label of any object."""

    key: str
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    values: tuple[str, ...] | None = None

    @model_validator(mode="after")
    def _values_fit_operator(self) -> Self:
        takes_values = self.operator in ("In", "NotIn")
        if takes_values != bool(self.values):
            need = "needs" if takes_values else "takes no"
            raise ValueError(f"selector on {self.key}: operator {self.operator} {need} values")
        return self


class LabelSelector(KubernetesModel):
    """Labels and conditions that must all hold; one without either selects everything."""

    match_labels: dict[str, str] | None = None
    match_expressions: tuple[LabelRequirement, ...] | None = None


class PreferredNodes(KubernetesModel):
    """A term that weighs (1 to 100) without being required."""

    weight: int = Field(ge=1, le=100)
    preference: NodeSelectorTerm


class NodeAffinity(KubernetesModel):
    """Where pods must and should run."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredNodes, ...] | None = None


class EnvVar(KubernetesModel):
    """A plain environment variable of an operand's container."""

    name: str
    value: str | None = None


def vendor_label(vendor_id: str) -> str:
    """The label of Node Feature Discovery on nodes with a network card of a PCI vendor.

    Both operators' charts configure labels by vendor alone (source: their values, `deviceLabelFields`).
    """
    return f"feature.node.kubernetes.io/pci-{vendor_id}.present"
