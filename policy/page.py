"""The table of docs/policy.md: `python -m policy.page` prints it."""

from __future__ import annotations

import json
from collections.abc import Iterator

from pulumi_policy import Policy, StackValidationPolicy

from .assembled import policies


def table() -> str:
    """A row for each policy: name, level, rule and reason, and its settings with their defaults."""
    return "\n".join(["| policy | looks at | level | rule and reason | settings |", "|---|---|---|---|---|", *_rows()])


def _rows() -> Iterator[str]:
    for policy in policies():
        looks_at = "stack" if isinstance(policy, StackValidationPolicy) else "resource"
        level = policy.enforcement_level.value if policy.enforcement_level else ""
        rule, _, rest = policy.description.partition(" Why: ")
        reason = rest.partition(" Remedy: ")[0]
        yield f"| `{policy.name}` | {looks_at} | {level} | {rule} {reason} | {_settings(policy)} |"


def _settings(policy: Policy) -> str:
    """Names with what each is; defaults that are short enough to read."""
    entries = policy.config_schema.properties if policy.config_schema else {}
    return "<br>".join(f"`{key}`: {entry['description']}{_default(entry['default'])}" for key, entry in entries.items())


def _default(value: object) -> str:
    text = json.dumps(value)
    return f" (`{text}`)" if value not in ([], ()) and len(text) <= 80 else ""


if __name__ == "__main__":
    print(table())
