"""Many cases as one test: all of them run, and each that fails is named."""

from __future__ import annotations

from inspect import signature

import pytest
from each_case import each


def test_every_case_runs_and_each_that_fails_is_named() -> None:
    ran = []

    @each("number", [1, 2, 3, 4], ids=str)
    def is_odd(number: int) -> None:
        ran.append(number)
        assert number % 2, "even"

    with pytest.raises(BaseExceptionGroup, match="2 cases: 2, 4") as failed:
        is_odd()

    assert ran == [1, 2, 3, 4]
    assert [(str(error).splitlines()[0], error.__notes__) for error in failed.value.exceptions] == [
        ("even", ["case: 2"]),
        ("even", ["case: 4"]),
    ]


def test_what_raises_anything_or_not_what_it_must_is_a_case_that_fails() -> None:
    @each("text", ["1", "one"])
    def is_no_number(text: str) -> None:
        with pytest.raises(ValueError, match="invalid literal"):
            int(text)

    with pytest.raises(BaseExceptionGroup, match="1 cases: '1'"):
        is_no_number()


def test_two_lists_of_cases_are_combined_and_fixtures_stay_the_tests() -> None:
    ran = []

    @each("first", "ab")
    @each(("second", "third"), [(1, 2), (3, 4)])
    def test(first: str, second: int, third: int, fixture: str) -> None:
        ran.append((first, second, third, fixture))

    test(fixture="here")

    assert [*signature(test).parameters] == ["fixture"]
    assert ran == [("a", 1, 2, "here"), ("a", 3, 4, "here"), ("b", 1, 2, "here"), ("b", 3, 4, "here")]
