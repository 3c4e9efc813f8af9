"""A digit of another script is refused wherever a text has a form: Python and pydantic take it for a digit."""

from collections.abc import Iterator
from typing import Any

import pytest
from changes import changed
from committed_stacks import folder_of, stack_names
from each_case import each

from gpu_fabric.findings import ConfigurationError
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.load import read_document
from gpu_fabric.spec.places import Location, dotted

# Paths of files on the user's machine, and texts that charts and programs read.
_FREE = ("kubeconfig", "values", "settings", "command", "matrix")


def _texts(value: Any, place: Location = ()) -> Iterator[tuple[Location, str]]:
    for key, entry in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(entry, dict | list):
            yield from _texts(entry, (*place, key))
        elif isinstance(entry, str) and any("0" <= character <= "9" for character in entry):
            yield (*place, key), entry


def _one_of_each_key() -> dict[str, tuple[str, Location, str]]:
    found: dict[str, tuple[str, Location, str]] = {}
    for stack in stack_names():
        for place, text in _texts(read_document(stack, folder_of(stack)).sections):
            if not any(free == part for part in place for free in _FREE):
                found.setdefault(
                    dotted(tuple("*" if isinstance(part, int) else part for part in place)), (stack, place, text)
                )
    return found


_KEYS = _one_of_each_key()


@each("key", _KEYS)
def test_a_text_with_a_digit_of_another_script_is_refused(key: str) -> None:
    stack, place, text = _KEYS[key]
    first = next(position for position, character in enumerate(text) if "0" <= character <= "9")
    other = text[:first] + chr(0x0660 + int(text[first])) + text[first + 1 :]
    document = read_document(stack, folder_of(stack))
    # Labels are judged together; names of nodes by a rule.
    asked = dotted(place[:-1] if "labels" in place else place)
    with pytest.raises(ConfigurationError) as refused:
        prepare(changed(document, {dotted(place).partition(":")[2]: other}), for_up=False)
    assert any(asked in entry.path for entry in refused.value.findings), f"{other} is accepted"
