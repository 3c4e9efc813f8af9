"""The validator of structural schemas: what it finds, on the smallest schema that shows it."""

from typing import Any

import pytest
from structural_schema import refusals


def spec(schema: dict[str, Any], value: Any) -> list[str]:
    """What is said against an object whose `spec` is the value."""
    return refusals({"apiVersion": "a/v1", "kind": "A", "metadata": {}, "spec": value}, custom(schema))


def custom(schema: dict[str, Any]) -> dict[str, Any]:
    metadata = {"type": "object"}
    return {"type": "object", "required": ["spec"], "properties": {"metadata": metadata, "spec": schema}}


def fields(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


TEXT = {"type": "string"}
COUNT = {"type": "integer"}
PORTS = {
    "type": "array",
    "items": fields(name=TEXT, number=COUNT),
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
}
WORKED = fields(count=COUNT)

CASES: list[tuple[str, dict[str, Any], Any, Any, str]] = [
    # keyword, schema, accepted, refused, reason
    ("type", TEXT, "a", 1, "$.spec: 1 is not of type 'string'"),
    ("type integer", COUNT, 1, True, "$.spec: True is not of type 'integer'"),
    ("type number", {"type": "number"}, 1.5, "1.5", "$.spec: '1.5' is not of type 'number'"),
    ("type object", WORKED, {"count": 1}, [], "$.spec: [] is not of type 'object'"),
    ("enum", {**TEXT, "enum": ["a", "b"]}, "b", "c", "$.spec: 'c' is not one of ['a', 'b']"),
    ("pattern", {**TEXT, "pattern": "^a+$"}, "aa", "ab", "$.spec: 'ab' does not match '^a+$'"),
    ("required", {**WORKED, "required": ["count"]}, {"count": 1}, {}, "$.spec: 'count' is a required property"),
    ("minimum", {**COUNT, "minimum": 1}, 1, 0, "$.spec: 0 is less than the minimum of 1"),
    ("maximum", {**COUNT, "maximum": 1}, 1, 2, "$.spec: 2 is greater than the maximum of 1"),
    (
        *("exclusive minimum", {**COUNT, "minimum": 1, "exclusiveMinimum": True}, 2, 1),
        "$.spec: 1 is less than or equal to the minimum of 1",
    ),
    ("minLength", {**TEXT, "minLength": 2}, "ab", "a", "$.spec: 'a' is too short"),
    ("maxLength", {**TEXT, "maxLength": 1}, "a", "ab", "$.spec: 'ab' is too long"),
    ("minItems", {"type": "array", "items": TEXT, "minItems": 2}, ["a", "b"], ["a"], "$.spec: ['a'] is too short"),
    ("maxItems", {"type": "array", "items": TEXT, "maxItems": 1}, ["a"], ["a", "b"], "$.spec: ['a', 'b'] is too long"),
    (
        *("minProperties", {"type": "object", "additionalProperties": TEXT, "minProperties": 1}, {"a": "b"}, {}),
        "$.spec: {} should be non-empty",
    ),
    ("int32", {**COUNT, "format": "int32"}, 2**31 - 1, 2**31, "$.spec: 2147483648 is not a 'int32'"),
    ("int64", {**COUNT, "format": "int64"}, -(2**63), 2**63, "$.spec: 9223372036854775808 is not a 'int64'"),
    (
        *("date-time", {**TEXT, "format": "date-time"}, "2026-05-01T10:00:00Z", "2026-05-01"),
        "$.spec: '2026-05-01' is not a 'date-time'",
    ),
    ("ipv4", {**TEXT, "format": "ipv4"}, "10.0.0.1", "10.0.0", "$.spec: '10.0.0' is not a 'ipv4'"),
    ("cidr", {**TEXT, "format": "cidr"}, "fd00::/64", "fd00::", "$.spec: 'fd00::' is not a 'cidr'"),
    (
        "int or string",
        {"x-kubernetes-int-or-string": True},
        "20%",
        1.5,
        "$.spec: 1.5 is not of type 'integer', 'string'",
    ),
    (
        *("set", {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"}, ["a", "b"], ["a", "a"]),
        "$.spec: ['a', 'a'] has non-unique elements",
    ),
    (
        *("list map keys", PORTS, [{"name": "a"}, {"name": "b"}], [{"name": "a", "number": 1}, {"name": "a"}]),
        "$.spec[1]: an entry with the same name comes before",
    ),
    (
        *("anyOf", {**WORKED, "anyOf": [{"required": ["count"]}]}, {"count": 1}, {}),
        "$.spec: {} is not valid under any of the given schemas",
    ),
    ("null", WORKED, {"count": 1}, {"count": None}, "$.spec.count: None is not of type 'integer'"),
    ("a field", WORKED, {"count": 1}, {"count": 1, "cuont": 2}, "$.spec.cuont: unknown field"),
    ("a field of an object without fields", {"type": "object"}, {}, {"a": 1}, "$.spec.a: unknown field"),
    (
        *("a field in a list", {"type": "array", "items": WORKED}, [{"count": 1}], [{"count": 1}, {"cuont": 2}]),
        "$.spec[1].cuont: unknown field",
    ),
    (
        *("a field in a map", {"type": "object", "additionalProperties": WORKED}, {"x": {"count": 1}}, {"x": {"n": 1}}),
        "$.spec.x.n: unknown field",
    ),
]


@pytest.mark.parametrize(
    ("schema", "accepted", "refused", "reason"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_a_value_that_breaks_one_rule_is_refused_with_its_path(
    schema: dict[str, Any], accepted: Any, refused: Any, reason: str
) -> None:
    assert spec(schema, accepted) == []
    assert spec(schema, refused) == [reason]


def test_every_fault_of_an_object_is_told() -> None:
    assert spec(fields(a=TEXT, b=COUNT), {"a": 1, "b": "x", "c": 0}) == [
        "$.spec.a: 1 is not of type 'string'",
        "$.spec.b: 'x' is not of type 'integer'",
        "$.spec.c: unknown field",
    ]


def test_a_nullable_field_takes_null_beside_its_own_values() -> None:
    schema = fields(mode={**TEXT, "enum": ["a"], "nullable": True})
    assert spec(schema, {"mode": None}) == spec(schema, {"mode": "a"}) == []
    assert spec(schema, {"mode": "b"}) != []


def test_undeclared_fields_may_stand_where_the_schema_keeps_them() -> None:
    schema = {**fields(count=COUNT), "x-kubernetes-preserve-unknown-fields": True}
    assert spec(schema, {"anything": {"goes": 1}}) == []
    assert spec(schema, {"count": "x"}) == ["$.spec.count: 'x' is not of type 'integer'"]


def test_an_embedded_object_has_its_kind_and_metadata() -> None:
    schema = {**fields(spec=WORKED), "x-kubernetes-embedded-resource": True}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"count": 1}}
    assert spec(schema, pod) == []


def test_a_required_field_with_a_default_may_be_left_out() -> None:
    assert spec({**fields(mode={**TEXT, "default": "a"}), "required": ["mode"]}, {}) == []


def test_a_format_that_nobody_knows_is_passed_over() -> None:
    assert spec({**TEXT, "format": "<job>-<index>"}, "anything") == []


def test_a_condition_does_not_need_to_declare_the_fields_again() -> None:
    schema = {**fields(a=TEXT, b=TEXT), "oneOf": [{"required": ["a"]}, {"required": ["b"], "properties": {"b": {}}}]}
    assert spec(schema, {"a": "x"}) == []


def test_a_key_beside_spec_is_refused_and_metadata_is_the_servers_own() -> None:
    manifest = {"apiVersion": "a/v1", "kind": "A", "metadata": {"name": "a", "labels": {"b": "c"}}, "spec": "x", "x": 1}
    assert refusals(manifest, custom(TEXT)) == ["$.x: unknown field"]
