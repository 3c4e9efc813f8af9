"""Records of the plan as providers take them: types, and names of arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_MODULES = {"bastion": "Bastion", "containerengine": "ContainerEngine", "core": "Core", "identity": "Identity"}
# Arguments whose keys are the user's, or the machine's, and no names of the provider's.
_FREE_MAPS = frozenset({"labels", "metadata", "node_metadata"})


def oci_type(kind: str) -> str:
    """The provider's type of a record, whose kind is as in core.Vcn."""
    module, _, name = kind.partition(".")
    return f"oci:{_MODULES[module]}/{name[0].lower()}{name[1:]}:{name}"


def oci_function(function: str) -> str:
    """The provider's name of a look-up, such as core.get_services."""
    module, _, name = function.partition(".")
    return f"oci:{_MODULES[module]}/{wire_name(name)}:{wire_name(name)}"


def digitalocean_type(name: str) -> str:
    """The provider's type of a class of its package."""
    return f"digitalocean:index/{name[0].lower()}{name[1:]}:{name}"


def wire_name(name: str) -> str:
    """A name as the provider writes it; of a path with dots, every part."""
    return re.sub(r"_(\w)", lambda found: found[1].upper(), name)


def argument_name(name: str) -> str:
    """The name in Python of an argument that the provider writes so."""
    return re.sub(r"[A-Z]", lambda found: f"_{found[0].lower()}", name)


def wire_properties(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments under the provider's names."""
    return {
        wire_name(name): dict(value) if name in _FREE_MAPS and isinstance(value, Mapping) else wire_property(value)
        for name, value in arguments.items()
    }


def wire_property(value: Any) -> Any:
    """A value whose keys are the provider's, at any depth."""
    if isinstance(value, Mapping):
        return wire_properties(value)
    if isinstance(value, list | tuple):
        return [wire_property(entry) for entry in value]
    return value
