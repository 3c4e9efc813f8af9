"""Facts as data: shapes, release lines, NCCL settings, PCI trees. Each row names its source in the data file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

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
from fabric.catalog.release import Chart, ChartName, Component, ComponentImages, Image, ReleaseLine, Requirement
from fabric.catalog.shape import DoksSize, FrontEndNic, Gpus, Hardware, Nic, NicModel, Shape
from fabric.catalog.special_range import SpecialRange
from fabric.catalog.support import Support
from fabric.catalog.topology import FullForm, HostTree, NumaNode, PciIdentity, Topology
from fabric.tables import read_table

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

_FOLDER = Path(__file__).parent


class CatalogError(ValueError):
    """A data file of the catalog contradicts itself; the message names the file, the row and what is wrong."""


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
        return {**_listed(), **self.own_shapes} if self.own_shapes else _listed()

    @property
    def doks(self) -> DoksTable:
        """DigitalOcean's sizes, and the grammar of their names."""
        return _doks()

    @property
    def doks_clusters(self) -> DoksClusterFacts:
        """What DigitalOcean says about its clusters."""
        return _doks_clusters()

    @property
    def oke_clusters(self) -> OkeClusterFacts:
        """What Oracle says about its clusters."""
        return _oke_clusters()

    @property
    def releases(self) -> dict[str, ReleaseLine]:
        """Release lines by name."""
        return _releases()

    @property
    def chart_keys(self) -> ChartKeys:
        """What the charts know, dropped and ignore."""
        return _chart_keys()

    @property
    def chart_images(self) -> ChartImageTable:
        """What the charts run, by chart and version."""
        return _chart_images()

    @property
    def prices(self) -> PriceTable:
        """What machines cost, as far as it is known."""
        return _prices()

    @property
    def nccl(self) -> tuple[NcclSetting, ...]:
        """NCCL settings with their reasons."""
        return _nccl().settings

    @property
    def nccl_variables(self) -> dict[str, NcclVariable]:
        """NCCL's variables, those that are never set too."""
        return _nccl().known

    @property
    def pod_settings(self) -> PodSettings:
        """What every pod on the fabric needs."""
        return _pod_settings()

    @property
    def topologies(self) -> dict[str, Topology]:
        """PCI trees by shape: the published ones, and those of own shapes."""
        own = {
            name: Topology(shape=name, **dict(shape.topology))
            for name, shape in self.own_shapes.items()
            if shape.topology is not None
        }
        return {**_topologies(), **own} if own else _topologies()

    @property
    def address_limits(self) -> AddressLimits:
        """What bounds an address plan besides its own addresses."""
        return _address_limits()

    @property
    def special_ranges(self) -> tuple[SpecialRange, ...]:
        """Address ranges with a meaning of their own."""
        return _special_ranges()

    @property
    def support(self) -> tuple[Support, ...]:
        """What goes with what."""
        return _support()

    def find(self, name: str) -> Shape | None:
        """The shape of this name: a row, or an unlisted DigitalOcean size that its name explains (`known` False)."""
        if name in self.own_shapes:
            return self.own_shapes[name]
        return _oci().get(name) or _servers().get(name) or size_shape(name, _doks())

    def with_shapes(self, extra: Mapping[str, Shape]) -> Catalog:
        """This catalog with further shapes, which win over rows of the same name."""
        return Catalog({**self.own_shapes, **extra}) if extra else self


def read_shapes(path: Path) -> dict[str, Shape]:
    """The shapes of one table, by name.

    Raises:
        CatalogError: a row contradicts itself or lacks a fact that every shape has.
    """
    shapes: dict[str, Shape] = {}
    for name, row in _rows(path, "name").items():
        try:
            shapes[name] = Shape.model_validate(row)
        except ValidationError as error:
            raise CatalogError(f"{path.name}: row {name}: {_reasons(error)}") from None
    return shapes


def read_sizes(path: Path) -> DoksTable:
    """DigitalOcean's sizes.

    Raises:
        CatalogError: a row's name does not fit the grammar or the models, or a row contradicts itself.
    """
    try:
        return DoksTable.model_validate(read_table(path))
    except ValidationError as error:
        raise CatalogError(f"{path.name}: {_reasons(error)}") from None


def read_nccl(path: Path) -> NcclTable:
    """NCCL's variables and settings.

    Raises:
        CatalogError: an entry contradicts itself, or lacks what every entry has.
    """
    try:
        return NcclTable.model_validate(read_table(path))
    except ValidationError as error:
        raise CatalogError(f"{path.name}: {_reasons(error)}") from None


def _reasons(error: ValidationError) -> str:
    found = ((".".join(str(part) for part in item["loc"]), item["msg"]) for item in error.errors())
    return "; ".join(f"{place}: {reason}" if place else reason for place, reason in found)


def _table(name: str) -> Any:
    return read_table(_FOLDER / f"{name}.yaml")


def _rows(path: Path, key: str) -> dict[str, dict[str, Any]]:
    return {name: {key: name, **row} for name, row in read_table(path).items()}


@cache
def _oci() -> dict[str, Shape]:
    return read_shapes(_FOLDER / "shapes" / "oci.yaml")


@cache
def _servers() -> dict[str, Shape]:
    return read_shapes(_FOLDER / "shapes" / "servers.yaml")


@cache
def _doks() -> DoksTable:
    return read_sizes(_FOLDER / "shapes" / "doks.yaml")


@cache
def _listed() -> dict[str, Shape]:
    return {**_oci(), **_doks().shapes(), **_servers()}


@cache
def _doks_clusters() -> DoksClusterFacts:
    return DoksClusterFacts.model_validate(_table("doks_clusters"))


@cache
def _oke_clusters() -> OkeClusterFacts:
    parts = {key: _table(f"oke_{key}") for key in ("regions", "security_rules", "policies", "instances", "advice")}
    return OkeClusterFacts.model_validate({**_table("oke_clusters"), **parts})


@cache
def _releases() -> dict[str, ReleaseLine]:
    rows = _rows(_FOLDER / "releases.yaml", "name")
    return {name: ReleaseLine.model_validate(row) for name, row in rows.items()}


@cache
def _topologies() -> dict[str, Topology]:
    rows = _rows(_FOLDER / "topologies.yaml", "shape")
    return {name: Topology.model_validate(row) for name, row in rows.items()}


@cache
def _chart_keys() -> ChartKeys:
    return ChartKeys.model_validate(_table("chart_keys"))


@cache
def _chart_images() -> ChartImageTable:
    return TypeAdapter(ChartImageTable).validate_python(_table("chart_images"))


@cache
def _prices() -> PriceTable:
    return PriceTable.model_validate(_table("prices"))


@cache
def _pod_settings() -> PodSettings:
    return PodSettings.model_validate(_table("pod_settings"))


@cache
def _nccl() -> NcclTable:
    return read_nccl(_FOLDER / "nccl.yaml")


@cache
def _address_limits() -> AddressLimits:
    return AddressLimits.model_validate(_table("address_limits"))


@cache
def _special_ranges() -> tuple[SpecialRange, ...]:
    return tuple(SpecialRange.model_validate(row) for row in _table("special_ranges"))


@cache
def _support() -> tuple[Support, ...]:
    return tuple(Support.model_validate(row) for row in _table("support"))


@cache
def catalog() -> Catalog:
    """The catalog of this checkout."""
    return Catalog()
