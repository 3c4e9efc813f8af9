"""The JSON Schemas of the outputs and of the stack file.

An output's schema is for programs that read the output: it allows fields of later versions, and has no nulls.
"""

from __future__ import annotations

import json
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from gpu_fabric.model import FrozenModel
from gpu_fabric.spec.places import NAMESPACE
from gpu_fabric.spec.stack import StackSpec

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_NULL = {"type": "null"}

Json = dict[str, Any]

# Characters of a line. Most definitions take less, and the difference of one that changed still shows where.
_LONGEST = 2_000


class OutputSchema(GenerateJsonSchema):
    """Writes schemas of outputs: these have a field with its default as well, unless that is left out where empty."""

    def field_is_required(self, field: Any, total: bool) -> bool:
        """Whether every output has the field."""
        return not (field.get("serialization_exclude") or field.get("serialization_exclude_if"))


def schema_text(schema: Json) -> str:
    """A schema as it is printed and committed: a definition a line, or where that is too long, each of its fields."""
    return json_lines(schema, _LONGEST) + "\n"


def json_lines(value: Any, longest: int, indent: str = "") -> str:
    """JSON with few lines: what fits in the longest line is on one, and of other mappings and lists each entry."""
    line = json.dumps(value, ensure_ascii=False)
    if len(line) <= longest or not isinstance(value, dict | list):
        return line
    below = f"{indent} "
    if isinstance(value, dict):
        entries = [f"{json.dumps(key)}: {json_lines(part, longest, below)}" for key, part in value.items()]
    else:
        entries = [json_lines(part, longest, below) for part in value]
    return f"{line[0]}\n{below}" + f",\n{below}".join(entries) + f"\n{indent}{line[-1]}"


def published_schema(model: type[FrozenModel], name: str) -> Json:
    """The schema of a stack's output of a version."""
    head = {"$schema": DIALECT, "$id": f"urn:gpu-fabric:{name}:{model.model_fields['schema_version'].default}"}
    return {**head, **output_schema(model)}


def output_schema(model: type[FrozenModel]) -> Json:
    """The schema of a model in an output: fields that are always set are required, null fields are left out."""
    schema = model.model_json_schema(by_alias=True, mode="serialization", schema_generator=OutputSchema)
    definitions = {key: _publish(part) for key, part in schema.pop("$defs", {}).items()}
    return {**_publish(schema), **({"$defs": definitions} if definitions else {})}


def _publish(schema: Json) -> Json:
    """A model's schema for readers of the output: within a version, fields are only added."""
    properties: dict[str, Json] = schema.get("properties", {})
    result = {key: value for key, value in schema.items() if key != "additionalProperties"}
    if properties:
        result["properties"] = {key: _property(part) for key, part in properties.items()}
        always = schema.get("required", ())
        result["required"] = [key for key, part in properties.items() if key in always and not _may_be_null(part)]
    return result


def _property(schema: Json) -> Json:
    """A field's schema without null, which the output leaves out, and without a title, which repeats its name."""
    result = {key: value for key, value in schema.items() if key != "title" and (key, value) != ("default", None)}
    if not _may_be_null(schema):
        return result
    others = [part for part in result.pop("anyOf") if part != _NULL]
    return {**(others[0] if len(others) == 1 else {"anyOf": others}), **result}


def _may_be_null(schema: Json) -> bool:
    return _NULL in schema.get("anyOf", ())


def _without_null(schema: Any) -> Any:
    """A schema in which no key may be null; what takes a value of any form keeps that."""
    if isinstance(schema, list):
        return [_without_null(part) for part in schema if part != _NULL]
    if not isinstance(schema, dict):
        return schema
    result = {key: _without_null(part) for key, part in schema.items() if part is not None}
    match result.pop("anyOf", []):
        case []:
            return result
        case [other]:
            return {**other, **result}
        case others:
            return {"anyOf": others, **result}


def stack_file_schema() -> dict[str, Any]:
    """The schema of a whole stack file, for editors.

    Other keys of the namespace must be secrets; keys of other namespaces are not checked. A key has a value: one with
    nothing behind it is refused.
    """
    spec = _without_null(StackSpec.model_json_schema(by_alias=True))
    sections = {key: value for key, value in spec["properties"].items() if key != "name"}
    required = [key for key in spec["required"] if key in sections]
    part = {"properties": {"part": {"const": "platform"}}, "required": ["part"]}
    split, cluster = f"{NAMESPACE}:split", f"{NAMESPACE}:cluster"
    secret = {"type": "object", "required": ["secure"], "properties": {"secure": {"type": "string"}}}
    return {
        "$schema": DIALECT,
        "title": "gpu-fabric stack file",
        "type": "object",
        "required": ["config"],
        "properties": {
            "config": {
                "type": "object",
                # A platform stack's cluster is described in the file of its cluster stack.
                "if": {"properties": {split: part}, "required": [split]},
                "then": {"properties": {cluster: False}},
                "else": {"required": [f"{NAMESPACE}:{key}" for key in required]},
                "properties": {f"{NAMESPACE}:{key}": value for key, value in sections.items()},
                "patternProperties": {f"^{NAMESPACE}:(?!({'|'.join(sections)})$)": secret},
            }
        },
        "$defs": spec["$defs"],
    }
