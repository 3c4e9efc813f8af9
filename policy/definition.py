"""How a policy is written: its description, the resource types it checks, its settings, and its check."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple, TypeVar

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

ADVISORY, MANDATORY = EnforcementLevel.ADVISORY, EnforcementLevel.MANDATORY
LOW, MEDIUM, HIGH, CRITICAL = Severity.LOW, Severity.MEDIUM, Severity.HIGH, Severity.CRITICAL


class NoSettings(FrozenModel):
    """A policy without settings; its level can be set all the same."""


class Words(NamedTuple):
    """A policy's text: the rule, the reason, the remedy, and the source of the reason."""

    title: str
    why: str
    remedy: str
    source: str

    @property
    def description(self) -> str:
        """All four, as the engine prints them with every violation."""
        return f"{self.title} Why: {self.why} Remedy: {self.remedy} Source: {self.source}."


class Violation(NamedTuple):
    """What is wrong in a stack, and the resource that it is wrong with."""

    message: str
    urn: str


S = TypeVar("S", bound=FrozenModel)
ResourceCheck = Callable[[ResourceValidationArgs, S], Iterable[str]]
StackCheck = Callable[[list[PolicyResource], S], Iterable[Violation]]


def resource_policy(
    name: str,
    words: Words,
    *,
    of: tuple[str, ...],
    settings: type[S],
    level: EnforcementLevel = MANDATORY,
    severity: Severity = MEDIUM,
) -> Callable[[ResourceCheck[S]], ResourceValidationPolicy]:
    """A policy out of a function that gives the messages about one resource.

    `of` are patterns of type tokens. Settings that do not fit their model are an error of the run.
    """

    def made(check: ResourceCheck[S]) -> ResourceValidationPolicy:
        def validate(args: ResourceValidationArgs, report: ReportViolation) -> None:
            if is_of(args.resource_type, of):
                for message in check(args, settings.model_validate(dict(args.get_config()))):
                    report(f"{args.name}: {message}", None)

        return ResourceValidationPolicy(
            name=name,
            description=words.description,
            validate=validate,
            enforcement_level=level,
            config_schema=schema(settings),
            severity=severity,
            remediation_steps=words.remedy,
        )

    return made


def stack_policy(
    name: str,
    words: Words,
    *,
    settings: type[S],
    level: EnforcementLevel = MANDATORY,
    severity: Severity = MEDIUM,
) -> Callable[[StackCheck[S]], StackValidationPolicy]:
    """A policy out of a function that gives the violations in all resources of a stack together."""

    def made(check: StackCheck[S]) -> StackValidationPolicy:
        def validate(args: StackValidationArgs, report: ReportViolation) -> None:
            for message, urn in check(args.resources, settings.model_validate(dict(args.get_config()))):
                report(f"{urn.rpartition('::')[2]}: {message}", urn)

        return StackValidationPolicy(
            name=name,
            description=words.description,
            validate=validate,
            enforcement_level=level,
            config_schema=schema(settings),
            severity=severity,
            remediation_steps=words.remedy,
        )

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
