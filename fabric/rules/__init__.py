"""Checks with stable ids, and the findings they give."""

from fabric.rules.finding import ConfigurationError, Finding, Severity, errors
from fabric.rules.registry import Problem, Rule, check, checked, finding, findings, groups, promise, rules

__all__ = [
    "ConfigurationError",
    "Finding",
    "Problem",
    "Rule",
    "Severity",
    "check",
    "checked",
    "errors",
    "finding",
    "findings",
    "groups",
    "promise",
    "rules",
]
