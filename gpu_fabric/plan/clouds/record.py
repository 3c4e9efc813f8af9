"""The form of all records: the arguments of one resource, and its references by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal, Protocol

from pydantic import computed_field
from typing_extensions import TypeAliasType

from gpu_fabric.model import FrozenModel


class Ref(FrozenModel):
    """An output of another record or look-up of the plan, which is known only after its creation.

    Outputs are the SDK's, with list indices as in `endpoints[0].private_endpoint`, or those that a look-up names. The
    cluster has one more: `apiserver_host`, its private endpoint without the port.
    """

    ref: str
    output: str = "id"


class Text(FrozenModel):
    """A text with references, by the names between its braces; `{{` and `}}` are literal braces."""

    text: str
    refs: dict[str, Ref]


Value = TypeAliasType("Value", "str | int | bool | Ref | Text | list[Value] | dict[str, Value] | None")
"""The value of an argument: JSON, with references in the place of values that are not yet known."""

Id = str | Ref
"""An id: written in the stack file, or of another record."""


class Record(FrozenModel):
    """One resource: `sdk` names its class, `logical_name` the resource in the stack; both never change.

    Every other field is an argument of that class, under the argument's own name; None is omitted, and the cloud
    decides. `after` names records that must exist before, beyond those that arguments refer to; `network` means all
    records of the network. `ignore_changes` are arguments, or parts of one after a dot. `adopts` is the id of an
    existing resource that becomes the stack's own. `in_home_region` marks resources that Oracle keeps in the tenancy's
    home region only. Timeouts are those of Pulumi, such as 30m.

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
        """The arguments with a value, by name."""
        common = Record.model_fields
        given = ((name, getattr(self, name)) for name in type(self).model_fields if name not in common)
        return {name: value for name, value in given if value is not None}

    @property
    def references(self) -> tuple[Ref, ...]:
        """All references in the arguments."""
        return tuple(references_in(self.arguments))


class CloudResources(Protocol):
    """All resources at a cloud."""

    @property
    def cluster(self) -> Record:
        """The cluster."""

    @property
    def protect(self) -> bool:
        """Whether the cluster and its nodes are protected from deletion."""

    @property
    def records(self) -> tuple[Record, ...]:
        """Every resource, after those that it depends on."""

    def before(self, record: Record) -> tuple[str, ...]:
        """The logical names of the records that must exist before a record, beyond those that it refers to."""

    def provider(self, record: Record) -> str:
        """The provider of a record, by the end of its name."""


class Lookup(FrozenModel):
    """A query to Oracle for facts unknown to the plan; `function` is the SDK's, `outputs` describe its results."""

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
        """All references in the arguments."""
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
