"""Validation errors as findings: the path as written in the file, what is wrong, what is allowed, what to write."""

from __future__ import annotations

from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from fabric.model import FrozenModel
from fabric.rules import Finding, finding
from fabric.spec.suggestion import nearest

NAMESPACE = "gpu-fabric"

Location = tuple[int | str, ...]

# pydantic's words for a wrong type do not say what YAML made of the value: quotes decide it.
_TYPES = {
    "string_type": "text, in quotes where it looks like a number",
    "int_type": "a whole number without quotes",
    "bool_type": "true or false without quotes",
    "model_type": "a mapping of keys to values",
    "dict_type": "a mapping of keys to values",
    "tuple_type": "a list",
}


def dotted(location: Location) -> str:
    """`("cluster", "pools", 0, "nodes")` as `gpu-fabric:cluster.pools[0].nodes`."""
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return f"{NAMESPACE}:{text.lstrip('.')}"


def findings_of(error: ValidationError, root: type[FrozenModel]) -> tuple[Finding, ...]:
    """One finding per problem; input values are never repeated, since one may be a secret."""
    problems = error.errors(include_url=False, include_input=False)
    places = [problem["loc"] for problem in problems]
    return tuple(
        _finding(problem["type"], problem["loc"], problem["msg"], root)
        for problem in problems
        # A list whose only entry is faulty also counts as too short: that follows from the entry's own problem.
        if not (problem["type"] == "too_short" and any(within(place, problem["loc"]) for place in places))
    )


def within(place: Location, parent: Location) -> bool:
    """Whether a place lies inside another one."""
    return len(place) > len(parent) and place[: len(parent)] == parent


def _finding(kind: str, location: Location, text: str, root: type[FrozenModel]) -> Finding:
    path = dotted(location)
    if kind == "extra_forbidden":
        known = _keys_at(root, location[:-1])
        remedy = f"{nearest(str(location[-1]), known)}remove it, or use one of: {', '.join(known)}"
        return finding("SPC001", path, "this key is not known", remedy)
    if kind == "missing":
        return finding("SPC003", path, "this key is required", f"add {location[-1]}: {_meaning(root, location)}")
    if kind == "value_error":
        # Our own validators write "what is wrong; what is allowed".
        wrong, _, allowed = text.removeprefix("Value error, ").partition("; ")
        return finding("SPC002", path, wrong, allowed or f"correct it: {_meaning(root, location)}")
    requirement = _TYPES.get(kind) or text.removeprefix("Input should be ")
    if requirement == text:
        return finding("SPC002", path, text[0].lower() + text[1:], f"correct it: {_meaning(root, location)}")
    return finding("SPC002", path, f"must be {requirement}", f"allowed: {requirement} ({_meaning(root, location)})")


def _model_at(root: type[BaseModel], location: Location) -> type[BaseModel] | None:
    model: type[BaseModel] | None = root
    for part in location:
        if isinstance(part, int):
            continue
        if model is None:
            return None
        field = next((f for name, f in model.model_fields.items() if part in (f.alias, name)), None)
        model = None if field is None else _model_in(field.annotation)
    return model


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((model for inner in get_args(annotation) if (model := _model_in(inner)) is not None), None)


def _keys_at(root: type[BaseModel], location: Location) -> list[str]:
    model = _model_at(root, location)
    return [] if model is None else [field.alias or name for name, field in model.model_fields.items()]


def _meaning(root: type[BaseModel], location: Location) -> str:
    """The described purpose of the innermost described field of a path."""
    for end in range(len(location), 0, -1):
        if isinstance(location[end - 1], int):
            continue
        model = _model_at(root, location[: end - 1])
        field = (
            None
            if model is None
            else next((f for name, f in model.model_fields.items() if location[end - 1] in (f.alias, name)), None)
        )
        if field is not None and field.description:
            return field.description
    return "see docs/configuration.md"
