"""The whole of what a user may write for one stack."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from fabric.catalog import Catalog, Shape, catalog
from fabric.catalog.shape import Hardware
from fabric.model import FrozenModel
from fabric.spec.doks import DoksCluster
from fabric.spec.existing import ExistingCluster
from fabric.spec.fabric import Fabric
from fabric.spec.guard import Guard
from fabric.spec.oke import OkeCluster
from fabric.spec.software import Software
from fabric.spec.split import Split
from fabric.spec.verification import Verification

Cluster = Annotated[ExistingCluster | DoksCluster | OkeCluster, Field(discriminator="provider")]
"""One of the providers' forms; `provider` says which."""

PROVIDERS: dict[str, type[ExistingCluster | DoksCluster | OkeCluster]] = {
    "existing": ExistingCluster,
    "doks": DoksCluster,
    "oke": OkeCluster,
}


class StackSpec(FrozenModel):
    """A validated stack file."""

    name: str = Field(description="the stack's name")
    cluster: Cluster
    fabric: Fabric = Fabric()
    software: Software = Software()
    verification: Verification = Verification()
    guard: Guard = Guard()
    split: Split = Split()

    @property
    def cluster_stack(self) -> str:
        """The stack that makes the cluster, or reaches the one that exists: this one, unless it is a platform alone."""
        return self.split.cluster_stack or self.name

    @property
    def catalog(self) -> Catalog:
        """The catalog, with the shapes that the stack describes itself."""
        return catalog().with_shapes({name: own_shape(name, row) for name, row in self.cluster.shapes.items()})


def own_shape(name: str, hardware: Hardware) -> Shape:
    """A shape written in a stack file, as the catalog holds its own."""
    return Shape(name=name, provider="inline", vf_support="host", source="the stack file", **dict(hardware))
