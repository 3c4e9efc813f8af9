"""The reference of the components as a page (docs/components.md), from the schema and the programs of examples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic.alias_generators import to_snake

Json = Mapping[str, Any]

_HEAD = """\
# Components

Written by `make docs` from the [schema](schema/components.json) of the package and from the programs in
`examples/components`. How to use them is in [programs](programs.md), and other languages in [languages](languages.md).

Names are those of Python: another language has `nodeNames` for `node_names`. An argument of type *input* may be an
output of another resource; all others decide which resources there are, and must be known before the run. Types of
arguments that `gpu_fabric.components` does not have itself are in `gpu_fabric.components.args`.
"""
_SCALARS = {"string": "text", "boolean": "true or false", "integer": "integer", "number": "number"}


def reference(schema: Json, programs: Path) -> str:
    """The page as Markdown; `programs` is the folder with a program for each component."""
    resources = {token.rpartition(":")[2]: entry for token, entry in schema["resources"].items()}
    types = {token.rpartition(":")[2]: entry for token, entry in schema["types"].items()}
    every = _Names(types)
    rows = [f"| [`{name}`](#{name.lower()}) | {_summary(entry)} |" for name, entry in sorted(resources.items())]
    parts = [
        _HEAD,
        "\n".join(["| component | what it is |", "|---|---|", *rows]) + "\n",
        *("\n".join(_component(name, entry, programs, every)) for name, entry in sorted(resources.items())),
        "## Types\n",
        *("\n".join(_type(name, entry, every)) for name, entry in sorted(types.items())),
    ]
    return "\n".join(parts).rstrip() + "\n"


class _Names:
    """Types of the schema by their names in Python: those of arguments end in Args there."""

    def __init__(self, types: Mapping[str, Json]) -> None:
        from .. import args

        arguments = {name for name, found in vars(args).items() if getattr(found, "__module__", "") == args.__name__}
        # In the schema, `Settings` is added where a component has the name, and `Output` where arguments have it.
        longer = {name: (f"{name}Args", f"{name.removesuffix('Settings')}Args") for name in types}
        self._python = {
            name: next((found for found in names if found in arguments), name.removesuffix("Output"))
            for name, names in longer.items()
        }

    def heading(self, name: str) -> str:
        return self._python[name]

    def link(self, name: str) -> str:
        return f"[`{self._python[name]}`](#{self._python[name].lower()})"

    def is_of_arguments(self, name: str) -> bool:
        return self._python[name].endswith("Args")


def _component(name: str, entry: Json, programs: Path, names: _Names) -> Iterator[str]:
    yield f"## {name}\n"
    yield f"{entry['description']}\n"
    program = (programs / f"{to_snake(name)}.py").read_text(encoding="utf-8")
    yield f"```python\n{program}```\n"
    yield from _table("argument", entry["inputProperties"], entry.get("requiredInputs", ()), names, python=True)
    yield from _table("output", entry["properties"], (), names, python=True)


def _type(name: str, entry: Json, names: _Names) -> Iterator[str]:
    yield f"### {names.heading(name)}\n"
    yield f"{entry['description']}\n"
    arguments = names.is_of_arguments(name)
    required = entry.get("required", ())
    yield from _table("argument" if arguments else "key", entry["properties"], required, names, python=arguments)


def _table(what: str, properties: Json, required: Iterable[str], names: _Names, *, python: bool) -> Iterator[str]:
    yield f"| {what} | type | what it is |"
    yield "|---|---|---|"
    needed = set(required)
    for key, entry in sorted(properties.items(), key=lambda item: (item[0] not in needed, item[0])):
        written = to_snake(key) if python else key
        must = ", required" if key in needed and what == "argument" else ""
        text = str(entry["description"]).replace("|", "\\|")
        yield f"| `{written}` | {_kind(entry, names, what == 'argument')}{must} | {text} |"
    yield ""


def _kind(entry: Json, names: _Names, of_argument: bool) -> str:
    late = ", input" if of_argument and not entry.get("plain") and _is_text(entry) else ""
    secret = ", secret" if entry.get("secret") else ""
    return f"{_written(entry, names)}{late}{secret}"


def _is_text(entry: Json) -> bool:
    inner = entry.get("additionalProperties", entry)
    return inner.get("type") == "string" and not inner.get("plain")


def _written(entry: Json, names: _Names) -> str:
    referred = str(entry.get("$ref", ""))
    if referred.startswith("#/types/"):
        return names.link(referred.rpartition(":")[2])
    if referred:
        return "anything"
    match entry["type"]:
        case "array":
            return f"list of {_written(entry['items'], names)}"
        case "object":
            return f"mapping to {_written(entry['additionalProperties'], names)}"
        case scalar:
            return _SCALARS[scalar]


def _summary(entry: Json) -> str:
    return str(entry["description"]).partition("\n")[0]
