"""The data files of the catalog as models: each is read and validated at its first use."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from fabric.catalog.address_limit import AddressLimits
from fabric.catalog.chart_image import ChartImageTable
from fabric.catalog.chart_key import ChartKeys
from fabric.catalog.doks_cluster import DoksClusterFacts
from fabric.catalog.doks_size import DoksTable
from fabric.catalog.nccl_variable import NcclTable
from fabric.catalog.oke_cluster import OkeClusterFacts
from fabric.catalog.pod_setting import PodSettings
from fabric.catalog.price import PriceTable
from fabric.catalog.release import ReleaseLine
from fabric.catalog.shape import Shape
from fabric.catalog.special_range import SpecialRange
from fabric.catalog.support import Support
from fabric.catalog.topology import Topology
from fabric.tables import read_table

_FOLDER = Path(__file__).parent


class CatalogError(ValueError):
    """A data file of the catalog contradicts itself; the message names the file, the row and what is wrong."""


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


@cache
def oci_shapes() -> dict[str, Shape]:
    """Oracle's shapes."""
    return read_shapes(_FOLDER / "shapes" / "oci.yaml")


@cache
def servers() -> dict[str, Shape]:
    """Server models."""
    return read_shapes(_FOLDER / "shapes" / "servers.yaml")


@cache
def doks_sizes() -> DoksTable:
    """DigitalOcean's sizes, and the grammar of their names."""
    return read_sizes(_FOLDER / "shapes" / "doks.yaml")


@cache
def listed_shapes() -> dict[str, Shape]:
    """Every shape that has a row."""
    return {**oci_shapes(), **doks_sizes().shapes(), **servers()}


@cache
def doks_clusters() -> DoksClusterFacts:
    """What DigitalOcean says about its clusters."""
    return DoksClusterFacts.model_validate(_table("doks_clusters"))


@cache
def oke_clusters() -> OkeClusterFacts:
    """What Oracle says about its clusters."""
    parts = {key: _table(f"oke_{key}") for key in ("regions", "security_rules", "policies", "instances", "advice")}
    return OkeClusterFacts.model_validate({**_table("oke_clusters"), **parts})


@cache
def releases() -> dict[str, ReleaseLine]:
    """Release lines by name."""
    rows = _rows(_FOLDER / "releases.yaml", "name")
    return {name: ReleaseLine.model_validate(row) for name, row in rows.items()}


@cache
def topologies() -> dict[str, Topology]:
    """Published PCI trees by shape."""
    rows = _rows(_FOLDER / "topologies.yaml", "shape")
    return {name: Topology.model_validate(row) for name, row in rows.items()}


@cache
def chart_keys() -> ChartKeys:
    """What the charts know, dropped and ignore."""
    return ChartKeys.model_validate(_table("chart_keys"))


@cache
def chart_images() -> ChartImageTable:
    """What the charts run, by chart and version."""
    return TypeAdapter(ChartImageTable).validate_python(_table("chart_images"))


@cache
def prices() -> PriceTable:
    """What machines cost, as far as it is known."""
    return PriceTable.model_validate(_table("prices"))


@cache
def pod_settings() -> PodSettings:
    """What every pod on the fabric needs."""
    return PodSettings.model_validate(_table("pod_settings"))


@cache
def nccl() -> NcclTable:
    """NCCL's variables and settings."""
    return read_nccl(_FOLDER / "nccl.yaml")


@cache
def address_limits() -> AddressLimits:
    """What bounds an address plan besides its own addresses."""
    return AddressLimits.model_validate(_table("address_limits"))


@cache
def special_ranges() -> tuple[SpecialRange, ...]:
    """Address ranges with a meaning of their own."""
    return tuple(SpecialRange.model_validate(row) for row in _table("special_ranges"))


@cache
def support() -> tuple[Support, ...]:
    """What goes with what."""
    return tuple(Support.model_validate(row) for row in _table("support"))


def _reasons(error: ValidationError) -> str:
    found = ((".".join(str(part) for part in item["loc"]), item["msg"]) for item in error.errors())
    return "; ".join(f"{place}: {reason}" if place else reason for place, reason in found)


def _table(name: str) -> Any:
    return read_table(_FOLDER / f"{name}.yaml")


def _rows(path: Path, key: str) -> dict[str, dict[str, Any]]:
    return {name: {key: name, **row} for name, row in read_table(path).items()}
