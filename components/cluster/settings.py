"""Where a user writes the settings of a cluster, for advice on its resources."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from pydantic.alias_generators import to_snake

from gpu_fabric.model import FrozenModel
from gpu_fabric.spec.places import NAMESPACE

_PATH = re.compile(rf"{NAMESPACE}:cluster(?:\.\w+|\[\d*\])*")
_WORD = re.compile(r"\b[a-z]+[A-Z]\w*\b")


class SettingsPlace(NamedTuple):
    """A place of settings: its name, and how a text about a stack file is worded for it."""

    whole: str
    words: Callable[[str], str] = str


def arguments_of(component: str, argument: Callable[[str], str], spec: type[FrozenModel]) -> SettingsPlace:
    """The arguments of a component, by its type and name.

    `argument` is that of a stack file's key by its path, and `spec` the section of stack files with the same keys.
    """
    whole = f"the arguments of {component}"

    def words(text: str) -> str:
        named = in_python(_PATH.sub(lambda found: argument(found[0]), text), spec)
        return named.replace("the stack file", whole).replace("`make refresh`", "`pulumi refresh`")

    return SettingsPlace(whole, words)


def in_python(text: str, spec: type[FrozenModel]) -> str:
    """A text in which the keys of a section of stack files have the names of Python."""
    keys = _keys(spec)
    return _WORD.sub(lambda found: to_snake(found[0]) if found[0] in keys else found[0], text)


@cache
def _keys(spec: type[FrozenModel]) -> frozenset[str]:
    """Every key of a section, at any depth."""
    schema = spec.model_json_schema(by_alias=True)
    parts = (schema, *schema["$defs"].values())
    return frozenset(key for part in parts for key in part.get("properties", ()))
