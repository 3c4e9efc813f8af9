"""What an API server says against a custom resource, from the structural schema of its definition.

Stricter than the server in one way: a field that the schema does not declare is refused, where the server drops it
in silence. Rules in CEL (`x-kubernetes-validations`) are not evaluated.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from ipaddress import ip_network
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker, ValidationError
from jsonschema.validators import extend

Schema = Mapping[str, Any]

# Keywords that mean in a structural schema what they mean in JSON Schema.
_SAME = frozenset(
    {
        *("type", "enum", "pattern", "minimum", "maximum", "multipleOf", "minLength", "maxLength"),
        *("minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "format"),
        "x-kubernetes-list-map-keys",
    }
)

# Where an object carries a whole Kubernetes object, at its root or embedded, these need no declaration.
_OBJECT_FIELDS = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}}


def refusals(manifest: Mapping[str, Any], schema: Schema) -> list[str]:
    """Every reason to refuse an object, as `<JSON path>: <reason>`; `schema` is an `openAPIV3Schema`."""
    strict = _json_schema({**schema, "x-kubernetes-embedded-resource": True}, closed=True)
    errors = _Validator(strict, format_checker=_FORMATS).iter_errors(manifest)
    return sorted(f"{error.json_path}: {error.message}" for error in errors)


def _json_schema(schema: Schema, *, closed: bool) -> dict[str, Any]:
    """The JSON Schema that says the same; `closed` refuses undeclared fields on every level.

    What stands below `anyOf` and its like only adds conditions to fields that are declared outside of it.
    """
    result = {key: value for key, value in schema.items() if key in _SAME}
    if schema.get("x-kubernetes-int-or-string"):
        result["type"] = ["integer", "string"]
    if schema.get("x-kubernetes-list-type") == "set":
        result["uniqueItems"] = True
    # OpenAPI 3.0 says with a flag whether a bound itself is outside.
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if schema.get(exclusive):
            result[exclusive] = result.pop(bound)
    for key in ("anyOf", "allOf", "oneOf"):
        # Beside int-or-string, anyOf only repeats the two types.
        if key in schema and not (key == "anyOf" and schema.get("x-kubernetes-int-or-string")):
            result[key] = [_json_schema(part, closed=False) for part in schema[key]]
    if "not" in schema:
        result["not"] = _json_schema(schema["not"], closed=False)
    if "items" in schema:
        result["items"] = _json_schema(schema["items"], closed=closed)
    result |= _fields(schema, closed=closed)
    # A field without a type takes anything.
    if schema.get("nullable") and "type" in result:
        types = result["type"]
        result["type"] = [*([types] if isinstance(types, str) else types), "null"]
        if "enum" in result:
            result["enum"] = [*result["enum"], None]
    return result


def _fields(schema: Schema, *, closed: bool) -> dict[str, Any]:
    declared = dict(schema.get("properties", {}))
    # The server fills in defaults before it looks for what is missing.
    required = [name for name in schema.get("required", ()) if "default" not in declared.get(name, {})]
    result: dict[str, Any] = {"required": required} if required else {}
    whole = schema.get("x-kubernetes-embedded-resource")
    fields = {name: _json_schema(value, closed=closed) for name, value in declared.items()}
    result["properties"] = {**fields, **_OBJECT_FIELDS} if whole else fields
    others = schema.get("additionalProperties")
    if isinstance(others, Mapping):
        result["additionalProperties"] = _json_schema(others, closed=closed)
    elif closed and not others and not schema.get("x-kubernetes-preserve-unknown-fields"):
        result["additionalProperties"] = False
    return result


def _undeclared(validator: Any, others: Any, instance: Any, schema: Schema) -> Iterator[ValidationError]:
    """`additionalProperties`, with one error per field, at the field."""
    if others is not False:
        yield from Draft202012Validator.VALIDATORS["additionalProperties"](validator, others, instance, schema)
    elif isinstance(instance, Mapping):
        for name in instance.keys() - schema.get("properties", {}).keys():
            yield ValidationError("unknown field", path=[name])


def _map_keys(validator: Any, keys: list[str], instance: Any, schema: Schema) -> Iterator[ValidationError]:
    """`x-kubernetes-list-map-keys`: no two entries of a list are one entry."""
    seen = set()
    for index, entry in enumerate(instance if isinstance(instance, list) else ()):
        identity = tuple(repr(entry.get(key)) for key in keys) if isinstance(entry, Mapping) else index
        if identity in seen:
            yield ValidationError(f"an entry with the same {', '.join(keys)} comes before", path=[index])
        seen.add(identity)


def _whole_number(bits: int, value: object) -> bool:
    return not isinstance(value, int) or -(2 ** (bits - 1)) <= value < 2 ** (bits - 1)


def _date_time(value: object) -> bool:
    if not isinstance(value, str):
        return True
    if not re.fullmatch(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", value):
        return False
    datetime.fromisoformat(value)
    return True


def _cidr(value: object) -> bool:
    if isinstance(value, str):
        ip_network(value, strict=False)
        return "/" in value
    return True


# As the server does, formats that are not known here are passed over.
_FORMATS = FormatChecker(formats=("ipv4", "ipv6"))
_FORMATS.checkers = {
    **_FORMATS.checkers,
    "int32": (lambda value: _whole_number(32, value), ()),
    "int64": (lambda value: _whole_number(64, value), ()),
    "date-time": (_date_time, ValueError),
    "cidr": (_cidr, ValueError),
}

_Validator = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator, {"additionalProperties": _undeclared, "x-kubernetes-list-map-keys": _map_keys}
)
