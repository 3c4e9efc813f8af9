"""Findings about a stack, the error that holds them, and the rule book that defines their ids."""

from gpu_fabric.findings.book import InputError, examples, finding, groups, rules
from gpu_fabric.findings.finding import (
    ConfigurationError,
    Finding,
    Place,
    Seen,
    Severity,
    Step,
    errors,
    escaped,
    refusal,
)

__all__ = [
    "ConfigurationError",
    "Finding",
    "InputError",
    "Place",
    "Seen",
    "Severity",
    "Step",
    "errors",
    "escaped",
    "examples",
    "finding",
    "groups",
    "refusal",
    "rules",
]
