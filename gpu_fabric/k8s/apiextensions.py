"""apiextensions.k8s.io/v1: a CustomResourceDefinition as an object of the plan."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from gpu_fabric.k8s.base import KubernetesModel, KubernetesObject, ObjectMeta


class DefinitionNames(KubernetesModel):
    """The names of the kind."""

    kind: str
    list_kind: str
    plural: str
    singular: str
    short_names: tuple[str, ...] | None = None


class DefinitionSchema(KubernetesModel):
    """A structural schema, as JSON."""

    open_api_v3_schema: dict[str, Any]


class DefinitionVersion(KubernetesModel):
    """One version of the kind."""

    name: str
    served: bool = True
    storage: bool = True
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


def define_kind(
    name: str,
    api_version: str,
    kind: str,
    schema: dict[str, Any],
    *,
    short_names: tuple[str, ...] | None = None,
    has_status: bool = False,
) -> CustomResourceDefinition:
    """The definition of a namespaced kind with one version; `name` is its singular."""
    group, _, version = api_version.rpartition("/")
    served = DefinitionVersion(
        name=version,
        subresources={"status": {}} if has_status else None,
        schema_=DefinitionSchema(open_api_v3_schema=schema),
    )
    names = DefinitionNames(
        kind=kind, list_kind=f"{kind}List", plural=f"{name}s", singular=name, short_names=short_names
    )
    return CustomResourceDefinition(
        metadata=ObjectMeta(name=f"{names.plural}.{group}"),
        spec=DefinitionSpec(group=group, scope="Namespaced", names=names, versions=(served,)),
    )
