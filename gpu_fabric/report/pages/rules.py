"""The reference page of the rules: the checks, their reasons and their sources."""

from __future__ import annotations

from itertools import groupby

from gpu_fabric.findings import Rule, groups, rules

_INTRODUCTION = """# Rules

Made from `gpu_fabric/rules/book` by `make docs`; a test holds it fresh. Everything wrong with a stack is said at once,
before anything is created. An error stops `make up`; a warning or a note does not. Ids stay the same across releases;
`gpu-fabric explain ID` prints one rule.
"""

_COLUMNS = ("rule", "severity", "what is wrong", "why it matters", "source")


def rules_reference() -> str:
    """A table for each file of the rule book, in the order of the ids."""
    parts = [_INTRODUCTION]
    subjects = groups()
    for group, rows in groupby(rules().values(), key=lambda rule: rule.group):
        parts.append(f"## {group}\n\n{subjects[group]}\n")
        parts.append(f"| {' | '.join(_COLUMNS)} |\n|{'---|' * len(_COLUMNS)}")
        parts.append("\n".join(f"| {' | '.join(_cells(rule))} |" for rule in rows) + "\n")
    return "\n".join(parts)


def _cells(rule: Rule) -> tuple[str, ...]:
    texts = (rule.id, rule.severity.value, rule.title, rule.why, rule.source)
    return tuple(text.replace("|", "\\|") for text in texts)
