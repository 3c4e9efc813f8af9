"""Facts as data: shapes, release lines, NCCL settings, PCI trees. Each row names its source in the data file."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Self

import yaml
from pydantic import ValidationError

from fabric.catalog.chart_key import ChartKeys, KeyProblem
from fabric.catalog.doks_cluster import DoksClusterFacts
from fabric.catalog.doks_size import DoksTable, size_shape
from fabric.catalog.nccl_setting import DeviceAccess, NcclSetting, nccl_environment
from fabric.catalog.oke_cluster import OkeClusterFacts
from fabric.catalog.pod_setting import PodSettings
from fabric.catalog.release import Chart, ChartName, Component, ComponentImages, Image, ReleaseLine, Requirement
from fabric.catalog.shape import DoksSize, FrontEndNic, Gpus, Hardware, Nic, NicModel, Shape
from fabric.catalog.special_range import SpecialRange
from fabric.catalog.support import Support
from fabric.catalog.topology import NumaNode, PciIdentity, Topology
from fabric.model import FrozenModel

__all__ = [
    "Catalog",
    "CatalogError",
    "Chart",
    "ChartKeys",
    "ChartName",
    "Component",
    "ComponentImages",
    "DeviceAccess",
    "DoksClusterFacts",
    "DoksSize",
    "FrontEndNic",
    "Gpus",
    "Hardware",
    "Image",
    "KeyProblem",
    "NcclSetting",
    "Nic",
    "NicModel",
    "NumaNode",
    "OkeClusterFacts",
    "PciIdentity",
    "PodSettings",
    "ReleaseLine",
    "Requirement",
    "Shape",
    "SpecialRange",
    "Support",
    "Topology",
    "catalog",
    "nccl_environment",
    "read_shapes",
    "read_sizes",
]

_FOLDER = Path(__file__).parent


class CatalogError(ValueError):
    """A data file of the catalog contradicts itself; the message names the file, the row and what is wrong."""


class Catalog(FrozenModel):
    """All facts, keyed by the name a user writes. `doks` reads the names of sizes that have no row."""

    shapes: dict[str, Shape]
    doks: DoksTable
    doks_clusters: DoksClusterFacts
    oke_clusters: OkeClusterFacts
    releases: dict[str, ReleaseLine]
    chart_keys: ChartKeys
    nccl: tuple[NcclSetting, ...]
    pod_settings: PodSettings
    topologies: dict[str, Topology]
    special_ranges: tuple[SpecialRange, ...]
    support: tuple[Support, ...]

    def find(self, name: str) -> Shape | None:
        """The shape of this name: a row, or an unlisted DigitalOcean size that its name explains (`known` False)."""
        return self.shapes.get(name) or size_shape(name, self.doks)

    def with_shapes(self, extra: Mapping[str, Shape]) -> Self:
        """This catalog with further shapes, which win over rows of the same name."""
        return self.model_copy(update={"shapes": {**self.shapes, **extra}}) if extra else self


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
        return DoksTable.model_validate(_read(path))
    except ValidationError as error:
        raise CatalogError(f"{path.name}: {_reasons(error)}") from None


def _reasons(error: ValidationError) -> str:
    found = ((".".join(str(part) for part in item["loc"]), item["msg"]) for item in error.errors())
    return "; ".join(f"{place}: {reason}" if place else reason for place, reason in found)


def _read(path: Path) -> Any:
    # The C loader parses the tables about ten times faster; a wheel without libyaml falls back to the same grammar.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(path.read_text(encoding="utf-8"), Loader=loader)


def _rows(path: Path, key: str) -> dict[str, dict[str, Any]]:
    return {name: {key: name, **row} for name, row in _read(path).items()}


@cache
def catalog() -> Catalog:
    """The catalog of this checkout, read and validated once.

    Raises:
        CatalogError: a table of shapes holds an inconsistent row.
        pydantic.ValidationError: another data file does.
    """
    doks = read_sizes(_FOLDER / "shapes" / "doks.yaml")
    oci, servers = (read_shapes(_FOLDER / "shapes" / f"{table}.yaml") for table in ("oci", "servers"))
    return Catalog.model_validate(
        {
            "shapes": oci | doks.shapes() | servers,
            "doks": doks,
            "doks_clusters": _read(_FOLDER / "doks_clusters.yaml"),
            "oke_clusters": _read(_FOLDER / "oke_clusters.yaml"),
            "releases": _rows(_FOLDER / "releases.yaml", "name"),
            "chart_keys": _read(_FOLDER / "chart_keys.yaml"),
            "nccl": _read(_FOLDER / "nccl.yaml"),
            "pod_settings": _read(_FOLDER / "pod_settings.yaml"),
            "topologies": _rows(_FOLDER / "topologies.yaml", "shape"),
            "special_ranges": _read(_FOLDER / "special_ranges.yaml"),
            "support": _read(_FOLDER / "support.yaml"),
        }
    )
