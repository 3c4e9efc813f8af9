"""Facts as data: shapes, release lines, NCCL settings, PCI trees. Each row names its source in the data file."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml

from fabric.catalog.nccl_setting import NcclSetting
from fabric.catalog.release import Chart, ChartName, Component, ComponentImages, ReleaseLine
from fabric.catalog.shape import FrontEndNic, Gpus, Nic, NicModel, Shape
from fabric.catalog.topology import NumaNode, PciIdentity, Topology
from fabric.model import FrozenModel

__all__ = [
    "Catalog",
    "Chart",
    "ChartName",
    "Component",
    "ComponentImages",
    "FrontEndNic",
    "Gpus",
    "NcclSetting",
    "Nic",
    "NicModel",
    "NumaNode",
    "PciIdentity",
    "ReleaseLine",
    "Shape",
    "Topology",
    "catalog",
]

_FOLDER = Path(__file__).parent


class Catalog(FrozenModel):
    """All facts, keyed by the name a user writes."""

    shapes: dict[str, Shape]
    releases: dict[str, ReleaseLine]
    nccl: tuple[NcclSetting, ...]
    topologies: dict[str, Topology]


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
        pydantic.ValidationError: a data file holds an inconsistent row.
    """
    shapes: dict[str, dict[str, Any]] = {}
    for path in sorted((_FOLDER / "shapes").glob("*.yaml")):
        shapes |= _rows(path, "name")
    return Catalog.model_validate(
        {
            "shapes": shapes,
            "releases": _rows(_FOLDER / "releases.yaml", "name"),
            "nccl": _read(_FOLDER / "nccl.yaml"),
            "topologies": _rows(_FOLDER / "topologies.yaml", "shape"),
        }
    )
