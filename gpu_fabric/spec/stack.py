"""The complete spec of one stack."""

from __future__ import annotations

from functools import cache
from typing import Annotated

from pydantic import Field

from gpu_fabric.catalog import Catalog, Shape, catalog
from gpu_fabric.catalog.shape import Hardware
from gpu_fabric.model import FrozenModel
from gpu_fabric.spec.doks import DoksClusterSpec
from gpu_fabric.spec.existing import ExistingClusterSpec
from gpu_fabric.spec.fabric import FabricSpec
from gpu_fabric.spec.further_fabric import FabricName, FurtherFabricSpec
from gpu_fabric.spec.guard import GuardSpec
from gpu_fabric.spec.monitoring import MonitoringSpec
from gpu_fabric.spec.oke import OkeClusterSpec
from gpu_fabric.spec.software import SoftwareSpec
from gpu_fabric.spec.split import SplitSpec
from gpu_fabric.spec.upgrade import UpgradeSpec
from gpu_fabric.spec.verification import VerificationSpec

Cluster = Annotated[ExistingClusterSpec | DoksClusterSpec | OkeClusterSpec, Field(discriminator="provider")]
"""The section of one provider, selected by the key `provider`."""

PROVIDERS: dict[str, type[ExistingClusterSpec | DoksClusterSpec | OkeClusterSpec]] = {
    "existing": ExistingClusterSpec,
    "doks": DoksClusterSpec,
    "oke": OkeClusterSpec,
}


class StackSpec(FrozenModel):
    """A validated stack file."""

    name: str = Field(description="the stack's name")
    cluster: Cluster
    fabric: FabricSpec = FabricSpec()
    fabrics: dict[FabricName, FurtherFabricSpec] = Field(
        default={},
        description="further fabrics by name: of pools with other machines, or of other NICs on the same nodes",
    )
    software: SoftwareSpec = SoftwareSpec()
    verification: VerificationSpec = VerificationSpec()
    monitoring: MonitoringSpec = MonitoringSpec()
    guard: GuardSpec = GuardSpec()
    split: SplitSpec = SplitSpec()
    upgrade: UpgradeSpec | None = Field(
        default=None, description="waves in which nodes are changed; without it operators change them by themselves"
    )

    @property
    def cluster_stack(self) -> str:
        """The stack that creates or reaches the cluster: this one, unless it is of part platform."""
        return self.split.cluster_stack or self.name

    @property
    def present(self) -> frozenset[str]:
        """Software that the cluster has: what its section lists, and what is not installed because it is there."""
        return self.software.present.union(self.cluster.installed)

    @property
    def catalog(self) -> Catalog:
        """The catalog with the stack's own shapes."""
        return catalog().with_shapes({name: own_shape(name, row) for name, row in self.cluster.shapes.items()})


SECTIONS = frozenset(StackSpec.model_fields) - {"name"}
"""The sections of a stack file."""


@cache
def spec_keys() -> frozenset[str]:
    """Every key that a stack file may have, of every section at any depth."""
    schema = StackSpec.model_json_schema(by_alias=True)
    return frozenset(key for part in (schema, *schema["$defs"].values()) for key in part.get("properties", ()))


def own_shape(name: str, hardware: Hardware) -> Shape:
    """A shape from a stack file as a record of the catalog."""
    return Shape(name=name, provider="inline", vf_support="host", source="the stack file", **dict(hardware))
