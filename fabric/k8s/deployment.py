"""apps/v1: the Deployment, as far as the program runs a controller itself."""

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from fabric.k8s.apps import PodTemplate
from fabric.k8s.base import KubernetesModel, KubernetesObject
from fabric.k8s.scheduling import LabelSelector


class DeploymentSpec(KubernetesModel):
    """The pods; the selector, which never changes, must match the template's labels."""

    replicas: int = Field(ge=0)
    selector: LabelSelector
    template: PodTemplate

    @model_validator(mode="after")
    def _selects_its_pods(self) -> Self:
        wanted = self.selector.match_labels or {}
        if not wanted or not wanted.items() <= self.template.metadata.labels.items():
            raise ValueError("selector.matchLabels must be some of the template's labels")
        return self


class Deployment(KubernetesObject):
    """Pods that are alike, a number of them at a time, on any nodes."""

    api_version: ClassVar[str] = "apps/v1"
    kind: ClassVar[str] = "Deployment"
    plural: ClassVar[str] = "deployments"
    scope: ClassVar[Literal["Namespaced", "Cluster"]] = "Namespaced"

    spec: DeploymentSpec
