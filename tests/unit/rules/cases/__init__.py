"""A good, a bad and an irrelevant case for every rule that looks at a stack: one module for each group of rules."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rules.tables import RuleCase


@cache
def tables() -> dict[str, tuple[RuleCase, ...]]:
    """The cases of each group."""
    return {module.name: import_module(f"{__name__}.{module.name}").CASES for module in iter_modules(__path__)}


def every_case() -> list[RuleCase]:
    """The cases of all groups."""
    return [case for table in tables().values() for case in table]
