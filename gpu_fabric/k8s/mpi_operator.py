"""kubeflow.org/v2beta1: MPIJob, and the structural schema of its definition from short notations of types.

`pod_types.yaml` describes the notation.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import WithJsonSchema

from gpu_fabric.k8s.apiextensions import CustomResourceDefinition
from gpu_fabric.k8s.base import KubernetesObject
from gpu_fabric.k8s.crd import custom_resource_definition
from gpu_fabric.k8s.field_types import OpenObject

Schema = dict[str, Any]
Types = dict[str, dict[str, str]]

_POD_TYPES = "pod_types.yaml"

# Kubernetes' expression for a quantity such as 100m, 1.5 or 16Gi.
_NUMBER = r"(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
_QUANTITY = rf"^(\+|-)?{_NUMBER}(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?{_NUMBER}))?$"
_EITHER = {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}

_VALUES: dict[str, Schema] = {
    "string": {"type": "string"},
    "boolean": {"type": "boolean"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "date-time": {"type": "string", "format": "date-time"},
    "anyObject": {"type": "object"},
    "intOrString": _EITHER,
    "quantity": {**_EITHER, "pattern": _QUANTITY},
}


def written_schema(name: str, file: str) -> Schema:
    """The schema of a type in a file of this folder."""
    return _of(name, {**_read(_POD_TYPES), **_read(file)})


@cache
def _read(file: str) -> Types:
    types: Types = yaml.safe_load((Path(__file__).parent / file).read_text())
    return types


def _of(text: str, types: Types) -> Schema:
    """The schema of a type in the notation of a field."""
    said, _, default = text.partition(" = ")
    head, _, rest = said.partition(" of ")
    if head == "string" and rest:
        schema: Schema = {"type": "string", "enum": rest.split()}
    elif head in ("map", "atomic map"):
        atomic = {"x-kubernetes-map-type": "atomic"} if head != "map" else {}
        schema = {"type": "object", "additionalProperties": _of(rest, types), **atomic}
    elif head in ("list", "set", "any list"):
        schema = _list(head, rest, types)
    else:
        schema = dict(_VALUES[said]) if said in _VALUES else _object(said, types)
    return {**schema, "default": yaml.safe_load(default)} if default else schema


def _list(head: str, rest: str, types: Types) -> Schema:
    entry, _, keys = rest.partition(" by ")
    schema: Schema = {"type": "array", "items": _of(entry, types)}
    if keys:
        return {**schema, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys.split()}
    kinds = {"list": "atomic", "set": "set"}
    return {**schema, "x-kubernetes-list-type": kinds[head]} if head in kinds else schema


def _object(name: str, types: Types) -> Schema:
    atomic = f"{name} atomic" in types
    fields = types[f"{name} atomic" if atomic else name]
    required = [field.removesuffix("!") for field in fields if field.endswith("!")]
    schema: Schema = {
        "type": "object",
        "properties": {field.removesuffix("!"): _of(text, types) for field, text in fields.items()},
    }
    return (
        schema | ({"required": required} if required else {}) | ({"x-kubernetes-map-type": "atomic"} if atomic else {})
    )


class MPIJob(KubernetesObject, api_version="kubeflow.org/v2beta1"):
    """A job of MPI; the program writes it as text only, and `mpi_job_definition` has its fields."""

    spec: Annotated[
        dict[str, Any],
        WithJsonSchema(
            {"type": "object", "required": ["mpiReplicaSpecs"], "x-kubernetes-preserve-unknown-fields": True}
        ),
    ]
    status: OpenObject | None = None


def mpi_job_definition() -> CustomResourceDefinition:
    """The complete definition, with the schema of pods and its default values.

    Kueue compares a job's pods with its own copy, in which the API server has set the defaults; a job without the same
    defaults never starts.
    """
    made = custom_resource_definition(MPIJob)
    (version,) = made["spec"]["versions"]
    version["schema"]["openAPIV3Schema"] = written_schema("MPIJob", "mpi_job_types.yaml")
    return CustomResourceDefinition.model_validate({"metadata": made["metadata"], "spec": made["spec"]})
