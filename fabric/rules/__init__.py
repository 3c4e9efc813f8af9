"""Checks with stable ids, and the findings they give."""

from fabric.rules.book import Rule, finding, rules
from fabric.rules.finding import ConfigurationError, Finding, Severity, errors

__all__ = ["ConfigurationError", "Finding", "Rule", "Severity", "errors", "finding", "rules"]
