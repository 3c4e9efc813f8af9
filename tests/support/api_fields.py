"""Changes of every field of an object, by the OpenAPI schema that an API server gives of itself."""

import copy
from collections.abc import Iterator, Mapping
from typing import Any

Schemas = Mapping[str, Mapping[str, Any]]
Schema = Mapping[str, Any]


class Fields:
    """The fields of the kinds of one API; `known` has values by a type's name or by `Type.field`.

    They are for types whose values the schema does not describe: a field of another type gets any value of its type.
    """

    def __init__(self, schemas: Schemas, known: Mapping[str, Any]) -> None:
        self._schemas, self._known = schemas, known

    def changes(self, type_name: str, present: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
        """The path, the field and its new value for each field of a type, and for each field of these."""
        for field, schema in self._properties(type_name).items():
            whole = self._value(schema, f"{type_name}.{field}")
            yield field, field, whole
            inner, is_list = (schema["items"], True) if schema.get("type") == "array" else (schema, False)
            name = self._name(inner)
            for part, of_part in self._properties(name).items() if name else ():
                value = self._value(of_part, f"{name}.{part}")
                if not is_list:
                    yield f"{field}.{part}", field, {**(present.get(field) or whole), part: value}
                elif name in self._known:
                    # A further entry: one that is there may have only one of the fields.
                    yield f"{field}[].{part}", field, [*present.get(field, ()), {**self._known[name], part: value}]
                else:
                    first, *others = present.get(field) or whole
                    yield f"{field}[].{part}", field, [{**first, part: value}, *others]

    def _name(self, schema: Schema) -> str:
        """The name of a schema's type; empty if it has none."""
        references = (entry["$ref"] for entry in (schema, *schema.get("allOf", ())) if "$ref" in entry)
        return str(next(references, "")).rpartition(".")[2]

    def _found(self, type_name: str) -> Schema:
        return next(value for key, value in self._schemas.items() if key.rpartition(".")[2] == type_name)

    def _properties(self, type_name: str) -> Mapping[str, Schema]:
        found: Mapping[str, Schema] = self._found(type_name).get("properties", {})
        return found

    def _value(self, schema: Schema, path: str) -> Any:
        name = self._name(schema)
        for key in (path, name):
            if key in self._known:
                return copy.deepcopy(self._known[key])
        found = self._found(name) if name else schema
        match found.get("format"), found.get("type"):
            case "date-time", _:
                return "2026-01-02T03:04:05Z"
            case _, "array":
                return [self._value(found["items"], path)]
            case _, "boolean":
                return True
            case _, "integer":
                return 7
            case _, "object" if "additionalProperties" in found:
                return {"tried": self._value(found["additionalProperties"], path)}
            case _, "object":
                fields = found.get("properties", {})
                return {key: self._value(fields[key], f"{name}.{key}") for key in found.get("required", ())}
        return "tried"
