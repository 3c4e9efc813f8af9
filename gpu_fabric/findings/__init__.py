"""Findings about a stack, the error that holds them, and the rule book that defines their ids."""

from gpu_fabric.findings.book import Example, Rule, Stage, examples, finding, groups, rules
from gpu_fabric.findings.finding import ConfigurationError, Finding, InputError, LocatedFinding, Place, Severity, errors

__all__ = [
    "ConfigurationError",
    "Example",
    "Finding",
    "InputError",
    "LocatedFinding",
    "Place",
    "Rule",
    "Severity",
    "Stage",
    "errors",
    "examples",
    "finding",
    "groups",
    "rules",
]
