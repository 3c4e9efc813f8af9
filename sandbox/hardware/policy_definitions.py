"""Definitions that the Network Operator writes with a section of its policy, and deletes with it: pure functions.

The policy owns them, so that Kubernetes deletes them, and every pool with them, when the policy is deleted.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import yaml

from gpu_fabric.catalog import catalog
from ..crds import section_folder
from .operands import (
    NETWORK_OPERATOR,
    PLAYED_LABEL,
    POLICY_LABEL,
    STATE_LABEL,
    Installed,
    operands,
    owner_reference,
    section_of,
    with_revision,
)

Object = dict[str, Any]


def definitions_of(policy: Mapping[str, Any], operator: Installed) -> list[Object]:
    """Every definition that comes with the sections of a policy."""
    states = {item.key: item.state for item in operands() if section_of(policy, item) is not None}
    return [
        _owned(document, policy, state) for section, state in states.items() for document in _of(operator.line, section)
    ]


@cache
def _of(line: str | None, section: str) -> tuple[Object, ...]:
    """The definitions of a section, in the form of a release line; those of the newest for one that is not known."""
    folder = section_folder(f"{line or next(iter(catalog().releases))}/{NETWORK_OPERATOR}", section)
    return tuple(yaml.safe_load(path.read_text()) for path in sorted(folder.glob("*.yaml")))


def _owned(document: Mapping[str, Any], policy: Mapping[str, Any], state: str) -> Object:
    labels = {PLAYED_LABEL: NETWORK_OPERATOR, STATE_LABEL: state, POLICY_LABEL: policy["metadata"]["uid"]}
    metadata = {**document["metadata"], "labels": labels, "ownerReferences": [owner_reference(policy)]}
    return with_revision({**document, "metadata": metadata})
