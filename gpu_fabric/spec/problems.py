"""Validation errors as findings: the path in the file, the problem, the allowed values and the remedy."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from types import UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from gpu_fabric.findings import Finding, finding
from gpu_fabric.spec.places import Location, dotted, innermost
from gpu_fabric.spec.stack import PROVIDERS, StackSpec
from gpu_fabric.spec.suggestion import nearest

# pydantic's messages about a wrong type do not mention quotes, which decide the type in YAML.
_TYPES = {
    "string_type": "text, in quotes where it looks like a number",
    "int_type": "a whole number without quotes",
    "bool_type": "true or false without quotes",
    "model_type": "a mapping of keys to values",
    "dict_type": "a mapping of keys to values",
    "tuple_type": "a list",
}

# "Tuple should have at least 1 item after validation, not 0", in pydantic's words.
_NUMBER = re.compile(r"at (?P<end>least|most) (?P<entries>[0-9]+ items?)")

# What charts call it.
_OF_INSTALLED = {
    **dict.fromkeys(("enabled", "enable"), "this key is not known; write install: true, or install: false"),
    **dict.fromkeys(
        ("version", "chartVersion"),
        "this key is not known, since the release line has the versions of all software; write "
        "gpu-fabric:software.releaseLine (docs/releases.md)",
    ),
}
_LONGEST = 24
"""Characters of a value that is repeated in a message: tokens and keys are longer."""

# What pydantic inserts into a location of a value with several forms: the form that the value was compared with.
_FORM = re.compile(r"(literal|tuple|function-\w+)\[.*\]")


class Problem(NamedTuple):
    """One validation error: pydantic's kind and text, at the location in the file.

    `written` is the value where there is a list of the allowed ones, and it is too short for a secret.
    """

    kind: str
    location: Location
    text: str
    written: str = ""


def problems_of(error: ValidationError) -> tuple[Problem, ...]:
    """The errors at their locations in the file: pydantic inserts the provider's name and forms between the keys."""
    return tuple(
        _as_written(Problem(entry["type"], entry["loc"], entry["msg"], _written(entry)))
        for entry in error.errors(include_url=False)
    )


def _written(entry: ErrorDetails) -> str:
    value = {"literal_error": entry["input"], "union_tag_invalid": entry.get("ctx", {}).get("tag")}.get(entry["type"])
    return value if isinstance(value, str) and len(value) <= _LONGEST and value.isprintable() else ""


def _as_written(problem: Problem) -> Problem:
    kind, location, text, written = problem
    location = tuple(part for part in location if not _FORM.fullmatch(str(part)))
    if kind.startswith("union_tag_"):
        return Problem(kind, (*location, "provider"), text, written)
    if len(location) > 1 and location[0] == "cluster" and location[1] in PROVIDERS:
        location = (location[0], *location[2:])
    if location[-1:] == ("[key]",):
        # pydantic's mark for a key of a mapping that is not allowed, or does not have the allowed form.
        return Problem("extra_forbidden" if kind == "literal_error" else kind, location[:-1], text)
    return Problem(kind, location, text, written)


def findings_of(error: ValidationError, provider: str) -> tuple[Finding, ...]:
    """One finding per problem; messages repeat no values, which may be secrets, but short ones of enumerations.

    `provider` is the provider whose form of `cluster` the document was validated against.
    """
    problems = problems_of(error)
    deepest = set(innermost(problem.location for problem in problems))
    return tuple(
        _finding(problem, provider)
        for problem in problems
        # pydantic also reports a list whose only entry is invalid as too short, which follows from that entry.
        if problem.kind != "too_short" or problem.location in deepest
    )


def keys_without_value(sections: Mapping[str, Any], provider: str) -> Iterator[Finding]:
    """A finding for each key of a stack file that has nothing behind it, or null.

    Such a key could mean the defaults or the absence of what it asks for, so it is refused wherever it is. Values of
    charts are not searched: Helm removes a chart's default by null.
    """
    waiting: list[tuple[Location, Any]] = [((key,), value) for key, value in reversed([*sections.items()])]
    while waiting:
        location, value = waiting.pop()
        if value is None:
            annotation = _annotation_at(location, provider)
            # None: the key is not known, which is reported as such.
            if annotation is not None and not _is_free(location, provider):
                remedy = f"write {_any_value(annotation, location, provider)}, or take the {_holder(location)} out"
                yield finding("SPC002", dotted(location), f"this {_holder(location)} has no value", remedy)
        elif isinstance(value, Mapping):
            waiting.extend(((*location, str(key)), inner) for key, inner in reversed([*value.items()]))
        elif isinstance(value, list):
            waiting.extend(((*location, index), inner) for index, inner in reversed(list(enumerate(value))))


def _is_free(location: Location, provider: str) -> bool:
    """Whether a location is inside a value of any form."""
    return any(_annotation_at(location[:end], provider) is JsonValue for end in range(1, len(location) + 1))


def _any_value(annotation: Any, location: Location, provider: str) -> str:
    model = _first(annotation, _is_model)
    fields = () if model is None else model.model_fields.values()
    if model is not None and not any(field.is_required() for field in fields):
        return "{} for the defaults"
    return f"a value ({_meaning(location, provider)})"


def _holder(location: Location) -> str:
    return "entry" if isinstance(location[-1], int) else "key"


def _finding(problem: Problem, provider: str) -> Finding:
    kind, location, text, written = problem
    if not location:
        # Only errors of the whole document have no location: unreadable JSON, nested too deeply or with long numbers.
        return finding("SPC004", "", f"cannot be read: {text}", "write it flatter, and long numbers in quotes")
    path = dotted(location)
    if kind == "extra_forbidden":
        known = keys_at(location[:-1], provider)
        holder = _first(_annotation_at(location[:-1], provider), _is_model)
        if (instead := _absent_keys(holder).get(str(location[-1]))) is not None:
            wrong, _, allowed = instead.partition("; ")
            return finding("SPC001", path, wrong, allowed)
        remedy = f"{nearest(str(location[-1]), known)}remove it, or use one of: {', '.join(known)}"
        return finding("SPC001", path, "this key is not known", remedy)
    if kind == "union_tag_not_found":
        return finding("SPC003", path, "this key is required", f"add provider: {' or '.join(PROVIDERS)}")
    if kind == "missing":
        return finding("SPC003", path, "this key is required", f"add {location[-1]}: {_meaning(location, provider)}")
    if kind == "union_tag_invalid":
        said = f"no provider {written!r}" if written else "no such provider"
        return finding("SPC002", path, said, f"{nearest(written, PROVIDERS)}allowed: {', '.join(PROVIDERS)}")
    if kind == "value_error":
        # Validators of this program write "problem; allowed values".
        wrong, _, allowed = text.removeprefix("Value error, ").partition("; ")
        return finding("SPC002", path, wrong, allowed or f"correct it: {_meaning(location, provider)}")
    if kind == "model_type" and "install" in _fields(_first(_annotation_at(location, provider), _is_model)):
        remedy = "write {install: false} to leave it out, and keys of its own otherwise (docs/configuration.md)"
        return finding("SPC002", path, f"must be {_TYPES[kind]}", remedy)
    requirement = _TYPES.get(kind) or text.removeprefix("Input should be ")
    if (number := _NUMBER.search(text)) is not None and kind in ("too_short", "too_long"):
        whole = "mapping" if text.startswith("Dict") else "list"
        requirement = f"a {whole} of at {number['end']} {number['entries']}"
    meaning = _meaning(location, provider)
    if kind == "literal_error" and written:
        choices = re.findall("'([^']*)'", requirement)
        said, suggestion = f"must be {requirement}, and not {written!r}", nearest(written, choices)
        return finding("SPC002", path, said, f"{suggestion}allowed: {requirement} ({meaning})")
    if kind == "string_pattern_mismatch":
        return finding("SPC002", path, "this is not of the allowed form", f"write {meaning}")
    if requirement == text:
        return finding("SPC002", path, text[0].lower() + text[1:], f"correct it: {meaning}")
    return finding("SPC002", path, f"must be {requirement}", f"allowed: {requirement} ({meaning})")


def _absent_keys(model: Any) -> dict[str, str]:
    """Keys that people look for in vain in a section, each with the problem and, after a semicolon, the remedy."""
    own: dict[str, str] = getattr(model, "absent_keys", {})
    return own if "install" not in _fields(model) else _OF_INSTALLED | own


def _fields(model: Any) -> Mapping[str, FieldInfo]:
    return getattr(model, "model_fields", {})


def _annotation_at(location: Location, provider: str) -> Any:
    """The annotation at a location of a stack file; None if the form has no such location."""
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
    """The annotation itself, or its first alternative, that is wanted; containers are not searched."""
    if wanted(annotation):
        return annotation
    if get_origin(annotation) not in (Union, UnionType, Annotated):
        return None
    return next((found for inner in get_args(annotation) if (found := _first(inner, wanted)) is not None), None)


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def keys_at(location: Location, provider: str) -> list[str]:
    """The keys that a place of a stack file may have."""
    here = _annotation_at(location, provider)
    model = _first(here, _is_model)
    if model is not None:
        return [field.alias or name for name, field in model.model_fields.items()]
    mapping = _first(here, lambda kind: get_origin(kind) is dict)
    return [] if mapping is None else list(get_args(get_args(mapping)[0]))


def _meaning(location: Location, provider: str) -> str:
    """The description of the innermost field of a location that has one."""
    for end in range(len(location), 0, -1):
        key = location[end - 1]
        model = None if isinstance(key, int) else _first(_annotation_at(location[: end - 1], provider), _is_model)
        field = None if model is None else _field(model, key)
        if field is not None and field.description:
            return field.description
    return "see docs/configuration.md"
