"""The engine's configuration as a stack document, so that a run and the command line say the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pulumi
from pulumi.runtime import config as engine

from fabric.plan import Plan
from fabric.prepare import prepare
from fabric.rules import ConfigurationError, Severity
from fabric.spec import StackDocument, stack_file
from fabric.spec.load import too_deep
from fabric.spec.parts import CLUSTER_SECTION
from fabric.spec.places import NAMESPACE


def program_plan(root: Path) -> Plan:
    """The plan of the running program's stack.

    Raises:
        pulumi.RunError: the configuration cannot be used; printed without a traceback, before any resource.
    """
    try:
        plan = prepare(_document(root), for_up=True)
    except ConfigurationError as error:
        raise pulumi.RunError(str(error)) from None
    for entry in plan.findings:
        if entry.severity is Severity.WARNING:
            pulumi.log.warn(f"{entry.id} {entry.path}: {entry.message} -> {entry.remedy}")
    return plan


def stack_file_name(root: Path) -> str:
    """The file of the running program's stack, from the project's folder on."""
    name = pulumi.get_stack()
    try:
        return str(stack_file(name, root).relative_to(root))
    except ConfigurationError:
        # A stack may be configured by `pulumi config set` alone, in a file elsewhere.
        return f"Pulumi.{name}.yaml"


def _document(root: Path) -> StackDocument:
    file, prefix = stack_file_name(root), f"{NAMESPACE}:"
    secret = set(engine.get_config_secret_keys_env())
    sections = {
        key.removeprefix(prefix): None if key in secret else _value(text, file)
        for key, text in {**engine.get_config_env(), **engine.CONFIG.get()}.items()
        if key.startswith(prefix)
    }
    if not sections.get(CLUSTER_SECTION):
        # The project's own default, for platform stacks: what no stack file says is missing, and not just empty.
        sections.pop(CLUSTER_SECTION, None)
    return StackDocument(name=pulumi.get_stack(), file=file, root=root, sections=sections)


def _value(text: str, file: str) -> Any:
    # The engine hands objects over as JSON and scalars as plain text.
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
    except RecursionError:
        raise ConfigurationError([too_deep()], file) from None
