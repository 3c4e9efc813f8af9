"""Validation errors as findings: the path as written in the file, what is wrong, what is allowed, what to write."""

from __future__ import annotations

from collections.abc import Callable
from types import UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from fabric.rules import Finding, finding
from fabric.spec.places import Location, dotted, within
from fabric.spec.stack import PROVIDERS, StackSpec
from fabric.spec.suggestion import nearest

# pydantic's words for a wrong type do not say what YAML made of the value: quotes decide it.
_TYPES = {
    "string_type": "text, in quotes where it looks like a number",
    "int_type": "a whole number without quotes",
    "bool_type": "true or false without quotes",
    "model_type": "a mapping of keys to values",
    "dict_type": "a mapping of keys to values",
    "tuple_type": "a list",
}


class Problem(NamedTuple):
    """One validation error: pydantic's kind and words, at the place as written in the file."""

    kind: str
    location: Location
    text: str


def problems_of(error: ValidationError) -> tuple[Problem, ...]:
    """The errors at the places as written: pydantic puts the name of the chosen provider's form between the keys."""
    return tuple(
        _as_written(Problem(entry["type"], entry["loc"], entry["msg"]))
        for entry in error.errors(include_url=False, include_input=False)
    )


def _as_written(problem: Problem) -> Problem:
    kind, location, text = problem
    if kind.startswith("union_tag_"):
        return Problem(kind, (*location, "provider"), text)
    if len(location) > 1 and location[0] == "cluster" and location[1] in PROVIDERS:
        location = (location[0], *location[2:])
    if location[-1:] == ("[key]",):
        # pydantic's mark for a key of a mapping that is not among those allowed.
        return Problem("extra_forbidden", location[:-1], text)
    return Problem(kind, location, text)


def findings_of(error: ValidationError, provider: str) -> tuple[Finding, ...]:
    """One finding per problem; input values are never repeated, since one may be a secret.

    `provider` is the one whose form of `cluster` the document was held against.
    """
    problems = problems_of(error)
    return tuple(
        _finding(problem, provider)
        for problem in problems
        # A list whose only entry is faulty also counts as too short: that follows from the entry's own problem.
        if not (problem.kind == "too_short" and any(within(other.location, problem.location) for other in problems))
    )


def _finding(problem: Problem, provider: str) -> Finding:
    kind, location, text = problem
    if not location:
        # Only of the whole: JSON that cannot be read, where a value of it lies too deep or is too long a number.
        return finding("SPC004", "", f"cannot be read: {text}", "correct the file")
    path = dotted(location)
    if kind == "extra_forbidden":
        known = _keys_at(location[:-1], provider)
        remedy = f"{nearest(str(location[-1]), known)}remove it, or use one of: {', '.join(known)}"
        return finding("SPC001", path, "this key is not known", remedy)
    if kind in ("missing", "union_tag_not_found"):
        return finding("SPC003", path, "this key is required", f"add {location[-1]}: {_meaning(location, provider)}")
    if kind == "union_tag_invalid":
        return finding("SPC002", path, "no such provider", f"allowed: {', '.join(PROVIDERS)}")
    if kind == "value_error":
        # Our own validators write "what is wrong; what is allowed".
        wrong, _, allowed = text.removeprefix("Value error, ").partition("; ")
        return finding("SPC002", path, wrong, allowed or f"correct it: {_meaning(location, provider)}")
    requirement = _TYPES.get(kind) or text.removeprefix("Input should be ")
    meaning = _meaning(location, provider)
    if requirement == text:
        return finding("SPC002", path, text[0].lower() + text[1:], f"correct it: {meaning}")
    return finding("SPC002", path, f"must be {requirement}", f"allowed: {requirement} ({meaning})")


def _annotation_at(location: Location, provider: str) -> Any:
    """The annotation of what lies at a place of a stack file; None where the file has no such place."""
    here: Any = StackSpec
    for part in location:
        if here is StackSpec and part == "cluster":
            here = PROVIDERS[provider]
            continue
        model = _first(here, _is_model)
        if isinstance(part, int):
            here = next(iter(get_args(_first(here, lambda kind: get_origin(kind) is tuple))), None)
        elif model is not None:
            field = _field(model, part)
            here = None if field is None else field.annotation
        else:
            mapping = _first(here, lambda kind: get_origin(kind) is dict)
            here = None if mapping is None else get_args(mapping)[1]
        if here is None:
            return None
    return here


def _field(model: type[BaseModel], key: int | str) -> FieldInfo | None:
    return next((field for name, field in model.model_fields.items() if key in (field.alias, name)), None)


def _first(annotation: Any, wanted: Callable[[Any], bool]) -> Any:
    """The annotation itself, or the first alternative in it, that is wanted; containers are not looked into."""
    if wanted(annotation):
        return annotation
    if get_origin(annotation) not in (Union, UnionType, Annotated):
        return None
    return next((found for inner in get_args(annotation) if (found := _first(inner, wanted)) is not None), None)


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _keys_at(location: Location, provider: str) -> list[str]:
    here = _annotation_at(location, provider)
    model = _first(here, _is_model)
    if model is not None:
        return [field.alias or name for name, field in model.model_fields.items()]
    mapping = _first(here, lambda kind: get_origin(kind) is dict)
    return [] if mapping is None else list(get_args(get_args(mapping)[0]))


def _meaning(location: Location, provider: str) -> str:
    """The described purpose of the innermost described field of a path."""
    for end in range(len(location), 0, -1):
        key = location[end - 1]
        model = None if isinstance(key, int) else _first(_annotation_at(location[: end - 1], provider), _is_model)
        field = None if model is None else _field(model, key)
        if field is not None and field.description:
            return field.description
    return "see docs/configuration.md"
