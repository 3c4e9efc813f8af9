"""How a policy is written: its text in policies.yaml, its settings, and its check."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import yaml
from pulumi_policy import (
    EnforcementLevel,
    PolicyConfigSchema,
    PolicyResource,
    ReportViolation,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    Severity,
    StackValidationArgs,
    StackValidationPolicy,
)

from gpu_fabric.model import FrozenModel

from .reading import WORKLOADS


class NoSettings(FrozenModel):
    """A policy without settings; its level can be set all the same."""


class _Row(FrozenModel):
    """A row of policies.yaml, where the keys are explained."""

    title: str
    why: str
    remedy: str
    source: str
    of: tuple[str, ...] = ()
    severity: Literal["low", "medium", "high", "critical"] = "medium"
    level: Literal["advisory", "mandatory"] = "mandatory"

    def parameters(self, name: str, settings: type[FrozenModel]) -> dict[str, Any]:
        """What the SDK's policies of both kinds take; the engine prints the description with every violation."""
        return {
            "name": name,
            "description": f"{self.title} Why: {self.why} Remedy: {self.remedy} Source: {self.source}.",
            "enforcement_level": EnforcementLevel(self.level),
            "config_schema": schema(settings),
            "severity": Severity(self.severity),
            "remediation_steps": self.remedy,
        }


class Violation(NamedTuple):
    """What is wrong in a stack, and the resource that it is wrong with."""

    message: str
    urn: str


S = TypeVar("S", bound=FrozenModel)
ResourceCheck = Callable[[ResourceValidationArgs, S], Iterable[str]]
StackCheck = Callable[[list[PolicyResource], S], Iterable[Violation]]


def resource_policy(name: str, settings: type[S]) -> Callable[[ResourceCheck[S]], ResourceValidationPolicy]:
    """A policy out of a function that gives the messages about one resource.

    Settings that do not fit their model are an error of the run.
    """
    row = _rows()[name]
    types = [pattern for each in row.of for pattern in (WORKLOADS if each == "workloads" else (each,))]

    def made(check: ResourceCheck[S]) -> ResourceValidationPolicy:
        def validate(args: ResourceValidationArgs, report: ReportViolation) -> None:
            if is_of(args.resource_type, types):
                for message in check(args, settings.model_validate(dict(args.get_config()))):
                    report(f"{args.name}: {message}", None)

        return ResourceValidationPolicy(validate=validate, **row.parameters(name, settings))

    return made


def stack_policy(name: str, settings: type[S]) -> Callable[[StackCheck[S]], StackValidationPolicy]:
    """A policy out of a function that gives the violations in all resources of a stack together."""

    def made(check: StackCheck[S]) -> StackValidationPolicy:
        def validate(args: StackValidationArgs, report: ReportViolation) -> None:
            for message, urn in check(args.resources, settings.model_validate(dict(args.get_config()))):
                report(f"{urn.rpartition('::')[2]}: {message}", urn)

        return StackValidationPolicy(validate=validate, **_rows()[name].parameters(name, settings))

    return made


def is_of(resource_type: str, patterns: Iterable[str]) -> bool:
    """Whether a type token is one of some patterns."""
    return any(fnmatchcase(resource_type, pattern) for pattern in patterns)


def schema(settings: type[FrozenModel]) -> PolicyConfigSchema | None:
    """The settings' JSON Schema as the engine takes it; none for a policy without settings."""
    properties: Mapping[str, Any] = settings.model_json_schema(by_alias=True).get("properties", {})
    return (
        PolicyConfigSchema(properties={key: dict(value) for key, value in properties.items()}) if properties else None
    )


@cache
def _rows() -> dict[str, _Row]:
    table = yaml.safe_load(Path(__file__).with_name("policies.yaml").read_text(encoding="utf-8"))
    return {name: _Row.model_validate(row) for name, row in table.items()}
