"""Arguments of public components as the sections of a stack document, and their problems as refusals."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NoReturn

import pulumi
from pydantic.alias_generators import to_camel, to_snake

from gpu_fabric.findings import ConfigurationError, Finding, finding
from gpu_fabric.spec.places import NAMESPACE, Location, dotted
from gpu_fabric.spec.stack import SECTIONS, spec_keys

# Keys of the section `cluster` that a component has under another name.
_RENAMED = {"id": "clusterId"}
# Arguments that are no keys of a stack file.
_FURTHER = frozenset({"clusterId", "kubeconfigToken"})
_CAMEL = re.compile(r"\b[a-z0-9]+(?:[A-Z][a-z0-9]*)+\b")
# A command, or a key of a stack file or a path of keys, with the namespace or without.
_KEYS = re.compile(rf"`[^`\s]*[^`\s:] [^`]*`|(?<![\w/.:-])(?:{NAMESPACE}:)?[a-z]\w*(?:\.\w+|\[\w*\])*")
# The command reads a stack file, which a component has not.
_WAY = re.compile(r"look at the way to (?P<line>\S+) with `gpu-fabric upgrade [^`]*`")

_BY_SCHEMA: ContextVar[bool] = ContextVar("named_by_schema", default=False)


@contextmanager
def named_by_schema() -> Iterator[None]:
    """Name arguments as the package's schema does, and not as Python: for a program in another language.

    This also holds later for what begins inside, such as the functions of Outputs.
    """
    before = _BY_SCHEMA.set(True)
    try:
        yield
    finally:
        _BY_SCHEMA.reset(before)


def as_written(value: Any) -> Any:
    """An argument's value with the keys and types of a stack file; None in the place of an Output.

    Other languages send every number as a floating-point one.
    """
    if is_known_later(value):
        return None
    if dataclasses.is_dataclass(value):
        named = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return {to_camel(name): as_written(entry) for name, entry in named.items() if entry is not None}
    if isinstance(value, Mapping):
        return {key: as_written(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [as_written(entry) for entry in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def is_known_later(value: Any) -> bool:
    """Whether a value is known only during the run."""
    return isinstance(value, pulumi.Output) or inspect.isawaitable(value)


def given_as_in_files(sections: Mapping[str, Any]) -> tuple[str, ...]:
    """The sections that a program gives with the keys of stack files: as mappings in the place of dataclasses."""
    return tuple(
        name
        for name, value in sections.items()
        if isinstance(value, Mapping)
        # Those of further fabrics are entries by name.
        and not (name == "fabrics" and any(map(dataclasses.is_dataclass, value.values())))
    )


def output_findings(sections: Mapping[str, Any]) -> Iterator[Finding]:
    """A finding for each Output in the arguments of a document's sections, which must be known before the run."""
    for place in _outputs(sections, ()):
        yield finding(
            "SPC002",
            dotted(place),
            "this is an Output, and decides which resources there are: it must be known before the run",
            "write a plain value, such as one of the configuration; only the arguments that are documented as inputs "
            "may be Outputs of other resources",
        )


def _outputs(value: Any, place: Location) -> Iterator[Location]:
    if is_known_later(value):
        yield place
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from _outputs(getattr(value, field.name), (*place, to_camel(field.name)))
    elif isinstance(value, Mapping):
        for key, entry in value.items():
            yield from _outputs(entry, (*place, str(key)))
    elif isinstance(value, list | tuple):
        for number, entry in enumerate(value):
            yield from _outputs(entry, (*place, number))


def refuse_other_arguments(component: str, args: object, kind: type) -> None:
    """End the run where a component is given something else than its arguments, such as a mapping of them.

    Raises:
        pulumi.RunError: they are of another type.
    """
    if isinstance(args, kind):
        return
    given = "an Output" if is_known_later(args) else f"of type {type(args).__name__}"
    remedy = f"give it {kind.__name__}(...)"
    refuse(component, [finding("SPC002", "", f"the arguments are {given}, and must be {kind.__name__}", remedy)])


def refuse(component: str, findings: Sequence[Finding], *, as_in_files: Collection[str] = ()) -> NoReturn:
    """End the run with all problems of a component's arguments.

    `component` is its type and name, such as GpuFabric train. Sections that are given `as_in_files` have their keys.

    Raises:
        pulumi.RunError: always.
    """
    named = tuple(_of_arguments(component, findings, as_in_files))
    raise pulumi.RunError(str(ConfigurationError(named, component))) from None


def warnings(component: str, findings: Iterable[Finding], *, as_in_files: Collection[str] = ()) -> Iterator[str]:
    """Findings about a component's arguments as texts."""
    for entry in _of_arguments(component, findings, as_in_files):
        yield entry.one_line


def _of_arguments(component: str, findings: Iterable[Finding], as_in_files: Collection[str] = ()) -> Iterator[Finding]:
    """Findings in whose texts arguments take the place of a stack file's keys."""
    line = argument(f"{NAMESPACE}:software.releaseLine", as_in_files)
    for entry in findings:
        place = argument(entry.path, as_in_files)
        # Only a mapping can have unknown keys, and it has those of stack files.
        of_mapping = entry.id == "SPC001" or _section(entry.path) in as_in_files
        texts = {
            name: with_arguments(text, (*as_in_files, "") if of_mapping else as_in_files)
            for name, text in (
                ("message", entry.message),
                ("remedy", _WAY.sub(lambda found: f'write {line}: "{found["line"]}"', entry.remedy)),
            )
        }
        yield entry.model_copy(update={**texts, "path": f"{component}: {place}" if place else component})


def with_arguments(text: str, as_in_files: Collection[str] = ()) -> str:
    """A text in which arguments take the place of a stack file's keys.

    Sections that are given `as_in_files` keep theirs, and so do keys without a section if the empty one is among them.
    """

    def named(found: re.Match[str]) -> str:
        keys = found[0]
        if keys.startswith("`"):
            return keys
        if keys.startswith(f"{NAMESPACE}:"):
            return argument(keys, as_in_files)
        section, _, rest = keys.partition(".")
        if section == "cluster" and _section(rest) in spec_keys():
            return argument(rest, as_in_files)
        return keys if (section if section in SECTIONS else "") in as_in_files else _named(keys)

    return _KEYS.sub(named, text)


def argument(path: str, as_in_files: Collection[str] = ()) -> str:
    """The argument at a dotted path of a stack file: `pools[0].node_names` for `cluster.pools[0].nodeNames`."""
    place = path.removeprefix(f"{NAMESPACE}:").removeprefix("cluster.")
    return place if _section(place) in as_in_files else _named(_RENAMED.get(place, place))


def _section(path: str) -> str:
    return re.split(r"[.\[]", path.removeprefix(f"{NAMESPACE}:"), maxsplit=1)[0]


def _named(keys: str) -> str:
    """A path of keys in the names of the program's language; what a chart or NCCL calls something stays."""
    if _BY_SCHEMA.get():
        return keys
    own, values, of_chart = keys.partition(".values.")
    known = spec_keys() | _FURTHER
    return _CAMEL.sub(lambda found: to_snake(found[0]) if found[0] in known else found[0], own) + values + of_chart
