"""apiextensions.k8s.io/v1: a CustomResourceDefinition as an object of the plan."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from gpu_fabric.k8s.base import KubernetesModel, KubernetesObject
from gpu_fabric.k8s.crd import custom_resource_definition


class DefinitionNames(KubernetesModel):
    """The names of the kind."""

    kind: str
    list_kind: str
    plural: str
    singular: str
    short_names: tuple[str, ...] | None = None
    categories: tuple[str, ...] | None = None


class DefinitionSchema(KubernetesModel):
    """A structural schema, as JSON."""

    open_api_v3_schema: dict[str, Any]


class DefinitionVersion(KubernetesModel):
    """One version of the kind."""

    name: str
    served: bool
    storage: bool
    subresources: dict[str, Any] | None = None
    # the key of JSON Schema's own method
    schema_: DefinitionSchema = Field(validation_alias="schema", serialization_alias="schema")


class DefinitionSpec(KubernetesModel):
    """The kind: its group, names and versions."""

    group: str
    scope: Literal["Namespaced", "Cluster"]
    names: DefinitionNames
    versions: tuple[DefinitionVersion, ...] = Field(min_length=1)


class CustomResourceDefinition(KubernetesObject, api_version="apiextensions.k8s.io/v1", scope="Cluster"):
    """A kind that is added to the API server, which serves it once the condition `Established` is true."""

    spec: DefinitionSpec


def lenient_definition(model: type[KubernetesObject]) -> CustomResourceDefinition:
    """The definition of a kind that other software also writes: types are checked, and no field is required."""
    made = custom_resource_definition(model)
    for version in made["spec"]["versions"]:
        _require_nothing(version["schema"]["openAPIV3Schema"])
    return CustomResourceDefinition.model_validate({"metadata": made["metadata"], "spec": made["spec"]})


def _require_nothing(schema: dict[str, Any]) -> None:
    schema.pop("required", None)
    for below in schema.get("properties", {}).values():
        _require_nothing(below)
