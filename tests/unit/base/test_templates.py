"""Manifests as tables with places for values."""

import pytest

from gpu_fabric.base.templates import filled

VALUES = {"name": "a", "count": 2, "more": [{"x": 1}, {"x": 2}], "none": None}


def test_a_text_that_is_one_place_becomes_the_value_of_its_type() -> None:
    assert filled({"n": "{count}", "text": "{name}-{count}"}, VALUES) == {"n": 2, "text": "a-2"}


def test_a_list_takes_up_the_entries_of_a_list() -> None:
    assert filled([{"x": 0}, "{more}", ["{count}"]], VALUES) == [{"x": 0}, {"x": 1}, {"x": 2}, [2]]


def test_a_key_without_a_value_is_left_out() -> None:
    assert filled({"kept": {}, "secrets": "{none}"}, VALUES) == {"kept": {}}


def test_a_place_without_a_value_is_an_error() -> None:
    with pytest.raises(KeyError, match="other"):
        filled({"a": ["{other}"]}, VALUES)


def test_the_table_itself_is_not_changed() -> None:
    table = {"a": ["{more}"]}

    filled(table, VALUES)["a"].append(3)

    assert table == {"a": ["{more}"]}
