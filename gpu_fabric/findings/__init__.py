"""Findings about a stack, the error that holds them, and the rule book that defines their ids."""

from gpu_fabric.findings.book import InputError, Phase, examples, finding, former_ids, rules
from gpu_fabric.findings.finding import ConfigurationError, Finding, Place, Seen, Severity, Step, errors

__all__ = [
    "ConfigurationError",
    "Finding",
    "InputError",
    "Phase",
    "Place",
    "Seen",
    "Severity",
    "Step",
    "errors",
    "examples",
    "finding",
    "former_ids",
    "rules",
]
