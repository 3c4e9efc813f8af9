"""The output of `gpu-fabric explain` for a rule, as lines of text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pydantic import Field

from gpu_fabric.findings import examples, rules
from gpu_fabric.findings.book import Rule
from gpu_fabric.rules.promises import promise
from gpu_fabric.spec.places import NAMESPACE


def _is_absent(value: object) -> bool:
    return value is None


class ExplainedRule(Rule):
    """A rule for scripts, with its example where it has one."""

    keys: tuple[str, ...] | None = Field(default=None, exclude_if=_is_absent)
    stack: str | None = Field(default=None, exclude_if=_is_absent)
    refused: dict[str, Any] | None = Field(default=None, exclude_if=_is_absent)


def rule_explanation(rule: str) -> list[str]:
    """A rule: the problem, why it matters, what the rule guarantees, an example, and the source.

    Raises:
        KeyError: no rule has that id.
    """
    found = rules()[rule]
    held = promise(rule)
    lines = [f"{found.id} ({found.severity})", found.title, found.why]
    lines.append(f"Found by {', '.join(f'`{name}`' for name in found.commands)}.")
    return [*lines, *([f"Holds: {held}"] if held else []), *_example_lines(rule), f"Source: {found.source}."]


def _example_lines(rule: str) -> Iterator[str]:
    """The keys of a stack file that a rule checks, and an example that it refuses."""
    example = examples().get(rule)
    if example is None:
        return
    if example.keys:
        yield f"Keys of the stack file: {', '.join(f'{NAMESPACE}:{key}' for key in example.keys)}"
    if example.refused:
        values = ", ".join(f"{key}: {json.dumps(value)}" for key, value in example.refused.items())
        yield f"An example of what it finds, on stack {example.stack}: {values}"
