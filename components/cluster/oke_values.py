"""Records of the plan as the provider `oci` takes them: types, names of arguments, and what is known only later.

The provider's Python package is not imported: it takes seconds and 100 MB, and its classes would send just this.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, Protocol

import pulumi

from fabric.plan.clouds.oke import Ref, Text, Value

_MODULES = {"bastion": "Bastion", "containerengine": "ContainerEngine", "core": "Core", "identity": "Identity"}
# Arguments whose keys are the user's, or the machine's, and no names of the provider's.
_FREE_MAPS = frozenset({"metadata", "node_metadata"})


class References(Protocol):
    """What else the plan names."""

    def __call__(self, ref: Ref) -> pulumi.Input[Any]:
        """The output of a record or a look-up."""


def plugin_version() -> str:
    """The provider's version: that of its Python package, by which the engine finds the plug-in, too."""
    return version("pulumi-oci")


def resource_token(kind: str) -> str:
    """The provider's type of a record, whose kind is as in core.Vcn."""
    module, _, name = kind.partition(".")
    return f"oci:{_MODULES[module]}/{name[0].lower()}{name[1:]}:{name}"


def function_token(function: str) -> str:
    """The provider's name of a look-up, such as core.get_services."""
    module, _, name = function.partition(".")
    return f"oci:{_MODULES[module]}/{wire_name(name)}:{wire_name(name)}"


def wire_name(name: str) -> str:
    """A name as the provider writes it; of a path with dots, every part."""
    return re.sub(r"_(\w)", lambda found: found[1].upper(), name)


def wire_arguments(arguments: Mapping[str, Value], references: References) -> dict[str, Any]:
    """Arguments under the provider's names, with outputs in the place of references."""
    return {
        wire_name(name): {key: wire_value(text, references) for key, text in value.items()}
        if name in _FREE_MAPS and isinstance(value, dict)
        else wire_value(value, references)
        for name, value in arguments.items()
    }


def wire_value(value: Value, references: References) -> Any:
    """A value as the provider takes it."""
    if isinstance(value, Ref):
        return references(value)
    if isinstance(value, Text):
        known = pulumi.Output.all(**{name: references(ref) for name, ref in value.refs.items()})
        text = value.text
        return known.apply(lambda words: text.format(**words))
    if isinstance(value, dict):
        return wire_arguments(value, references)
    if isinstance(value, list | tuple):
        return [wire_value(entry, references) for entry in value]
    return value


def value_at(value: Any, path: str) -> Any:
    """What lies at a path within an output, such as `[0].private_endpoint`, under the provider's names."""
    for part in re.findall(r"\w+", path):
        value = value[int(part)] if part.isdecimal() else value[wire_name(part)]
    return value
