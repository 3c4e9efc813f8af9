"""Values as CEL writes them: the API server takes no list and no mapping of different types."""

from typing import Any

import pytest

from gpu_fabric.base.cel import literal


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (["a", "b"], '["a", "b"]'),
        (["a", 1], '[dyn("a"), dyn(1)]'),
        ([True, 1], "[dyn(true), dyn(1)]"),
        ({"a": "b"}, '{"a": "b"}'),
        ({"a": 1, "b": ["c"]}, '{"a": dyn(1), "b": dyn(["c"])}'),
        ([{"a": "b"}, {"c": "d"}], '[{"a": "b"}, {"c": "d"}]'),
        ([{"a": 1}, {"b": []}], '[{"a": dyn(1)}, {"b": dyn([])}]'),
        ([{"a": "b"}, {"a": 1}], '[dyn({"a": "b"}), dyn({"a": dyn(1)})]'),
        ({"a": "b", "c": True, "d": {"e": 1}}, '{"a": dyn("b"), "c": dyn(true), "d": dyn({"e": dyn(1)})}'),
        ('a "b"\n\\', r'"a \"b\"\n\\"'),
    ],
)
def test_entries_of_different_types_are_marked(value: Any, text: str) -> None:
    assert literal(value) == text
