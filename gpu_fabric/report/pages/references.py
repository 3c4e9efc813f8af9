"""The reference pages, generated from models and catalog so that they are never outdated."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from gpu_fabric.catalog import NcclSetting, NcclVariable, Support, catalog
from gpu_fabric.catalog.version import Version
from gpu_fabric.findings import Rule, groups, rules
from gpu_fabric.report.markdown import table
from gpu_fabric.report.pages.explanation import audience_words, not_set_words, since_words, unfit_words, value_words
from gpu_fabric.spec import StackSpec

Row = tuple[str, ...]

_ON_CONFIGURATION = """# Configuration

Made from the models by `make docs`; a test holds it fresh. Every key lives in a stack file, `Pulumi.<stack>.yaml`,
under `config:`. Unknown keys are errors. As a JSON Schema, for editors: [schema/stack.json](schema/stack.json).
"""


_AS_ABOVE = "; its keys are above"


def configuration_reference() -> str:
    """One table per section of the stack file, with every key, its type, default and meaning."""
    schema = StackSpec.model_json_schema(by_alias=True)
    parts = [_ON_CONFIGURATION]
    seen: set[str] = set()
    for section, field in schema["properties"].items():
        if section == "name":
            continue
        for model, which in _forms(field, schema):
            parts.append(f"## `gpu-fabric:{section}`{which}\n\n{_first_line(model)}\n")
            rows = _key_rows(model, schema, "", seen)
            parts.append("\n".join(table(("key", "type", "default", "meaning"), rows)) + "\n")
    return "\n".join(parts)


def _forms(field: dict[str, Any], schema: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """The models a section may have: one, or one per provider with its name."""
    if "oneOf" not in field:
        yield _resolve(field, schema), ""
        return
    key = field["discriminator"]["propertyName"]
    names = {reference: name for name, reference in field["discriminator"]["mapping"].items()}
    for form in field["oneOf"]:
        yield _resolve(form, schema), f" with `{key}: {names[form['$ref']]}`"


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


_ON_RULES = """# Rules

Made from `gpu_fabric/rules/book` by `make docs`; a test holds it fresh. Everything wrong with a stack is said at once,
before anything is created. An error stops `make up`; a warning or a note does not. Ids stay the same across releases;
`gpu-fabric explain ID` prints one rule.
"""

_RULE_COLUMNS = ("rule", "severity", "what is wrong", "why it matters", "source")


def rules_reference() -> str:
    """A table for each file of the rule book, in the order of the ids."""
    parts = [_ON_RULES]
    subjects = groups()
    for group, rows in groupby(rules().values(), key=lambda rule: rule.group):
        parts.append(f"## {group}\n\n{subjects[group]}\n")
        parts.append(_table(_RULE_COLUMNS, map(_rule_cells, rows)) + "\n")
    return "\n".join(parts)


def _rule_cells(rule: Rule) -> Row:
    return rule.id, rule.severity.value, rule.title, rule.why, rule.source


_ON_SUPPORT = """# Possible combinations

Made from `gpu_fabric/catalog/support.yaml` by `make docs`; a test holds it fresh. Every row can be planned and proved.
The first entry of a list is the default. What a stack file asks for beyond a row is refused with what is allowed
(SUP001 to SUP009).
"""

_SUPPORT_COLUMNS = (
    *("manager", "model", "a pod holds", "virtual functions by", "links"),
    *("RDMA mode", "layouts", "IPAM", "clusters", "comes up on"),
)
_HOLDS = {
    "virtual": "virtual functions",
    "physical": "whole NICs",
    "shared": "a share of the NICs",
    "host": "the host's network",
}
_LINKS = {"ether": "RoCE", "infiniband": "InfiniBand"}


def support_reference() -> str:
    """A table of the rows, then the reason and source of each."""
    rows = catalog().support
    lines = [_ON_SUPPORT, _table(_SUPPORT_COLUMNS, map(_support_cells, rows)), "\n## Why\n"]
    lines += [f"- `{row.model}` by `{row.manager}`: {row.why} Source: {row.source}." for row in rows]
    return "\n".join(lines) + "\n"


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


_ON_NCCL = """# NCCL settings

Made from `gpu_fabric/catalog/nccl.yaml` by `make docs`; a test holds it fresh. Every variable with its reason, whom it
is for, and the release that brought it. `gpu-fabric explain NCCL_IB_HCA -s dev` says the same of one variable, and what
a stack makes of it. [NCCL files](nccl.md) is about the topology file.

Settings of scope jobs, or jobs and measurements, are in the contract's `environment` and in the settings file. Those of
scope measurements are in `verificationEnvironment` alone: a measurement sets them on top, and no job carries them.

## A stack's own settings

    gpu-fabric:fabric:
      nccl:
        version: "2.27.3"          # oldest NCCL in the jobs' images; newer settings are pointed out (NCL019)
        settings:                  # merged last
          NCCL_IB_TC: 104
          NCCL_IB_TIMEOUT: 23

What replaces a value of the catalog is noted with the reason that is given up (NCL018). An unknown name is a warning
with the nearest known one (NCL010). A value that takes the fabric from jobs, names other NICs than the rails, or is
not a number where NCCL reads one, is refused (NCL011 to NCL016). [Rules](rules.md#nccl_settings) lists them.

Without `version` settings are checked against the vendor's tests of the release line, where those are known.

## How the libraries read a file

| | NCCL | RCCL |
|---|---|---|
| first | the process's environment | the same |
| then | the file in `NCCL_CONF_FILE` (since 2.23), else `~/.nccl.conf` | `~/.rccl.conf` |
| last | `/etc/nccl.conf` | `/etc/rccl.conf` |

What comes first wins, variable by variable; so pods with AMD's GPUs mount the ConfigMap's key `nccl.conf` as
`/etc/rccl.conf`. Pods that carry the contract's environment do not notice another file: both come from one plan, and
change together. RCCL's reference of variables has NCCL_CONF_FILE too; not every release reads it.

- A line is `NAME=VALUE`: no quotes, no `export`, no blanks, which would be part of name or value. A value may begin
  with an equals sign: `NCCL_SOCKET_IFNAME==eth0`.
- `#` at the start of a line is a comment to newer releases of NCCL; RCCL reads such a line. The stack's file has none.
- A carriage return stays in the value, and a value ends after 1023 characters.
- Of a whole number the beginning counts: `yes` is 0, `4MiB` is 4, `010` is 8. In a stack file these are refused.

(Source: src/misc/param.cc of NCCL and RCCL; NCCL manual, NCCL_CONF_FILE; RCCL's reference of variables.)
"""


def nccl_reference() -> str:
    """Tables of the settings and of the variables, and lists of the variables that are not set."""
    known = catalog().nccl_variables.values()
    reasoned = [entry for entry in known if entry.does is not None]
    further = [entry for entry in known if entry.does is None]
    parts = [
        _ON_NCCL,
        "## Settings\n",
        _table(("setting", "scope", "for", "why", "source"), (_setting(row) for row in catalog().nccl)),
        "\n## Variables\n",
        _table(("variable", "exists", "what it does", "source"), (_variable(entry) for entry in reasoned)),
        "\n## Where a variable is not set, and why\n",
        *(f"- `{entry.name}`: {_reason(entry)}" for entry in reasoned if entry.not_set or entry.derived),
        "\n## What a stack file cannot set, or had better not\n",
        *(line for entry in reasoned for line in _unfit(entry)),
        "\n## Known beside these\n",
        "No document that this program follows asks for them; a stack file may set them. With the release of each.\n",
        ", ".join(f"`{entry.name}`{_release(entry)}" for entry in further) + ".",
    ]
    return "\n".join(parts) + "\n"


def _setting(row: NcclSetting) -> Row:
    scope = {"training": "jobs", "verification": "measurements", "both": "jobs, measurements"}[row.scope]
    return f"`{value_words(row)}`", scope, audience_words(row), row.why, row.source


def _variable(entry: NcclVariable) -> Row:
    return f"`{entry.name}`", since_words(entry.since, entry), entry.does or "", entry.source


def _reason(entry: NcclVariable) -> str:
    derived = f"Set by the program: {entry.derived} " if entry.derived is not None else ""
    return f"{derived}{not_set_words(entry).partition(': ')[2]}"


def _unfit(entry: NcclVariable) -> list[str]:
    refused = [f"- `{entry.name}`, refused: {unfit_words(unfit)}" for unfit in entry.refused]
    if entry.limits is not None:
        refused.insert(0, f"- `{entry.name}`, allowed: {entry.limits.said}")
    return refused + [f"- `{entry.name}`, warned of: {unfit_words(unfit)}" for unfit in entry.discouraged]


def _release(entry: NcclVariable) -> str:
    return f" ({entry.since})" if isinstance(entry.since, Version) else ""


def _table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    return "\n".join(table(columns, ((cell.replace("|", "\\|") for cell in row) for row in rows)))
