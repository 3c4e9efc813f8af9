"""Values in the expressions that an API server evaluates (CEL)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def literal(value: Any) -> str:
    """A value as CEL writes it; values of mappings, and entries of lists, may be of different types."""
    if isinstance(value, Mapping):
        texts = all(isinstance(inner, str) for inner in value.values())
        parts = (f"{literal(key)}: {literal(v) if texts else f'dyn({literal(v)})'}" for key, v in value.items())
        return f"{{{', '.join(parts)}}}"
    if isinstance(value, list | tuple):
        alike = len({_type_of(inner) for inner in value}) < 2
        return f"[{', '.join(literal(inner) if alike else f'dyn({literal(inner)})' for inner in value)}]"
    return json.dumps(value)


def _type_of(value: Any) -> str:
    """What the entries of a list must have in common, by Kubernetes' apiserver/pkg/cel/environment/base.go."""
    if isinstance(value, Mapping):
        return f"mapping to {'text' if all(isinstance(inner, str) for inner in value.values()) else 'any'}"
    return type(value).__name__


def differing(new: str, old: str, path: str = "", but: str = "false") -> str:
    """The list of the keys whose values differ in two mappings, each behind `path`; `but` is true of a `key` that may.

    The API server gives objects to CEL as mappings, so a whole object can be compared, fields that are not known here
    included (source: Kubernetes, apiserver/pkg/admission/plugin/cel/condition.go, objectToResolveVal). Its check of
    types takes an object for its schema's type; `dyn(object)` is none.
    """
    differs = f"{new}.filter(key, !({but}) && !(key in {old} && {new}[key] == {old}[key]))"
    return f"({differs} + {old}.filter(key, !({but} || key in {new}))).map(key, {literal(path)} + key)"
