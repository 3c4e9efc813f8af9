"""What the resource types take and give, from the tables beside this file.

The tables follow the provider's Python package 5.5.0: names, kinds, which inputs are required, and which the package's
documentation calls updatable; whatever is not updatable replaces. As with Terraform's provider, an optional input that
the program drops keeps its value. `opaque` parts are taken as they come.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from fabric.tables import read_table
from sandbox.cloud.schema import Field, Fields

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
    return Field(
        kind,  # type: ignore[arg-type]  # a word of the table
        given="required" if required else "optional",
        computed=not required,
        replaces=not updatable,
        fields={name: _field(part, updatable=updatable) for name, part in parts.items()},
    )
