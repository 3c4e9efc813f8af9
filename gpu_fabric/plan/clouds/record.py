"""The form of all records: what one resource is asked for, and what it refers to by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal, Protocol

from pydantic import computed_field
from typing_extensions import TypeAliasType

from gpu_fabric.model import FrozenModel


class Ref(FrozenModel):
    """What is known only once another record or look-up of the plan is there: one of its outputs.

    Outputs are the SDK's, with places in lists as in `endpoints[0].private_endpoint`, or those that a look-up names.
    The cluster has one more: `apiserver_host`, its private endpoint without the port.
    """

    ref: str
    output: str = "id"


class Text(FrozenModel):
    """A text with references in it, by the names between its braces; `{{` and `}}` are braces themselves."""

    text: str
    refs: dict[str, Ref]


Value = TypeAliasType("Value", "str | int | bool | Ref | Text | list[Value] | dict[str, Value] | None")
"""What an argument may be: JSON, with references in the place of what is not known yet."""

Id = str | Ref
"""The id of something: written in the stack file, or of another record."""


class Record(FrozenModel):
    """One resource: `sdk` names its class, `logical_name` the resource in the stack; both never change.

    Every other field is an argument of that class, under the argument's own name; what is None is left out, and the
    cloud decides. `after` names records that must exist before, beyond those that arguments refer to; `network` stands
    for all of the network's. `ignore_changes` are arguments, or parts of one after a dot. `adopts` is the id of an
    existing resource that becomes the stack's own. `in_home_region` is for what Oracle keeps in the tenancy's home
    region only. Timeouts are those of Pulumi, such as 30m.

    A class that `clashes` cannot exist twice with one name or range, so the old resource is deleted before the new one
    is created. One that is `on_cluster` is deleted with the cluster.
    """

    sdk: ClassVar[str]
    clashes: ClassVar[bool] = False
    on_cluster: ClassVar[bool] = False

    logical_name: str
    after: tuple[str, ...] = ()
    ignore_changes: tuple[str, ...] = ()
    create_timeout: str | None = None
    update_timeout: str | None = None
    delete_timeout: str | None = None
    adopts: str | None = None
    in_home_region: bool = False
    protect: bool = False

    @computed_field  # type: ignore[prop-decorator]  # pydantic's own way to write it
    @property
    def kind(self) -> str:
        """The class in the SDK, such as core.Vcn or digitalocean.Vpc."""
        return self.sdk

    @property
    def arguments(self) -> dict[str, Value]:
        """The arguments that are given, by name."""
        given = ((name, getattr(self, name)) for name in type(self).model_fields if name not in Record.model_fields)
        return {name: value for name, value in given if value is not None}

    @property
    def references(self) -> tuple[Ref, ...]:
        """Everything that the arguments refer to."""
        return tuple(references_in(self.arguments))


class CloudResources(Protocol):
    """Everything that a cloud is asked for."""

    @property
    def cluster(self) -> Record:
        """The cluster."""

    @property
    def protect(self) -> bool:
        """Whether the cluster and its nodes are protected from deletion."""

    @property
    def records(self) -> tuple[Record, ...]:
        """Every resource, after all that it refers to or comes after."""

    def before(self, record: Record) -> tuple[str, ...]:
        """The records that one comes after beyond those that it refers to, by their logical names."""

    def provider(self, record: Record) -> str:
        """The provider of a record, by the end of its name."""


class Lookup(FrozenModel):
    """A question to Oracle that the plan cannot answer; `function` is the SDK's, `output` says what is taken from it.

    `after` names records that must be there before.
    """

    logical_name: str
    function: Literal[
        "core.get_services",
        "identity.get_availability_domains",
        "containerengine.get_node_pool_option",
        "containerengine.get_node_pools",
        "containerengine.get_cluster_kube_config",
        "oci:tenancyOcid",
    ]
    arguments: dict[str, Value]
    outputs: dict[str, str]

    @property
    def references(self) -> tuple[Ref, ...]:
        """Everything that the question refers to."""
        return tuple(references_in(self.arguments))


def references_in(value: Value) -> Iterator[Ref]:
    """Every reference in a value, at any depth."""
    if isinstance(value, Ref):
        yield value
    elif isinstance(value, Text):
        yield from value.refs.values()
    elif isinstance(value, dict):
        for entry in value.values():
            yield from references_in(entry)
    elif isinstance(value, list | tuple):
        for entry in value:
            yield from references_in(entry)
