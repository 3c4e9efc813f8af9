"""nfd.k8s-sigs.io/v1alpha1: rules by which Node Feature Discovery labels nodes."""

from typing import Literal

from pydantic import Field

from gpu_fabric.k8s.base import KubernetesModel, KubernetesObject


def vendor_label(vendor_id: str) -> str:
    """The label of Node Feature Discovery on nodes with a network card of a PCI vendor.

    Both operators' charts configure labels by vendor alone (source: their values, `deviceLabelFields`).
    """
    return f"feature.node.kubernetes.io/pci-{vendor_id}.present"


class FeatureExpression(KubernetesModel):
    """A condition on one attribute of a feature."""

    op: Literal[
        "In", "NotIn", "InRegexp", "Exists", "DoesNotExist", "Gt", "Ge", "Lt", "Le", "GtLt", "GeLe", "IsTrue", "IsFalse"
    ]
    value: tuple[str, ...] | None = None


class FeatureMatch(KubernetesModel):
    """A feature, for example `pci.device`, and what its attributes must be."""

    feature: str
    match_expressions: dict[str, FeatureExpression] | None = None


class FeatureRule(KubernetesModel):
    """Labels for nodes on which every feature matches."""

    name: str
    labels: dict[str, str] | None = None
    match_features: tuple[FeatureMatch, ...] | None = None


class NodeFeatureRuleSpec(KubernetesModel):
    """Rules in the order of evaluation."""

    rules: tuple[FeatureRule, ...] = Field(min_length=1)


class NodeFeatureRule(KubernetesObject, api_version="nfd.k8s-sigs.io/v1alpha1", scope="Cluster", short_names=("nfr",)):
    """A set of labelling rules, for example the Network Operator's for NVIDIA NICs."""

    spec: NodeFeatureRuleSpec
