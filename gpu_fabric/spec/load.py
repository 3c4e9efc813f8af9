"""Read and validate a stack's configuration: from a stack file, or from Pulumi's configuration, to a StackSpec."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from gpu_fabric.base.user_files import file_text
from gpu_fabric.catalog import Catalog, Shape, catalog
from gpu_fabric.catalog.shape import CLOUD_SHAPES, Hardware
from gpu_fabric.findings import ConfigurationError, Finding, Place, finding
from gpu_fabric.spec.parts import CLUSTER_SECTION, joined, part_of
from gpu_fabric.spec.places import NAMESPACE, Location, dotted, innermost, printable, within_section
from gpu_fabric.spec.plain_secrets import plain_secrets, plain_settings
from gpu_fabric.spec.problems import findings_of, keys_at, keys_without_value, problems_of
from gpu_fabric.spec.stack import StackSpec, own_shape
from gpu_fabric.spec.stack_text import StackDocument, StackTextError, parsed
from gpu_fabric.spec.stand_ins import drop_invalid, provider_meant, stand_in_hardware
from gpu_fabric.spec.suggestion import nearest

MOST_BYTES = 4 << 20
"""Limit of the size of a stack file; 4,096 named nodes take 0.1 MiB."""
MOST_NESTED = 30
"""Limit of the nesting of lists and mappings; Pulumi's own messages allow slightly more."""

SECTIONS = tuple(name for name in StackSpec.model_fields if name != "name")

_PROVIDER: Location = ("cluster", "provider")
# Places of a stack file that hold the name of a secret configuration key; `*` is every entry of a list.
_SECRET_NAMES = (
    ("cluster", "kubeconfigSecret"),
    ("cluster", "kubeconfig", "tokenSecret"),
    ("software", "spiderpool", "tls", "secret"),
    ("software", "imagePullSecrets", "*", "secret"),
)


def stack_names(root: Path) -> list[str]:
    """The names of the stacks that have a file, at the root or in examples/."""
    files = (file for folder in (root, root / "examples") for file in folder.glob("Pulumi.*.yaml"))
    names = {file.name.removeprefix("Pulumi.").removesuffix(".yaml") for file in files}
    # Dots alone are not a valid name: used as a folder, they lead out of the parent folder.
    return sorted(name for name in names if name.strip("."))


def own_stack_names(root: Path) -> list[str]:
    """The stacks with a file at the root; those of examples/ too, as long as the root has none but `dev`.

    So a checkout with stacks of a team's shows these, and one without shows what a change does to the examples.
    """
    names = stack_names(root)
    own = [name for name in names if (root / f"Pulumi.{name}.yaml").is_file()]
    return own if set(own) - {"dev"} else names


def stack_file(name: str, root: Path) -> Path:
    """The file of a stack: `Pulumi.<name>.yaml` at the root, or in examples/.

    Raises:
        ConfigurationError: the file does not exist; the message lists the existing stacks.
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
        f"{nearest(name, known) if name not in known else 'something of this name exists that is not a file; '}"
        f"stacks here: {printable(', '.join(known)) or 'none; a stack file elsewhere is named with -f FILE'}",
    )
    raise ConfigurationError([problem], f"Pulumi.{name}.yaml")


def read_document(name: str, root: Path) -> StackDocument:
    """A stack's file, parsed but not validated.

    Raises:
        ConfigurationError: the file is missing, unreadable or no YAML mapping.
    """
    path = stack_file(name, root)
    return _document(path, name, root, printable(str(path.relative_to(root))))


def read_file(path: Path) -> StackDocument:
    """A stack file of any name and in any folder, parsed but not validated.

    The stack's name is the file's name without `Pulumi.` and `.yaml`. Relative paths start from the project's folder:
    the file's own folder, or the parent of `examples/`. The other stack of a split is searched there too.

    Raises:
        ConfigurationError: the file is missing, unreadable or no YAML mapping.
    """
    file = printable(str(path))
    name = path.name.removeprefix("Pulumi.").removesuffix(".yaml").removesuffix(".yml")
    if not name.strip("."):
        raise ConfigurationError([finding("SPC004", "", "has no name for a stack", "give the file another name")], file)
    folder = path.absolute().parent
    is_example = folder.name == "examples" and (folder.parent / "Pulumi.yaml").is_file()
    return _document(path, name, folder.parent if is_example else folder, file)


def _document(path: Path, name: str, root: Path, file: str) -> StackDocument:
    try:
        return document_of(file_text(path, MOST_BYTES), name, root, file)
    except FileNotFoundError as error:
        problem = finding("SPC004", "", "there is no such file", "write the name of a file that exists")
        raise ConfigurationError([problem], file) from error
    except OSError as error:
        reason = f"cannot be read: {error.strerror or error.__class__.__name__}"
        remedy = f"make it a regular file of at most {MOST_BYTES >> 20} MiB that you may read"
        raise ConfigurationError([finding("SPC004", "", reason, remedy)], file) from error
    except UnicodeDecodeError as error:
        problem = finding("SPC004", "", f"is not text in UTF-8 (byte {error.start + 1})", "save it as UTF-8")
        raise ConfigurationError([problem], file) from error


def document_of(text: str, name: str, root: Path, file: str) -> StackDocument:
    """The text of a stack file, parsed but not validated; `file` is its name in messages.

    Raises:
        ConfigurationError: the text is not a YAML mapping, or the name is not UTF-8.
    """

    def refused(*found: Finding, place: Place | None = None) -> ConfigurationError:
        return ConfigurationError(found, file, {} if place is None else {"": place})

    if printable(name) != name:
        raise refused(finding("SPC004", "", "has a name that is not UTF-8", "give the file another name"))
    try:
        content, unclear = parsed(text)
    except StackTextError as error:
        raise refused(finding("SPC004", "", error.problem, error.remedy), place=error.place) from error
    except RecursionError as error:
        raise refused(too_deep()) from error
    config = content.get("config") if isinstance(content, dict) else None
    if not isinstance(config, dict):
        raise refused(finding("SPC004", "", *_explain_missing_config(content, root, name)))
    prefix = f"{NAMESPACE}:"
    sections = {key.removeprefix(prefix): value for key, value in config.items() if str(key).startswith(prefix)}
    found = tuple(finding("SPC005", *entry) for entry in unclear)
    document = StackDocument(
        name=name,
        file=file,
        root=root,
        sections=sections,
        text=text,
        unclear=found,
        plain_settings=plain_settings(config),
    )
    if misplaced := _misplaced_keys(config):
        raise ConfigurationError(misplaced, file, document.places)
    return document


def _explain_missing_config(content: Any, root: Path, stack: str) -> tuple[str, str]:
    """The problem of a file that has no mapping `config`, and the remedy."""
    minimal = f"write config: and, indented below it, {NAMESPACE}:cluster: and {NAMESPACE}:fabric:"
    if content is None:
        return "is empty", minimal
    if isinstance(content, dict) and "config" not in content and set(content) & {"encryptionsalt", "encryptedkey"}:
        name = f"Pulumi.{stack}.yaml"
        is_example = (root / "examples" / name).is_file()
        remedy = f"to bring the example up, append it: cat examples/{name} >> {name}" if is_example else minimal
        return "has no `config:` mapping: it holds only what `pulumi stack init` writes", remedy
    return "has no `config:` mapping", minimal


def _misplaced_keys(config: Mapping[str, Any]) -> tuple[Finding, ...]:
    """Keys that are evidently meant as a section of this program, but are spelled differently."""
    found = []
    for key in map(str, config):
        space, _, section = key.rpartition(":")
        own = space == NAMESPACE
        base, meant = section.partition(".")[0].partition("[")[0], f"{NAMESPACE}:{section}"
        if not own and section in SECTIONS and meant not in config and (not space or _is_near(space)):
            remedy = f"write {meant}"
        elif own and base in SECTIONS and section not in SECTIONS:
            by_command = f"`pulumi config set --path {key}`"
            remedy = f"write it below {NAMESPACE}:{base}:, or set it by {by_command}, and take this key out"
        else:
            continue
        found.append(finding("SPC001", key, "this key is not known", remedy))
    return tuple(found)


def _is_near(space: str) -> bool:
    return bool(nearest(space.replace("_", "-"), [NAMESPACE, NAMESPACE.replace("-", "")]))


def too_deep() -> Finding:
    """The finding for a stack file whose lists and mappings are nested too deeply."""
    message = f"holds lists and mappings that are nested in each other more than {MOST_NESTED} deep"
    return finding("SPC004", "", message, "write it flatter")


def _is_deep(value: Any) -> bool:
    """Whether lists and mappings are nested too deeply; the value must not contain itself."""
    level = [value]
    for _ in range(MOST_NESTED + 1):
        containers = (outer for outer in level if isinstance(outer, dict | list))
        level = [inner for outer in containers for inner in (outer.values() if isinstance(outer, dict) else outer)]
    return bool(level)


def validate(document: StackDocument) -> tuple[StackSpec | None, tuple[Finding, ...]]:
    """The spec, and all problems of the document.

    If there are problems, the spec has stand-ins for the invalid values, so that later checks can report further
    problems. It is None if too much is missing.
    """
    if _is_deep(document.sections):
        return None, (too_deep(),)
    whole, wrong = joined(document, _read_other)
    sections, strangers = _drop_strangers(whole)
    known, own_shapes = _add_own_shapes(sections)
    named = (key for _, key in _secret_names(sections))
    secrets = plain_secrets(document.sections, named, document.plain_settings)
    meant = {key: value for key, value in document.sections.items() if key in sections}
    empty = () if document.null_is_absent else tuple(keys_without_value(meant, provider_meant(sections)))
    before = (*wrong, *document.unclear, *strangers, *own_shapes, *secrets, *empty)
    told = {entry.path for entry in (*document.unclear, *empty)}
    try:
        return _parse(document.name, sections, known), before
    except ValidationError as error:
        found = (entry for entry in findings_of(error, provider_meant(sections)) if entry.path not in told)
        problems = (*before, *_own(document, tuple(found)))
        faulty = _innermost_places(error)
    if _PROVIDER in faulty:
        # Without a valid provider, pydantic checks nothing else in the section.
        sections = drop_invalid(sections, [_PROVIDER], known)
        try:
            return _parse(document.name, sections, known), problems
        except ValidationError as error:
            inside = (entry for entry in findings_of(error, provider_meant(sections)) if entry not in problems)
            problems = (*problems, *_own(document, tuple(entry for entry in inside if entry.path not in told)))
            faulty = _innermost_places(error)
    tried: set[Location] = set()
    while faulty:
        sections = drop_invalid(sections, faulty, known)
        tried.update(faulty)
        try:
            return _parse(document.name, sections, known), problems
        except ValidationError as error:
            untried = (_nearest_untried(place, tried) for place in _innermost_places(error))
            faulty = list(dict.fromkeys(place for place in untried if place))
    return None, problems


def _read_other(name: str, root: Path) -> tuple[StackDocument, tuple[Finding, ...]]:
    """Another stack's document, and its problems if it is a stack of part cluster."""
    document = read_document(name, root)
    return document, validate(document)[1] if part_of(document.sections) == "cluster" else ()


def _own(document: StackDocument, found: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """The findings about this document: a platform's section `cluster` is in the cluster stack's file."""
    if part_of(document.sections) in ("all", "cluster"):
        return found
    return tuple(entry for entry in found if not within_section(entry.path, CLUSTER_SECTION))


def _innermost_places(error: ValidationError) -> list[Location]:
    """The innermost invalid locations."""
    return innermost(problem.location for problem in problems_of(error) if problem.location)


def _nearest_untried(place: Location, tried: set[Location]) -> Location:
    """The location, or the nearest enclosing location not yet tried; empty if there is none.

    A required value without a stand-in is removed together with the value that requires it.
    """
    while place and place in tried:
        place = place[:-1]
    return place


def load_stack(name: str, root: Path) -> StackSpec:
    """The validated spec of a stack.

    Raises:
        ConfigurationError: with every problem of the file.
    """
    return validated(read_document(name, root))


def validated(document: StackDocument) -> StackSpec:
    """The spec of a document that has no problems.

    Raises:
        ConfigurationError: with every problem of the file.
    """
    spec, problems = validate(document)
    if spec is None or problems:
        raise ConfigurationError(problems, document.file, document.places)
    return spec


def _parse(name: str, sections: Mapping[str, Any], known: Catalog) -> StackSpec:
    # Strict JSON mode: "3" is not a number and 26.4 is not text, while addresses may be text.
    text = json.dumps({"name": name, **sections}, default=str)
    # Messages suggest only shapes of the stack's own cloud.
    cluster = sections.get("cluster")
    profile = cluster.get("profile") if isinstance(cluster, dict) else None
    context = {
        "catalog": known,
        "offered": CLOUD_SHAPES.get(provider_meant(sections)),
        "profile": profile if isinstance(profile, str) else None,
    }
    return StackSpec.model_validate_json(text, strict=True, context=context, by_alias=True, by_name=False)


def _add_own_shapes(sections: Mapping[str, Any]) -> tuple[Catalog, tuple[Finding, ...]]:
    """The catalog with the document's own shapes, and stand-ins for the invalid ones."""
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
            # The section's validation reports the problem; pools may still use the name.
            hardware = Hardware.model_validate(stand_in_hardware(row))
        shapes[str(name)] = own_shape(str(name), hardware)
    return catalog().with_shapes(shapes), tuple(clashes)


def _secret_names(sections: Mapping[str, Any]) -> Iterator[tuple[Location, Any]]:
    """What the places of secret names hold, each with its location."""
    for place in _SECRET_NAMES:
        found: list[tuple[Location, Any]] = [((), sections)]
        for key in place:
            found = [entry for location, value in found for entry in _inside(location, value, key)]
        yield from found


def _inside(location: Location, value: Any, key: str) -> Iterator[tuple[Location, Any]]:
    if key == "*" and isinstance(value, list):
        yield from (((*location, number), entry) for number, entry in enumerate(value))
    elif isinstance(value, Mapping) and key in value:
        yield (*location, key), value[key]


def unset_secrets(document: StackDocument) -> tuple[tuple[str, str], ...]:
    """The places that name a secret key which the configuration does not have, each with the key."""
    named = _secret_names(document.sections)
    return tuple((dotted(place), key) for place, key in named if isinstance(key, str) and key not in document.sections)


def _drop_strangers(sections: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[Finding, ...]]:
    secrets = [key for _, key in _secret_names(sections)]
    known = {key: value for key, value in sections.items() if key in SECTIONS}
    strangers = [key for key in sections if key not in SECTIONS and key not in secrets]
    return known, tuple(
        finding("SPC001", dotted((key,)), "this key is not known", _instead(key, provider_meant(sections)))
        for key in strangers
    )


def _instead(key: str, provider: str) -> str:
    section = next((name for name in SECTIONS if key in keys_at((name,), provider)), None)
    if section is not None:
        return f"write it inside of {dotted((section,))}, as {key}"
    return f"{nearest(key, SECTIONS)}remove it, or use one of: {', '.join(SECTIONS)}"
