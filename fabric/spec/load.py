"""From a stack file, or from the engine's configuration, to a StackSpec."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from fabric.catalog import Catalog, Shape, catalog
from fabric.catalog.shape import Hardware
from fabric.model import FrozenModel
from fabric.rules import ConfigurationError, Finding, finding
from fabric.spec.parts import CLUSTER_SECTION, joined, part_of
from fabric.spec.places import NAMESPACE, Location, dotted, printable, within, within_section
from fabric.spec.problems import findings_of, problems_of
from fabric.spec.stack import StackSpec, own_shape
from fabric.spec.stack_text import RepeatedKeyError, parsed
from fabric.spec.stand_ins import mended, provider_meant, stand_in_hardware
from fabric.spec.suggestion import nearest

MOST_NESTED = 30
"""As deep may lists and mappings lie in each other: the engine's own messages take a little more."""

SECTIONS = tuple(name for name in StackSpec.model_fields if name != "name")

# Where a stack file names secret keys of its own.
_SECRET_NAMES = (
    ("cluster", "kubeconfigSecret"),
    ("cluster", "kubeconfig", "tokenSecret"),
    ("software", "spiderpool", "tls", "secret"),
)


class StackDocument(FrozenModel):
    """A stack's configuration as written, before validation. `root` is the folder relative paths start from."""

    name: str
    file: str
    root: Path
    sections: dict[str, Any]


def stack_names(root: Path) -> list[str]:
    """The stacks that have a file, at the root or in examples/."""
    files = (file for folder in (root, root / "examples") for file in folder.glob("Pulumi.*.yaml"))
    names = {file.name.removeprefix("Pulumi.").removesuffix(".yaml") for file in files}
    # Dots alone are no name, and as a folder's would lead out of another.
    return sorted(name for name in names if name.strip("."))


def stack_file(name: str, root: Path) -> Path:
    """The file of a stack: `Pulumi.<name>.yaml` at the root, or in examples/.

    Raises:
        ConfigurationError: there is none; the message lists the stacks there are.
    """
    places = [root / f"Pulumi.{name}.yaml", root / "examples" / f"Pulumi.{name}.yaml"]
    for place in places:
        if place.is_file():
            return place
    known = stack_names(root)
    problem = finding(
        "SPC004",
        "",
        f"there is no stack file for {name!r}",
        f"{nearest(name, known)}stacks here: {printable(', '.join(known)) or 'none'}",
    )
    raise ConfigurationError([problem], f"Pulumi.{name}.yaml")


def read_document(name: str, root: Path) -> StackDocument:
    """A stack's file, parsed but not validated.

    Raises:
        ConfigurationError: the file is missing, unreadable or no YAML mapping.
    """
    path = stack_file(name, root)
    file = printable(str(path.relative_to(root)))

    def unreadable(reason: str) -> ConfigurationError:
        return ConfigurationError([finding("SPC004", "", reason, "correct the file")], file)

    if printable(name) != name:
        raise unreadable("has a name that is no UTF-8")
    try:
        content = parsed(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(f"cannot be read: {error.__class__.__name__}") from error
    except RepeatedKeyError as error:
        line = f" at line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise unreadable(f"{error.problem}{line}") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise unreadable(f"is not YAML{place}") from error
    except ValueError as error:
        raise unreadable("holds a date that does not exist") from error
    except RecursionError as error:
        raise ConfigurationError([too_deep()], file) from error
    config = content.get("config") if isinstance(content, dict) else None
    if not isinstance(config, dict):
        raise unreadable("has no `config:` mapping")
    prefix = f"{NAMESPACE}:"
    sections = {key.removeprefix(prefix): value for key, value in config.items() if str(key).startswith(prefix)}
    try:
        json.dumps(sections, default=str)
    except RecursionError as error:
        raise ConfigurationError([too_deep()], file) from error
    except (TypeError, ValueError) as error:
        raise unreadable("holds a key that is no text, or a value that contains itself") from error
    return StackDocument(name=name, file=file, root=root, sections=sections)


def too_deep() -> Finding:
    """A stack file holds what nobody can read to its end."""
    message = f"holds lists and mappings that lie in each other more than {MOST_NESTED} deep"
    return finding("SPC004", "", message, "correct the file")


def _is_deep(value: Any) -> bool:
    """Whether lists and mappings lie deeper in each other than they may; none contains itself."""
    level = [value]
    for _ in range(MOST_NESTED + 1):
        level = [inner for outer in level for inner in _entries(outer)]
    return bool(level)


def _entries(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def validate(document: StackDocument) -> tuple[StackSpec | None, tuple[Finding, ...]]:
    """The spec, and everything wrong with the document.

    With problems, the spec is the document with its faulty values mended, so that later checks can still report what
    else is wrong; None when too much is missing for that.
    """
    if _is_deep(document.sections):
        return None, (too_deep(),)
    whole, wrong = joined(document, _other)
    sections, strangers = _without_strangers(whole)
    known, own_shapes = _with_own_shapes(sections)
    before = (*wrong, *strangers, *own_shapes)
    try:
        return _parse(document.name, sections, known), before
    except ValidationError as error:
        problems = (*before, *_own(document, findings_of(error, provider_meant(sections))))
        faulty = _innermost(error)
    tried: set[Location] = set()
    while faulty:
        sections = mended(sections, faulty, known)
        tried.update(faulty)
        try:
            return _parse(document.name, sections, known), problems
        except ValidationError as error:
            faulty = [place for place in (_untried(place, tried) for place in _innermost(error)) if place]
    return None, problems


def _other(name: str, root: Path) -> tuple[StackDocument, tuple[Finding, ...]]:
    """Another stack's document, and what is wrong in it where it makes a cluster alone."""
    document = read_document(name, root)
    return document, validate(document)[1] if part_of(document.sections) == "cluster" else ()


def _own(document: StackDocument, found: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """What is wrong in the document itself: a platform's cluster is described, and corrected, in another file."""
    if part_of(document.sections) in ("all", "cluster"):
        return found
    return tuple(entry for entry in found if not within_section(entry.path, CLUSTER_SECTION))


def _innermost(error: ValidationError) -> list[Location]:
    """The faulty places, without those that are faulty for what lies in them."""
    places = [problem.location for problem in problems_of(error) if problem.location]
    return [place for place in places if not any(within(other, place) for other in places)]


def _untried(place: Location, tried: Container[Location]) -> Location:
    """The place, or the nearest around it that was not tried: what has no stand-in goes with what requires it."""
    while place and place in tried:
        place = place[:-1]
    return place


def load_stack(name: str, root: Path) -> StackSpec:
    """The validated spec of a stack.

    Raises:
        ConfigurationError: with every problem of the file.
    """
    document = read_document(name, root)
    spec, problems = validate(document)
    if spec is None or problems:
        raise ConfigurationError(problems, document.file)
    return spec


def _parse(name: str, sections: Mapping[str, Any], known: Catalog) -> StackSpec:
    # Strict JSON mode: "3" is no number and 26.4 no text, while addresses may still be written as text.
    text = json.dumps({"name": name, **sections}, default=str)
    return StackSpec.model_validate_json(text, strict=True, context={"catalog": known}, by_alias=True, by_name=False)


def _with_own_shapes(sections: Mapping[str, Any]) -> tuple[Catalog, tuple[Finding, ...]]:
    """The catalog with the shapes that the document describes itself, stand-ins for those that are not well-formed."""
    cluster = sections.get("cluster")
    written = cluster.get("shapes") if isinstance(cluster, dict) else None
    shapes: dict[str, Shape] = {}
    clashes: list[Finding] = []
    for name, row in written.items() if isinstance(written, dict) else ():
        if (row_of := catalog().find(str(name))) is not None and row_of.known:
            where = dotted(("cluster", "shapes", str(name)))
            clashes.append(finding("SPC002", where, "the catalog has a shape of this name", "give it another name"))
            continue
        try:
            hardware = Hardware.model_validate_json(json.dumps(row, default=str), strict=True)
        except ValidationError:
            # Said at its place when the section is read; a pool may name it all the same.
            hardware = Hardware.model_validate(stand_in_hardware(row))
        shapes[str(name)] = own_shape(str(name), hardware)
    return catalog().with_shapes(shapes), tuple(clashes)


def _value_at(sections: Mapping[str, Any], place: tuple[str, ...]) -> Any:
    found: Any = sections
    for key in place:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def _without_strangers(sections: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[Finding, ...]]:
    secrets = [_value_at(sections, place) for place in _SECRET_NAMES]
    known = {key: value for key, value in sections.items() if key in SECTIONS}
    strangers = [key for key in sections if key not in SECTIONS and key not in secrets]
    return known, tuple(
        finding(
            "SPC001",
            dotted((key,)),
            "this key is not known",
            f"{nearest(key, SECTIONS)}remove it, or use one of: {', '.join(SECTIONS)}",
        )
        for key in strangers
    )
