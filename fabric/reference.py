"""The configuration reference: Markdown tables made from the models, so that they cannot fall behind."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from fabric.spec import StackSpec

_INTRODUCTION = """# Configuration

Made from the models by `make docs`; a test holds it fresh. Every key lives in a stack file, `Pulumi.<stack>.yaml`,
under `config:`. Unknown keys are errors. As a JSON Schema, for editors: [schema/stack.json](schema/stack.json).
"""


def configuration_reference() -> str:
    """One table per section of the stack file, with every key, its type, default and meaning."""
    schema = StackSpec.model_json_schema(by_alias=True)
    parts = [_INTRODUCTION]
    for section, field in schema["properties"].items():
        if section == "name":
            continue
        model = _resolve(field, schema)
        parts.append(f"## `gpu-fabric:{section}`\n\n{_first_line(model)}\n")
        parts.append("| key | type | default | meaning |\n|---|---|---|---|")
        parts.append("\n".join(_rows(model, schema, "")) + "\n")
    return "\n".join(parts)


def _rows(model: dict[str, Any], schema: dict[str, Any], prefix: str) -> Iterator[str]:
    required = set(model.get("required", ()))
    for key, field in model.get("properties", {}).items():
        resolved = _resolve(field, schema)
        items = _resolve(resolved.get("items", {}), schema)
        inner = resolved if "properties" in resolved else items if "properties" in items else None
        path = f"{prefix}{key}" + ("[]" if inner is items else "")
        meaning = field.get("description") or _first_line(resolved)
        default = "required" if key in required else "see below" if inner is resolved else _default(field)
        yield f"| `{path}` | {_type(resolved, schema)} | {default} | {meaning} |"
        if inner is not None:
            yield from _rows(inner, schema, f"{path}.")


def _resolve(field: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """The model behind a reference, an optional value, or a value that may also be written shorter."""
    choices = [choice for choice in field.get("anyOf", ()) if choice.get("type") != "null"]
    if choices:
        return _resolve(choices[-1], schema)
    if "$ref" in field:
        found: dict[str, Any] = schema["$defs"][field["$ref"].rpartition("/")[2]]
        return found
    return field


def _type(field: dict[str, Any], schema: dict[str, Any]) -> str:
    if "const" in field:
        return f"`{field['const']}`"
    if "enum" in field:
        return " or ".join(f"`{value}`" for value in field["enum"])
    if field.get("type") == "array":
        return f"list of {_type(_resolve(field.get('items', {}), schema), schema)}"
    if "format" in field:
        return {"ipv4network": "IPv4 CIDR"}.get(str(field["format"]), str(field["format"]))
    return str(field.get("type", "any"))


def _default(field: dict[str, Any]) -> str:
    value = field.get("default")
    return "none" if value is None else f"`{json.dumps(value)}`"


def _first_line(model: dict[str, Any]) -> str:
    return str(model.get("description", "")).partition("\n")[0]
