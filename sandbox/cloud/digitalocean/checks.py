"""What the provider itself refuses in inputs, before any request: reasons, or None for a good value."""

from __future__ import annotations

import re
from collections.abc import Callable
from ipaddress import ip_network
from typing import Any

_TAG = re.compile(r"[a-zA-Z0-9:_-]{1,255}")

Check = Callable[[Any], str | None]


def not_empty(value: str) -> str | None:
    return None if value else "expected a value that is not empty"


def is_cidr(value: str) -> str | None:
    try:
        ip_network(value, strict=False)
    except ValueError:
        return f"expected {value!r} to be a valid CIDR value"
    return None if "/" in value else f"expected {value!r} to be a valid CIDR value"


def are_tags(values: list[str]) -> str | None:
    wrong = [value for value in values if not (isinstance(value, str) and _TAG.fullmatch(value))]
    if not wrong:
        return None
    return f"tag {wrong[0]!r}: tags may only contain letters, numbers, colons, dashes, and underscores (1 to 255)"


def at_most(length: int) -> Check:
    return lambda value: None if len(value) <= length else f"expected length to be at most {length}, got {len(value)}"


def at_least(least: int) -> Check:
    return lambda value: None if value >= least else f"expected to be at least {least}, got {value}"


def one_of(*allowed: str, ignore_case: bool = False) -> Check:
    def check(value: str) -> str | None:
        known = [each.lower() for each in allowed] if ignore_case else allowed
        if (value.lower() if ignore_case else value) in known:
            return None
        return f"expected one of {', '.join(allowed)}, got {value}"

    return check


def same_text(old: str, new: str) -> bool:
    """Equal but for upper and lower case."""
    return old.lower() == new.lower()
