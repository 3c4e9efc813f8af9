"""CustomResourceDefinitions built from the typed models and `operator_kinds.yaml`, as the vendors' charts install them.

The API server accepts only a structural OpenAPI v3 schema: no references, no null, a type on every value, and no union
except that of an integer and a string. With a declared schema, the server rejects wrong types and undeclared fields.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from gpu_fabric.k8s.base import KubernetesObject, Scope, guessed_plural

Schema = dict[str, Any]
KINDS = Path(__file__).with_name("operator_kinds.yaml")

# The keyword in place of a type for the only union that the API server supports.
_INT_OR_STRING = "x-kubernetes-int-or-string"

# Keywords of JSON Schema that mean the same in a structural schema.
_KEPT = (
    "description",
    "type",
    "enum",
    "pattern",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "required",
)


@dataclass(frozen=True)
class PlayedKind:
    """A kind that the program itself does not write, from its row in `operator_kinds.yaml`."""

    api_version: str
    kind: str
    scope: Scope
    schema: Schema

    @property
    def plural(self) -> str:
        """The plural as Kubernetes guesses it."""
        return guessed_plural(self.kind.lower())

    def group(self) -> str:
        """The API group."""
        return self.api_version.rpartition("/")[0]


def played_kinds() -> dict[str, PlayedKind]:
    """The kinds of `operator_kinds.yaml` by their names there."""
    return {name: _played_kind(name, **row) for name, row in _table()["kinds"].items()}


def _played_kind(
    name: str, apiVersion: str, description: str, kind: str = "", scope: Scope = "Namespaced", **parts: Schema
) -> PlayedKind:
    schema = {"description": description, "required": ["spec"], "properties": parts}
    return PlayedKind(apiVersion, kind or name, scope, schema)


def custom_resource_definition(model: type[KubernetesObject] | PlayedKind) -> dict[str, Any]:
    """The apiextensions.k8s.io/v1 object for a kind; one with a status gets the status subresource.

    Raises TypeError for a field that a structural schema cannot express, for example a union of two models.
    """
    version = model.api_version.rpartition("/")[2]
    name, schema = f"{model.plural}.{model.group()}", _object_schema(model)
    shown = dict(_kind_names().get(name, {}))
    columns = shown.pop("columns", {})
    names: dict[str, Any] = {
        "kind": model.kind,
        "listKind": f"{model.kind}List",
        "plural": model.plural,
        "singular": _singular(model),
        **shown,
    }
    served: dict[str, Any] = {"name": version, "served": True, "storage": True}
    if "status" in schema["properties"]:
        served["subresources"] = {"status": {}}
    if columns:
        served["additionalPrinterColumns"] = [
            {"name": heading, "type": "string", "jsonPath": path} for heading, path in columns.items()
        ]
    served["schema"] = {"openAPIV3Schema": schema}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name},
        "spec": {"group": model.group(), "scope": model.scope, "names": names, "versions": [served]},
    }


def _singular(model: type[KubernetesObject] | PlayedKind) -> str:
    """The kind in lower case, or with dashes if the plural has them."""
    return model.plural.removesuffix("s") if "-" in model.plural else model.kind.lower()


@cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = yaml.safe_load(KINDS.read_text(encoding="utf-8"))
    return table


@cache
def _kind_names() -> dict[str, dict[str, Any]]:
    names: dict[str, dict[str, Any]] = yaml.safe_load(
        Path(__file__).with_name("charts").joinpath("kind_names.yaml").read_text()
    )
    return names


def _object_schema(model: type[KubernetesObject] | PlayedKind) -> Schema:
    if isinstance(model, PlayedKind):
        schema, status = model.schema, None
    else:
        schema, status = _model_schema(model), _table()["statuses"].get(model.__name__)
    body = {name: value for name, value in schema["properties"].items() if name != "metadata"}
    properties = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        # The API server validates metadata itself and refuses a schema for it.
        "metadata": {"type": "object"},
        **body,
        **({"status": status} if status else {}),
    }
    return {
        "description": schema["description"],
        "type": "object",
        "required": [name for name in schema["required"] if name != "metadata"],
        "properties": properties,
    }


def _model_schema(model: type[KubernetesObject]) -> Schema:
    generated = model.model_json_schema(by_alias=True, mode="validation")
    return _structural(generated, generated.get("$defs", {}), model.kind)


def _structural(schema: Schema, definitions: dict[str, Schema], path: str) -> Schema:
    if "$ref" in schema:
        target = definitions[schema["$ref"].removeprefix("#/$defs/")]
        siblings = {key: value for key, value in schema.items() if key != "$ref"}
        return _structural({**target, **siblings}, definitions, path)
    if "anyOf" in schema:
        options = [option for option in schema["anyOf"] if option.get("type") != "null"]
        if len(options) != 1:
            raise TypeError(f"{path}: a CustomResourceDefinition cannot hold a union of {len(options)} types")
        siblings = {key: value for key, value in schema.items() if key != "anyOf"}
        return _structural({**options[0], **siblings}, definitions, path)
    if schema.get(_INT_OR_STRING):
        return {key: schema[key] for key in ("description", _INT_OR_STRING) if key in schema}
    if "type" not in schema and "const" not in schema:
        raise TypeError(f"{path}: a CustomResourceDefinition needs one type for every value")
    result = {key: schema[key] for key in _KEPT if key in schema}
    if "const" in schema:
        result |= {"type": "string", "enum": [schema["const"]]}
    if "properties" in schema:
        result["properties"] = {
            name: _structural(value, definitions, f"{path}.{name}") for name, value in schema["properties"].items()
        }
    if "items" in schema:
        result["items"] = _structural(schema["items"], definitions, f"{path}[]")
    if isinstance(schema.get("additionalProperties"), dict):
        result["additionalProperties"] = _structural(schema["additionalProperties"], definitions, f"{path}.*")
    return result
