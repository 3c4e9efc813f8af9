"""monitoring.coreos.com/v1: rules of the Prometheus operator."""

from __future__ import annotations

from pydantic import Field

from gpu_fabric.k8s.base import KubernetesModel, KubernetesObject
from gpu_fabric.k8s.field_types import SortedTexts


class Rule(KubernetesModel):
    """An alarm, or a series that is recorded; its expression is PromQL."""

    alert: str | None = None
    record: str | None = None
    expr: str = Field(min_length=1)
    for_: str | None = Field(default=None, alias="for")
    labels: SortedTexts | None = None
    annotations: SortedTexts | None = None


class RuleGroup(KubernetesModel):
    """Rules that are evaluated one after another."""

    name: str = Field(min_length=1)
    rules: tuple[Rule, ...] = Field(min_length=1)


class PrometheusRuleSpec(KubernetesModel):
    """The groups, in the form of Prometheus' own rule files."""

    groups: tuple[RuleGroup, ...]


class PrometheusRule(KubernetesObject, api_version="monitoring.coreos.com/v1"):
    """Rules that the operator gives to each Prometheus whose selector takes the object's labels."""

    spec: PrometheusRuleSpec
