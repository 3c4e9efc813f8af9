"""Facts as data: shapes, release lines, NCCL settings, PCI trees. Each row names its source in the data file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from fabric.catalog import reading
from fabric.catalog.address_limit import AddressLimits
from fabric.catalog.chart_image import ChartImage, ChartImages, ChartImageTable
from fabric.catalog.chart_key import ChartKeys, KeyProblem
from fabric.catalog.doks_cluster import DoksClusterFacts
from fabric.catalog.doks_size import DoksTable, size_shape
from fabric.catalog.nccl_setting import DeviceAccess, IpVersion, NcclSetting, Scope, nccl_environment
from fabric.catalog.nccl_variable import NcclTable, NcclVariable
from fabric.catalog.oke_cluster import OkeClusterFacts
from fabric.catalog.pod_setting import PodSettings
from fabric.catalog.price import PriceTable
from fabric.catalog.reading import CatalogError, read_nccl, read_shapes, read_sizes
from fabric.catalog.release import Chart, ChartName, Component, ComponentImages, Image, ReleaseLine, Requirement
from fabric.catalog.shape import DoksSize, FrontEndNic, Gpus, Hardware, Nic, NicModel, Shape
from fabric.catalog.special_range import SpecialRange
from fabric.catalog.support import Support
from fabric.catalog.topology import FullForm, HostTree, NumaNode, PciIdentity, Topology

__all__ = [
    "AddressLimits",
    "Catalog",
    "CatalogError",
    "Chart",
    "ChartImage",
    "ChartImages",
    "ChartKeys",
    "ChartName",
    "Component",
    "ComponentImages",
    "DeviceAccess",
    "DoksClusterFacts",
    "DoksSize",
    "FrontEndNic",
    "FullForm",
    "Gpus",
    "Hardware",
    "HostTree",
    "Image",
    "IpVersion",
    "KeyProblem",
    "NcclSetting",
    "NcclTable",
    "NcclVariable",
    "Nic",
    "NicModel",
    "NumaNode",
    "OkeClusterFacts",
    "PciIdentity",
    "PodSettings",
    "PriceTable",
    "ReleaseLine",
    "Requirement",
    "Scope",
    "Shape",
    "SpecialRange",
    "Support",
    "Topology",
    "catalog",
    "nccl_environment",
    "read_nccl",
    "read_shapes",
    "read_sizes",
]


@dataclass(frozen=True)
class Catalog:
    """All facts, keyed by the name a user writes; `own_shapes` are those of a stack file.

    Each table is read and validated at its first use, since a run looks at about half of them.

    Raises:
        CatalogError: on first use of a table of shapes that holds an inconsistent row.
        pydantic.ValidationError: on first use of another table that does.
    """

    own_shapes: Mapping[str, Shape] = field(default_factory=dict)

    @property
    def shapes(self) -> dict[str, Shape]:
        """Every shape; an own one wins over a row of the same name."""
        return {**reading.listed_shapes(), **self.own_shapes} if self.own_shapes else reading.listed_shapes()

    @property
    def doks(self) -> DoksTable:
        """DigitalOcean's sizes, and the grammar of their names."""
        return reading.doks_sizes()

    @property
    def doks_clusters(self) -> DoksClusterFacts:
        """What DigitalOcean says about its clusters."""
        return reading.doks_clusters()

    @property
    def oke_clusters(self) -> OkeClusterFacts:
        """What Oracle says about its clusters."""
        return reading.oke_clusters()

    @property
    def releases(self) -> dict[str, ReleaseLine]:
        """Release lines by name."""
        return reading.releases()

    @property
    def chart_keys(self) -> ChartKeys:
        """What the charts know, dropped and ignore."""
        return reading.chart_keys()

    @property
    def chart_images(self) -> ChartImageTable:
        """What the charts run, by chart and version."""
        return reading.chart_images()

    @property
    def prices(self) -> PriceTable:
        """What machines cost, as far as it is known."""
        return reading.prices()

    @property
    def nccl(self) -> tuple[NcclSetting, ...]:
        """NCCL settings with their reasons."""
        return reading.nccl().settings

    @property
    def nccl_variables(self) -> dict[str, NcclVariable]:
        """NCCL's variables, those that are never set too."""
        return reading.nccl().known

    @property
    def pod_settings(self) -> PodSettings:
        """What every pod on the fabric needs."""
        return reading.pod_settings()

    @property
    def topologies(self) -> dict[str, Topology]:
        """PCI trees by shape: the published ones, and those of own shapes."""
        own = {
            name: Topology(shape=name, **dict(shape.topology))
            for name, shape in self.own_shapes.items()
            if shape.topology is not None
        }
        return {**reading.topologies(), **own} if own else reading.topologies()

    @property
    def address_limits(self) -> AddressLimits:
        """What bounds an address plan besides its own addresses."""
        return reading.address_limits()

    @property
    def special_ranges(self) -> tuple[SpecialRange, ...]:
        """Address ranges with a meaning of their own."""
        return reading.special_ranges()

    @property
    def support(self) -> tuple[Support, ...]:
        """What goes with what."""
        return reading.support()

    def find(self, name: str) -> Shape | None:
        """The shape of this name: a row, or an unlisted DigitalOcean size that its name explains (`known` False)."""
        if name in self.own_shapes:
            return self.own_shapes[name]
        return reading.oci_shapes().get(name) or reading.servers().get(name) or size_shape(name, reading.doks_sizes())

    def with_shapes(self, extra: Mapping[str, Shape]) -> Catalog:
        """This catalog with further shapes, which win over rows of the same name."""
        return Catalog({**self.own_shapes, **extra}) if extra else self


@cache
def catalog() -> Catalog:
    """The catalog of this checkout."""
    return Catalog()
