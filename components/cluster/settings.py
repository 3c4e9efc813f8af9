"""Where a user writes the settings of a cluster, for advice on its resources."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class SettingsPlace(NamedTuple):
    """A place of settings: its name, and how a text about a stack file is worded for it."""

    whole: str
    words: Callable[[str], str] = str


def arguments_of(component: str, with_arguments: Callable[[str], str]) -> SettingsPlace:
    """The arguments of a component, by its type and name; a function puts them in the place of a stack file's keys."""
    whole = f"the arguments of {component}"

    def words(text: str) -> str:
        return with_arguments(text).replace("the stack file", whole).replace("`make refresh`", "`pulumi refresh`")

    return SettingsPlace(whole, words)
