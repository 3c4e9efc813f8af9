"""kubeflow.org/v2beta1: the definition of MPIJob, with a structural schema from short notations of types.

`pod_types.yaml` describes the notation. The program writes jobs of this kind as text only.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml

from gpu_fabric.k8s.apiextensions import CustomResourceDefinition, define_kind

Schema = dict[str, Any]
Types = dict[str, dict[str, str]]

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


@cache
def mpi_job_definition() -> CustomResourceDefinition:
    """The complete definition, with the schema of pods and its default values.

    Kueue compares a job's pods with its own copy, in which the API server has set the defaults; a job without the same
    defaults never starts.
    """
    schema = _of("MPIJob", {**_read("pod_types.yaml"), **_read("mpi_job_types.yaml")})
    return define_kind("mpijob", "kubeflow.org/v2beta1", "MPIJob", schema, has_status=True)
