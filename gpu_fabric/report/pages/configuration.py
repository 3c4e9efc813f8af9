"""The configuration reference: Markdown tables generated from the models, so that they are never outdated."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from gpu_fabric.spec import StackSpec

_INTRODUCTION = """# Configuration

Made from the models by `make docs`; a test holds it fresh. Every key lives in a stack file, `Pulumi.<stack>.yaml`,
under `config:`. Unknown keys are errors. As a JSON Schema, for editors: [schema/stack.json](schema/stack.json).
"""


_AS_ABOVE = "; its keys are above"


def configuration_reference() -> str:
    """One table per section of the stack file, with every key, its type, default and meaning."""
    schema = StackSpec.model_json_schema(by_alias=True)
    parts = [_INTRODUCTION]
    seen: set[str] = set()
    for section, field in schema["properties"].items():
        if section == "name":
            continue
        for model, which in _forms(field, schema):
            parts.append(f"## `gpu-fabric:{section}`{which}\n\n{_first_line(model)}\n")
            parts.append("| key | type | default | meaning |\n|---|---|---|---|")
            parts.append("\n".join(_rows(model, schema, "", seen)) + "\n")
    return "\n".join(parts)


def _forms(field: dict[str, Any], schema: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """The models a section may have: one, or one per provider with its name."""
    if "oneOf" not in field:
        yield _resolve(field, schema), ""
        return
    key = field["discriminator"]["propertyName"]
    names = {reference: name for name, reference in field["discriminator"]["mapping"].items()}
    for form in field["oneOf"]:
        yield _resolve(form, schema), f" with `{key}: {names[form['$ref']]}`"


def _rows(model: dict[str, Any], schema: dict[str, Any], prefix: str, seen: set[str]) -> Iterator[str]:
    required = set(model.get("required", ()))
    properties = model.get("properties", {})
    # The key that selects the form of a section comes first, then the required keys.
    for key, field in sorted(properties.items(), key=lambda entry: ("const" not in entry[1], entry[0] not in required)):
        resolved = _resolve(field, schema)
        inner, suffix = _inner(resolved, schema)
        meaning = field.get("description") or _first_line(resolved)
        default = "required" if key in required else "see below" if inner is resolved else _default(field)
        known = inner is not None and inner.get("title") in seen
        yield f"| `{prefix}{key}{suffix}` | {_type(resolved, schema)} | {default} | {meaning}{_AS_ABOVE * known} |"
        if inner is not None and not known:
            seen.add(str(inner.get("title")))
            yield from _rows(inner, schema, f"{prefix}{key}{suffix}.", seen)


def _inner(resolved: dict[str, Any], schema: dict[str, Any]) -> tuple[dict[str, Any] | None, str]:
    """The model of a key's own keys, its list entries or its mapping values; and the suffix for these in a path."""
    if "properties" in resolved:
        return resolved, ""
    for part, suffix in (("items", "[]"), ("additionalProperties", ".<name>")):
        found = resolved.get(part)
        model = _resolve(found, schema) if isinstance(found, dict) else {}
        if "properties" in model:
            return model, suffix
    return None, ""


def _resolve(field: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """The model behind a reference, an optional value, or a value that also has a short form."""
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
    if field.get("type") == "object" and isinstance(field.get("additionalProperties"), dict):
        return "mapping"
    return str(field.get("type", "any"))


def _default(field: dict[str, Any]) -> str:
    value = field.get("default")
    return "none" if value is None else f"`{json.dumps(value)}`"


def _first_line(model: dict[str, Any]) -> str:
    return str(model.get("description", "")).partition("\n")[0]
