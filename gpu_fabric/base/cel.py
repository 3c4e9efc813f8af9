"""Values in the expressions that an API server evaluates (CEL)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def literal(value: Any) -> str:
    """A value as CEL writes it; values of mappings may be of different types."""
    if isinstance(value, Mapping):
        texts = all(isinstance(inner, str) for inner in value.values())
        parts = (f"{literal(key)}: {literal(v) if texts else f'dyn({literal(v)})'}" for key, v in value.items())
        return f"{{{', '.join(parts)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(literal, value))}]"
    return json.dumps(value)
