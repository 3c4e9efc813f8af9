"""Pulumi's configuration as a stack document, so that a run and the command line report the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pulumi
from pulumi.runtime import config as engine

from gpu_fabric.findings import ConfigurationError, Finding, Severity, finding
from gpu_fabric.prepare import PlannedStack, prepare
from gpu_fabric.spec.load import SECTIONS, read_document, stack_file, too_deep
from gpu_fabric.spec.parts import CLUSTER_SECTION
from gpu_fabric.spec.places import NAMESPACE
from gpu_fabric.spec.plain_secrets import plain_settings
from gpu_fabric.spec.stack_text import StackDocument


def program_stack(root: Path) -> PlannedStack:
    """The spec and plan of the running program's stack; warnings are logged.

    Raises:
        pulumi.RunError: the configuration cannot be used; raised before any resource is registered.
    """
    try:
        found = prepare(_document(root), for_up=True)
    except ConfigurationError as error:
        raise pulumi.RunError(str(error)) from None
    for entry in found.plan.findings:
        if entry.severity is Severity.WARNING:
            pulumi.log.warn(entry.one_line)
    return found


def stack_file_name(root: Path) -> str:
    """The path of the running stack's file, relative to the project's folder."""
    name = pulumi.get_stack()
    try:
        return str(stack_file(name, root).relative_to(root))
    except ConfigurationError:
        # A stack may be configured by `pulumi config set` alone, in a file elsewhere.
        return f"Pulumi.{name}.yaml"


def _document(root: Path) -> StackDocument:
    file, prefix = stack_file_name(root), f"{NAMESPACE}:"
    secret = set(engine.get_config_secret_keys_env())
    config = {
        key: _hidden(key.removeprefix(prefix)) if key in secret else _value(text, file)
        for key, text in {**engine.get_config_env(), **engine.CONFIG.get()}.items()
    }
    if misnamed := _named_by_the_project(config):
        raise ConfigurationError(misnamed, file)
    sections = {key.removeprefix(prefix): value for key, value in config.items() if key.startswith(prefix)}
    if not any(sections.values()):
        _require_file(root)
    if not sections.get(CLUSTER_SECTION):
        # The empty default of Pulumi.yaml, for platform stacks: without a value in the stack file, the key is missing.
        sections.pop(CLUSTER_SECTION, None)
    document = StackDocument(
        name=pulumi.get_stack(), file=file, root=root, sections=sections, plain_settings=plain_settings(config)
    )
    written = _written(root, {key.removeprefix(prefix) for key in secret})
    return written if written is not None and _same(written, document) else document


def _require_file(root: Path) -> None:
    """Of a run without any configuration, that its stack has a file where Pulumi reads one.

    Raises:
        ConfigurationError: there is none, it is an example, or it has no configuration.
    """
    file = read_document(pulumi.get_stack(), root).file
    if Path(file).parent != Path():
        name = Path(file).name
        remedy = f"the copy is yours to change: cp {file} {name}"
        raise ConfigurationError([finding("SPC004", "", f"Pulumi reads no example: there is no {name}", remedy)], file)


def _named_by_the_project(config: Mapping[str, Any]) -> tuple[Finding, ...]:
    """Sections under the name of a project that was renamed, where `pulumi config set` writes keys without a namespace.

    A stack file is the same in every project: the command line reads it without one.
    """
    project = pulumi.get_project()
    if project == NAMESPACE:
        return ()
    return tuple(
        finding(
            "SPC001",
            f"{project}:{section}",
            f"the keys of this program begin with {NAMESPACE}:, whatever the project is called",
            f"write {NAMESPACE}:{section} instead, which `pulumi config set --path {NAMESPACE}:{section}.KEY` does",
        )
        for section in SECTIONS
        if config.get(f"{project}:{section}")
    )


def _written(root: Path, secret: set[str]) -> StackDocument | None:
    """The stack's file, for the lines of its problems; None if it does not exist, or cannot be read."""
    try:
        found = read_document(pulumi.get_stack(), root)
    except ConfigurationError:
        return None
    sections = {key: _hidden(key) if key in secret else value for key, value in found.sections.items()}
    return found.model_copy(update={"sections": sections})


def _hidden(key: str) -> str | None:
    """The value in place of a secret one: a section that is a secret is refused, as each that is text."""
    return "" if key in SECTIONS else None


def _same(written: StackDocument, running: StackDocument) -> bool:
    """Whether the run's configuration is the file's: Pulumi may use another file."""
    return json.dumps(written.sections, default=str, sort_keys=True) == json.dumps(running.sections, sort_keys=True)


def _value(text: str, file: str) -> Any:
    # Pulumi passes objects as JSON, and scalars as plain text.
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
    except RecursionError:
        raise ConfigurationError([too_deep()], file) from None
