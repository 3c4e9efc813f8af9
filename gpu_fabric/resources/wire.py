"""Types and names of arguments as the providers expect them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_MODULES = {
    "bastion": "oci:Bastion",
    "containerengine": "oci:ContainerEngine",
    "core": "oci:Core",
    "digitalocean": "digitalocean:index",
    "identity": "oci:Identity",
}
# Arguments whose keys come from the user or the machine, and are not the provider's names.
_FREE_MAPS = frozenset({"labels", "metadata", "node_metadata"})


def wire_type(kind: str) -> str:
    """The provider's type of a record's kind, such as core.Vcn."""
    module, _, name = kind.partition(".")
    return f"{_MODULES[module]}/{name[0].lower()}{name[1:]}:{name}"


def wire_function(function: str) -> str:
    """The provider's token of a function, such as core.get_services."""
    module, _, name = function.partition(".")
    return f"{_MODULES[module]}/{wire_name(name)}:{wire_name(name)}"


def wire_name(name: str) -> str:
    """A name, or each part of a dotted path, in the provider's spelling."""
    return re.sub(r"_(\w)", lambda found: found[1].upper(), name)


def wire_properties(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments with the provider's names."""
    return {
        wire_name(name): dict(value) if name in _FREE_MAPS and isinstance(value, Mapping) else wire_property(value)
        for name, value in arguments.items()
    }


def wire_property(value: Any) -> Any:
    """A value whose keys have the provider's names, at any depth."""
    if isinstance(value, Mapping):
        return wire_properties(value)
    if isinstance(value, list | tuple):
        return [wire_property(entry) for entry in value]
    return value
