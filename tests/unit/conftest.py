"""The development stack, with single values changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

import pytest

from fabric.plan import Plan, build
from fabric.rules import ConfigurationError
from fabric.spec import StackDocument, StackSpec, validate

Changes = Mapping[str, Any]
"""Places as findings write them, such as `cluster.pools[0].nodes`, with new values; `None` takes the place out."""


def changed(document: StackDocument, changes: Changes) -> StackDocument:
    sections = deepcopy(document.sections)
    for place, value in changes.items():
        *parents, last = [int(part) if part.isdigit() else part for part in re.findall(r"[^.\[\]]+", place)]
        holder: Any = sections
        for part in parents:
            holder = holder.setdefault(part, {}) if isinstance(holder, dict) else holder[part]
        if value is None:
            del holder[last]
        else:
            holder[last] = deepcopy(value)
    return document.model_copy(update={"sections": sections})


@pytest.fixture(scope="session")
def document_with(dev_document: StackDocument) -> Callable[[Changes], StackDocument]:
    """The development stack's document with some values changed."""
    return lambda changes: changed(dev_document, changes)


@pytest.fixture(scope="session")
def spec_with(document_with: Callable[[Changes], StackDocument]) -> Callable[[Changes], StackSpec]:
    """The development stack's spec with some values changed; the result must be valid."""

    def make(changes: Changes) -> StackSpec:
        document = document_with(changes)
        spec, problems = validate(document)
        if spec is None or problems:
            raise ConfigurationError(problems, document.file)
        return spec

    return make


@pytest.fixture(scope="session")
def plan_with(spec_with: Callable[[Changes], StackSpec]) -> Callable[[Changes], Plan]:
    """The development stack's plan with some values changed."""
    return lambda changes: build(spec_with(changes))


@pytest.fixture(scope="session")
def dev_plan(plan_with: Callable[[Changes], Plan]) -> Plan:
    """The development stack's plan."""
    return plan_with({})


@pytest.fixture(scope="session")
def flat_plan(plan_with: Callable[[Changes], Plan]) -> Plan:
    """The development stack with one pool, resource and network for all rails."""
    return plan_with({"fabric.addressing.layout": "flat"})
