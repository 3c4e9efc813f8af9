"""The reference pages, generated from models and catalog so that they are never outdated."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple, get_args

from gpu_fabric.catalog import DeviceAccess, NcclVariable, Support, catalog
from gpu_fabric.catalog.library import Library
from gpu_fabric.catalog.nccl import nccl_environment
from gpu_fabric.catalog.version import Version
from gpu_fabric.findings import rules
from gpu_fabric.findings.book import groups
from gpu_fabric.plan.library_settings import environments
from gpu_fabric.report.pages import explanation
from gpu_fabric.report.template import fill_template
from gpu_fabric.spec.fabric import FabricSpec
from gpu_fabric.spec.stack import StackSpec
from gpu_fabric.symptoms import subjects, symptoms

Row = tuple[str, ...]

_AS_ABOVE = "; its keys are above"


class KeySection(NamedTuple):
    """A section of the stack file, of one provider where it has one: its rows are key, type, default and meaning."""

    name: str
    which: str
    meaning: str
    rows: tuple[Row, ...]


def configuration_reference() -> str:
    """One table per section of the stack file, with every key, its type, default and meaning."""
    sections = [(f"{one.name}`{one.which}", one.meaning, one.rows) for one in key_sections()]
    return fill_template("configuration.md.j2", sections=sections)


@cache
def key_sections() -> tuple[KeySection, ...]:
    """Every section of the stack file with its keys; keys that several parts share are those of the first."""
    schema = StackSpec.model_json_schema(by_alias=True)
    seen: set[str] = set()
    return tuple(
        KeySection(section, which, _first_line(model), tuple(rows))
        for section, field in schema["properties"].items()
        if section != "name"
        for model, which in _forms(field, schema)
        for rows in [
            _entry_rows(model, schema, seen) if "patternProperties" in field else [*_key_rows(model, schema, "", seen)]
        ]
    )


def _forms(field: dict[str, Any], schema: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """The models a section may have: one, or one per provider with its name."""
    if "patternProperties" in field:
        yield _resolve(next(iter(field["patternProperties"].values())), schema), ""
        return
    if "oneOf" not in field:
        yield _resolve(field, schema), ""
        return
    key = field["discriminator"]["propertyName"]
    names = {reference: name for name, reference in field["discriminator"]["mapping"].items()}
    for form in field["oneOf"]:
        yield _resolve(form, schema), f" with `{key}: {names[form['$ref']]}`"


def _entry_rows(model: dict[str, Any], schema: dict[str, Any], seen: set[str]) -> list[Row]:
    """The keys of a further fabric's entry, without those that the section of the first fabric has as well."""
    above = schema["$defs"][FabricSpec.__name__]["properties"]
    own = {key: field for key, field in model["properties"].items() if key not in above}
    rows = list(_key_rows({**model, "properties": own}, schema, "<name>.", seen))
    return [*rows, ("all others", "", "", "those of `gpu-fabric:fabric`, with the same meaning and defaults")]


def _key_rows(model: dict[str, Any], schema: dict[str, Any], prefix: str, seen: set[str]) -> Iterator[Row]:
    required = set(model.get("required", ()))
    properties = model.get("properties", {})
    # The key that selects the form of a section comes first, then the required keys.
    for key, field in sorted(properties.items(), key=lambda entry: ("const" not in entry[1], entry[0] not in required)):
        resolved = _resolve(field, schema)
        inner, suffix = _inner(resolved, schema)
        meaning = field.get("description") or _first_line(resolved)
        default = "required" if key in required else "see below" if inner is resolved else _default(field)
        known = inner is not None and inner.get("title") in seen
        yield f"`{prefix}{key}{suffix}`", _type(resolved, schema), default, f"{meaning}{_AS_ABOVE * known}"
        if inner is not None and not known:
            seen.add(str(inner.get("title")))
            yield from _key_rows(inner, schema, f"{prefix}{key}{suffix}.", seen)


def _inner(resolved: dict[str, Any], schema: dict[str, Any]) -> tuple[dict[str, Any] | None, str]:
    """The model of a key's own keys, its list entries or its mapping values; and the suffix for these in a path."""
    if "properties" in resolved:
        return resolved, ""
    for part, suffix in (("items", "[]"), ("additionalProperties", ".<name>")):
        found = resolved.get(part)
        model = _resolve(found, schema) if isinstance(found, dict) else {}
        if "properties" in model:
            return model, suffix
    return None, ""


def _resolve(field: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """The model behind a reference, an optional value, or a value that also has a short form."""
    choices = [choice for choice in field.get("anyOf", ()) if choice.get("type") != "null"]
    if choices:
        return _resolve(choices[-1], schema)
    if "$ref" in field:
        found: dict[str, Any] = schema["$defs"][field["$ref"].rpartition("/")[2]]
        return found
    return field


def _type(field: dict[str, Any], schema: dict[str, Any]) -> str:
    if "const" in field:
        return f"`{field['const']}`"
    if "enum" in field:
        return " or ".join(f"`{value}`" for value in field["enum"])
    if field.get("type") == "array":
        return f"list of {_type(_resolve(field.get('items', {}), schema), schema)}"
    if field.get("type") == "object" and isinstance(field.get("additionalProperties"), dict):
        return "mapping"
    return str(field.get("type", "any"))


def _default(field: dict[str, Any]) -> str:
    value = field.get("default")
    return "none" if value is None else f"`{json.dumps(value)}`"


def _first_line(model: dict[str, Any]) -> str:
    return str(model.get("description", "")).partition("\n")[0]


def rules_reference() -> str:
    """A table for each file of the rule book, in the order of the ids."""
    return fill_template("rules.md.j2", rules=rules().values(), subjects=groups())


_HOLDS = {
    "virtual": "virtual functions",
    "physical": "whole NICs",
    "shared": "a share of the NICs",
    "host": "the host's network",
}
_LINKS = {"ether": "RoCE", "infiniband": "InfiniBand"}


def support_reference() -> str:
    """A table of the rows, then the reason and source of each."""
    support = catalog().support
    return fill_template("support.md.j2", support=support, rows=map(_support_cells, support))


def _support_cells(row: Support) -> Row:
    up = ", ".join(row.up_providers) or "planned only"
    return (
        f"`{row.manager}`",
        f"`{row.model}`",
        _HOLDS[row.access],
        ", ".join(row.virtual_functions) or "none",
        ", ".join(_LINKS[link] for link in row.link_types),
        ", ".join(row.rdma_modes),
        ", ".join(row.layouts),
        ", ".join(row.ipams) or "none",
        ", ".join(row.providers),
        up,
    )


def nccl_reference() -> str:
    """Tables of the settings and of the variables, and lists of the variables that are not set."""
    known = catalog().nccl_variables.values()
    return fill_template(
        "nccl.md.j2",
        settings=catalog().nccl,
        resilience=catalog().nccl_resilience,
        reasoned=[entry for entry in known if entry.does is not None],
        further=[f"`{entry.name}`{_release(entry)}" for entry in known if entry.does is None],
        words=explanation,
    )


def libraries_reference() -> str:
    """Tables of the variables of each library other than NCCL, and of their values on every shape."""
    table = catalog().libraries
    return fill_template(
        "libraries.md.j2",
        facts=[(fact, f"`{name}`", ", ".join(_taking(fact))) for fact, name in table.facts.items()],
        libraries=[(library, named := _set_by(library), _value_rows(library, named)) for library in table.libraries],
        machines=_machines(),
        words=explanation,
    )


def clouds_reference() -> str:
    """A section for each profile of a cloud: machines, software, what a pod asks for, settings, and what is unknown."""
    return fill_template("clouds.md.j2", clouds=tuple(catalog().clouds.values()))


def _taking(fact: str) -> Iterator[str]:
    """The variables that have a fact."""
    for name, variable in catalog().libraries.known.items():
        if any(f"{{{fact}}}" in row.value for row in variable.settings):
            yield f"`{name}`"


def _set_by(library: Library) -> list[str]:
    return [f"`{variable.name}`" for variable in library.variables if variable.settings]


def _value_rows(library: Library, named: list[str]) -> list[Row]:
    return [
        (", ".join(entry.shapes), ", ".join(entry.access), *(entry.values.get(name.strip("`"), "") for name in named))
        for entry in shape_values(library)
    ]


class ShapeValues(NamedTuple):
    """The values of a library's variables in pods that get at the NICs in some ways, on some shapes alike."""

    shapes: tuple[str, ...]
    access: tuple[DeviceAccess, ...]
    values: dict[str, str]


def shape_values(library: Library) -> list[ShapeValues]:
    """The values on every shape with RDMA NICs, without what a stack file adds; shapes with the same are one row."""
    known = catalog()
    found: dict[tuple[tuple[str, str], ...], dict[str, list[DeviceAccess]]] = {}
    for shape in known.shapes.values():
        nics = shape.nic_model
        for access in get_args(DeviceAccess) if nics is not None else ():
            nccl = nccl_environment(known.nccl, shape, access)
            values = environments(shape, known, access, None if nics is None else nics.link_type, nccl, {})
            alike = tuple(values.get(library.name, {}).items())
            found.setdefault(alike, {}).setdefault(shape.name, []).append(access)
    rows: list[ShapeValues] = []
    for alike, by_shape in found.items():
        ways: dict[tuple[DeviceAccess, ...], list[str]] = {}
        for name, access in by_shape.items():
            ways.setdefault(tuple(access), []).append(name)
        rows += [ShapeValues(tuple(names), way, dict(alike)) for way, names in ways.items()]
    return sorted(rows, key=lambda row: (row.shapes, row.access))


def _machines() -> list[Row]:
    """Shapes with the NICs of each GPU, as far as they are published."""
    rows: list[Row] = []
    for shape in catalog().shapes.values():
        if shape.gpu_rails is not None:
            names = [nic.rdma_device or f"rail {rail}" for rail, nic in enumerate(shape.nics)]
            near = [
                f"{gpu}: {' '.join(names[rail] for rail in own) or 'none'}" for gpu, own in enumerate(shape.gpu_rails)
            ]
            rows.append((f"`{shape.name}`", "; ".join(near), shape.source))
    return rows


def alarms_reference() -> str:
    """A section for each alarm, and tables of the metrics and of who gives them."""
    table = catalog().alarms
    return fill_template("alarms.md.j2", table=table)


def symptoms_reference() -> str:
    """A section for each kind of software, and in it one for each error text that it prints."""
    return fill_template("symptoms.md.j2", rows=symptoms(), groups=[(entry, entry.rows) for entry in subjects()])


def _release(entry: NcclVariable) -> str:
    last = f" to {entry.last}" if entry.last else ""
    return f" ({entry.since}{last})" if isinstance(entry.since, Version) else ""
