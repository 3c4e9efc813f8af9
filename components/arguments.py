"""Arguments of public components as the sections of a stack document, and their problems as refusals."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

import pulumi
from pydantic.alias_generators import to_camel, to_snake

from gpu_fabric.findings import ConfigurationError, Finding, finding
from gpu_fabric.spec.places import NAMESPACE, Location, dotted

# Keys of the section `cluster` that a component has under another name, or that no argument corresponds to.
_RENAMED = {"id": "cluster_id"}
# Keys of a stack file, in the place of which a program has names of Python; others, such as NCCL's variables, stay.
_CAMEL = re.compile(r"\b[a-z0-9]+(?:[A-Z][a-z0-9]*)+\b")
# The command reads a stack file, which a component has not.
_WAY = re.compile(r"look at the way to (?P<line>\S+) with `gpu-fabric upgrade [^`]*`")
_PATH = re.compile(rf"{NAMESPACE}:[a-zA-Z]+(?:\.\w+|\[\d+\])*")


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
        yield f"{entry.id} {entry.path}: {entry.message} -> {entry.remedy}"


def _of_arguments(component: str, findings: Iterable[Finding], as_in_files: Collection[str] = ()) -> Iterator[Finding]:
    """Findings whose paths name arguments in the place of a stack file's keys."""
    line = argument(f"{NAMESPACE}:software.releaseLine", as_in_files)
    for entry in findings:
        place = argument(entry.path, as_in_files)
        remedy = _WAY.sub(lambda found: f'write {line}: "{found["line"]}"', entry.remedy)
        yield entry.model_copy(
            update={
                "path": f"{component}: {place}" if place else component,
                "message": _PATH.sub(lambda found: argument(found[0], as_in_files), entry.message),
                "remedy": _PATH.sub(lambda found: argument(found[0], as_in_files), remedy),
            }
        )


def argument(path: str, as_in_files: Collection[str] = ()) -> str:
    """The argument at a dotted path of a stack file: `pools[0].node_names` for `cluster.pools[0].nodeNames`."""
    place = path.removeprefix(f"{NAMESPACE}:").removeprefix("cluster.")
    if place.partition(".")[0] in as_in_files:
        return place
    return _RENAMED.get(place, _CAMEL.sub(lambda found: to_snake(found[0]), place))
