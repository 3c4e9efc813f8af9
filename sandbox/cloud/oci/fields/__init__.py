"""Inputs and outputs of the resource types, from the tables beside this file.

Names, kinds and required inputs are those of the provider's Python package 5.5.0. The flags are those of the schema of
Oracle's Terraform provider 8.28.0; each property of the stacks was run against it. An `updatable` property changes in
place, any other one replaces the resource. An optional input that the program drops keeps its value, unless it is
`plain`. A `set` has no order. An `output` cannot be given. `default:` is the value of an omitted input, `among:` lists
the allowed values, and `but:` the inputs that exclude each other. `opaque` parts are accepted unchecked.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from gpu_fabric.base.tables import read_table
from ...schema import Field, Fields

_FILES = {
    "Vcn": "network",
    "InternetGateway": "network",
    "NatGateway": "network",
    "ServiceGateway": "network",
    "RouteTable": "network",
    "Subnet": "network",
    "SecurityList": "security",
    "DefaultSecurityList": "security",
    "NetworkSecurityGroup": "security",
    "NetworkSecurityGroupSecurityRule": "security",
    "DynamicGroup": "identity",
    "Policy": "identity",
    "DomainsDynamicResourceGroup": "identity",
    "Bastion": "identity",
    "Session": "identity",
    "Cluster": "clusters",
    "NodePool": "clusters",
    "Addon": "clusters",
    "Instance": "machines",
    "ComputeCluster": "machines",
    "ComputeCapacityReservation": "machines",
    "Image": "machines",
    "ShapeManagement": "machines",
    "InstanceConfiguration": "pools",
    "ClusterNetwork": "pools",
    "InstancePool": "pools",
    "ComputeGpuMemoryCluster": "pools",
}


@cache
def fields_of(kind: str) -> Fields:
    """The fields of a resource type, by the last part of its token, such as Vcn."""
    table = _table(_FILES[kind])[token_of(kind)]
    fields = {name: _field(content, updatable=True) for name, content in table["given"].items()}
    return {**fields, **{name: Field("string", given="never") for name in table["outputs"]}}


def token_of(kind: str) -> str:
    """Pulumi's token of a resource type."""
    return next(token for token in _table(_FILES[kind]) if token.endswith(f":{kind}"))


def kinds() -> tuple[str, ...]:
    """The resource types that have fields here."""
    return tuple(_FILES)


@cache
def _table(name: str) -> dict[str, Any]:
    table: dict[str, Any] = read_table(Path(__file__).with_name(f"{name}.yaml"))
    return table


def _field(content: str | dict[str, Any], *, updatable: bool) -> Field:
    text = content if isinstance(content, str) else content["is"]
    kind, *words = text.split()
    # a part of what is for life is for life
    updatable = updatable and "updatable" in words
    parts = {} if isinstance(content, str) else {name: part for name, part in content.items() if name != "is"}
    required = "required" in words
    settings = dict(word.split(":", 1) for word in words if ":" in word)
    default = json.loads(settings["default"]) if "default" in settings else None
    among = tuple(filter(None, settings.get("among", "").split(",")))
    return Field(
        kind,  # type: ignore[arg-type]  # a word of the table
        given="required" if required else "optional",
        computed=not required and "plain" not in words and default is None,
        default=default,
        replaces=not updatable,
        unordered="set" in words,
        shown="output" in words,
        conflicts=tuple(filter(None, settings.get("but", "").split(","))),
        check=_among(among) if among else None,
        fields={name: _field(part, updatable=updatable) for name, part in parts.items()},
    )


def _among(allowed: tuple[str, ...]) -> Callable[[Any], str | None]:
    known = {each.lower() for each in allowed}
    return lambda value: None if value.lower() in known else f"expected one of {', '.join(allowed)}, got {value}"
