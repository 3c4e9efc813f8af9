"""The catalog: its data files as models. Each file is read and validated at its first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from gpu_fabric.base.tables import read_table
from gpu_fabric.catalog.cloud import CloudProfile
from gpu_fabric.catalog.cluster_facts import AddressLimits, NodeLabels, PodSettings, SpecialRange
from gpu_fabric.catalog.distribution import Distribution
from gpu_fabric.catalog.doks import DoksClusterFacts, DoksTable, size_shape
from gpu_fabric.catalog.library import LibraryTable
from gpu_fabric.catalog.nccl import NcclTable
from gpu_fabric.catalog.operator import (
    OperatorFacts,
    chart_keys,
    chart_versions,
    foreign_namespaces,
    upgrades,
    with_operators,
)
from gpu_fabric.catalog.price import PriceTable
from gpu_fabric.catalog.release import ImageDigests, ReleaseLine
from gpu_fabric.catalog.shape import NvlinkDomain, Shape, Topology
from gpu_fabric.catalog.support import Support
from gpu_fabric.model import FrozenModel

if TYPE_CHECKING:
    from gpu_fabric.catalog.alarm import AlarmTable
    from gpu_fabric.catalog.chart import ChartKeys, ChartVersionTable
    from gpu_fabric.catalog.dra_driver import DraDriver
    from gpu_fabric.catalog.job_image import JobImageTable
    from gpu_fabric.catalog.oke import OkeClusterFacts
    from gpu_fabric.catalog.upgrade import UpgradeTable

_FOLDER = Path(__file__).parent

T = TypeVar("T")
M = TypeVar("M", bound=FrozenModel)


class CatalogError(ValueError):
    """A data file of the catalog contradicts itself; the message names the file, the row and what is wrong."""


def read_shapes(path: Path) -> dict[str, Shape]:
    """The shapes of one table, by name.

    Raises:
        CatalogError: a row contradicts itself or lacks a required fact.
    """
    shapes: dict[str, Shape] = {}
    for name, row in _rows(path, "name").items():
        try:
            shapes[name] = Shape.model_validate(row)
        except ValidationError as error:
            raise CatalogError(f"{path.name}: row {name}: {_reasons(error)}") from None
    return shapes


def read_model(model: type[M], path: Path) -> M:
    """The content of a table.

    Raises:
        CatalogError: a row contradicts itself, or lacks a required field.
    """
    try:
        return model.model_validate(read_table(path))
    except ValidationError as error:
        raise CatalogError(f"{path.name}: {_reasons(error)}") from None


class _Table(Generic[T]):
    """A table that is read and validated at its first use, and shared by all catalogs."""

    def __init__(self, read: Callable[[], T]) -> None:
        self.read = cache(read)

    def __get__(self, catalog: object, owner: type) -> T:
        return self.read()


_OCI_SHAPES = _Table(lambda: read_shapes(_FOLDER / "shapes" / "oci.yaml"))
_SERVERS = _Table(lambda: read_shapes(_FOLDER / "shapes" / "servers.yaml"))
_SIZES = _Table(lambda: read_model(DoksTable, _FOLDER / "shapes" / "doks.yaml"))
_NCCL = _Table(lambda: read_model(NcclTable, _FOLDER / "nccl.yaml"))
_LIBRARIES = _Table(lambda: read_model(LibraryTable, _FOLDER / "libraries.yaml"))
_TOPOLOGIES = _Table(
    lambda: {name: Topology.model_validate(row) for name, row in _rows(_FOLDER / "topologies.yaml", "shape").items()}
)
_LISTED_SHAPES = _Table(lambda: {**_OCI_SHAPES.read(), **_SIZES.read().shapes(), **_SERVERS.read()})
_OPERATORS = _Table(
    lambda: {
        path.stem: OperatorFacts.model_validate({"name": path.stem, **read_table(path)})
        for path in sorted((_FOLDER / "operators").glob("*.yaml"))
    }
)
_CLOUDS = _Table(
    lambda: {
        path.stem: CloudProfile.model_validate({"name": path.stem, **read_table(path)})
        for path in sorted((_FOLDER / "clouds").glob("*.yaml"))
    }
)
_MACHINES = _Table(lambda: {name: shape for cloud in _CLOUDS.read().values() for name, shape in cloud.shapes().items()})
_OKE_TABLES = ("regions", "security_rules", "policies", "instances", "advice")


# The largest models are imported with their tables, which the linter and explanations do not need.


def _oke_clusters() -> OkeClusterFacts:
    from gpu_fabric.catalog.oke import OkeClusterFacts

    parts = {key: _table(f"oke_{key}") for key in _OKE_TABLES}
    return OkeClusterFacts.model_validate({**_table("oke_clusters"), **parts})


def _chart_keys() -> ChartKeys:
    from gpu_fabric.catalog.chart import ChartKeys

    return ChartKeys.model_validate(chart_keys(_table("chart_keys")["knownKeys"], _OPERATORS.read()))


def _chart_versions() -> ChartVersionTable:
    from gpu_fabric.catalog.chart import ChartVersionTable

    return TypeAdapter(ChartVersionTable).validate_python(chart_versions(_table("chart_versions"), _OPERATORS.read()))


def _alarms() -> AlarmTable:
    from gpu_fabric.catalog.alarm import AlarmTable

    return AlarmTable.model_validate(_table("alarms"))


def _distributions() -> dict[str, Distribution]:
    rows = {name: Distribution.model_validate(row) for name, row in _table("distributions").items()}
    return rows | {name: cloud.nodes for name, cloud in _CLOUDS.read().items() if cloud.nodes is not None}


def _dra_drivers() -> dict[str, DraDriver]:
    from gpu_fabric.catalog.dra_driver import DraDriver

    rows = _rows(_FOLDER / "dra_drivers.yaml", "name")
    return {name: DraDriver.model_validate(row) for name, row in rows.items()}


def _job_images() -> JobImageTable:
    from gpu_fabric.catalog.job_image import JobImageTable

    return JobImageTable.model_validate(_table("job_images"))


def _upgrades() -> UpgradeTable:
    from gpu_fabric.catalog.upgrade import UpgradeTable

    return UpgradeTable.model_validate(upgrades(_table("upgrades"), _OPERATORS.read()))


@dataclass(frozen=True)
class Catalog:
    """All facts, keyed by the name a user writes; `own_shapes` are those of a stack file.

    A run uses about half of the tables, so each is read at its first use.

    Raises:
        CatalogError: on first use of a table of shapes that holds an inconsistent row.
        pydantic.ValidationError: on first use of another table that does.
    """

    own_shapes: Mapping[str, Shape] = field(default_factory=dict)

    doks = _SIZES
    """DigitalOcean's sizes, and the grammar of their names."""
    doks_clusters = _Table(lambda: DoksClusterFacts.model_validate(_table("doks_clusters")))
    """Dates, versions and limits of DigitalOcean's clusters."""
    oke_clusters = _Table(_oke_clusters)
    """Constructs, versions, regions, rules, policies and advice of Oracle's clusters."""
    operators = _OPERATORS
    """Operators, and other software that a cluster has once, by name."""
    releases = _Table(
        lambda: {
            name: ReleaseLine.model_validate(with_operators(name, row, _OPERATORS.read()))
            for name, row in _rows(_FOLDER / "releases.yaml", "name").items()
        }
    )
    """Release lines by name."""
    chart_keys = _Table(_chart_keys)
    """Keys of values that the charts know, removed or ignore."""
    chart_versions = _Table(_chart_versions)
    """Images that the charts run, and types of their values, by chart and version."""
    image_digests = _Table(
        lambda: {
            reference: digest
            for row in TypeAdapter(tuple[ImageDigests, ...]).validate_python(_table("image_digests"))
            for reference, digest in row.digests.items()
        }
    )
    """Digests of images by reference, as far as a source states them."""
    dra_drivers = _Table(_dra_drivers)
    """DRA drivers by the name that slices and claims have for them."""
    nvlink_domains = _Table(
        lambda: {model: NvlinkDomain.model_validate(row) for model, row in _table("nvlink_domains").items()}
    )
    """Machines with NVLink between nodes, by the model of their GPUs."""
    job_images = _Table(_job_images)
    """What images of jobs need on nodes: providers of libibverbs, and architectures."""
    upgrades = _Table(_upgrades)
    """The vendor's order of lines, and what the versions on the way bring."""
    prices = _Table(lambda: PriceTable.model_validate(_table("prices")))
    """Published prices of machines."""
    nccl = _Table(lambda: _NCCL.read().settings)
    """NCCL settings with their reasons."""
    nccl_variables = _Table(lambda: _NCCL.read().known)
    """NCCL's variables by name, including those that are never set."""
    libraries = _LIBRARIES
    """Libraries other than NCCL that send over the fabric."""
    variables = _Table(lambda: {**_NCCL.read().known, **_LIBRARIES.read().known})
    """The variables of NCCL and of the other libraries, by name."""
    nccl_defects = _Table(lambda: _NCCL.read().defects)
    """Defects of NCCL's releases on some GPUs."""
    nccl_resilience = _Table(lambda: _NCCL.read().resilience)
    """What jobs do when a link fails, by the choices of `fabric.resilience`."""
    nccl_foreign = _Table(lambda: {name: part.why for part in _NCCL.read().foreign for name in part.names})
    """Variables that are not allowed among NCCL's settings, each with the reason."""
    alarms = _Table(_alarms)
    """Alarms on a fabric, and the metrics that they ask for."""
    pod_settings = _Table(lambda: PodSettings.model_validate(_table("pod_settings")))
    """Settings that every pod on the fabric needs."""
    address_limits = _Table(lambda: AddressLimits.model_validate(_table("address_limits")))
    """Limits of an address plan besides its own addresses."""
    special_ranges = _Table(lambda: tuple(SpecialRange.model_validate(row) for row in _table("special_ranges")))
    """Address ranges that are reserved for a purpose."""
    node_labels = _Table(lambda: NodeLabels.model_validate(_table("node_labels")))
    """Labels of nodes that kubelet or a cloud sets."""
    foreign_namespaces = _Table(
        lambda: TypeAdapter(dict[str, str]).validate_python(
            foreign_namespaces(_table("foreign_namespaces"), _OPERATORS.read())
        )
    )
    """Namespaces of other software, each with the software's name."""
    clouds = _CLOUDS
    """Clouds whose clusters exist, by the name of the profile."""
    machines = _MACHINES
    """The machine types of these clouds, by name."""
    distributions = _Table(_distributions)
    """Distributions of Kubernetes, by name; those of clouds have the profile's name."""
    secret_settings = _Table(lambda: TypeAdapter(dict[str, tuple[str, ...]]).validate_python(_table("secret_settings")))
    """Settings of the providers that hold a secret, by provider."""
    support = _Table(lambda: tuple(Support.model_validate(row) for row in _table("support")))
    """Supported combinations of manager and model."""

    @property
    def shapes(self) -> dict[str, Shape]:
        """Every shape; an own one takes precedence over a row of the same name."""
        listed = _LISTED_SHAPES.read()
        return {**listed, **self.own_shapes} if self.own_shapes else listed

    @property
    def topologies(self) -> dict[str, Topology]:
        """PCI trees by shape: the published ones, and those of own shapes."""
        own = {
            name: Topology(shape=name, **dict(shape.topology))
            for name, shape in self.own_shapes.items()
            if shape.topology is not None
        }
        return {**_TOPOLOGIES.read(), **own} if own else _TOPOLOGIES.read()

    def pinned(self, reference: str) -> str:
        """An image with its digest behind the tag, if the digest is known."""
        digest = self.image_digests.get(reference)
        return f"{reference}@{digest}" if digest else reference

    def find(self, name: str) -> Shape | None:
        """The shape of this name: a row, or an unlisted DigitalOcean size that its name explains (`known` False)."""
        if name in self.own_shapes:
            return self.own_shapes[name]
        listed = _OCI_SHAPES.read().get(name) or _SERVERS.read().get(name)
        return listed or size_shape(name, _SIZES.read()) or _MACHINES.read().get(name)

    def with_shapes(self, extra: Mapping[str, Shape]) -> Catalog:
        """This catalog with further shapes, which take precedence over rows of the same name."""
        return Catalog({**self.own_shapes, **extra}) if extra else self


@cache
def catalog() -> Catalog:
    """The catalog of this checkout."""
    return Catalog()


def _reasons(error: ValidationError) -> str:
    found = ((".".join(str(part) for part in item["loc"]), item["msg"]) for item in error.errors())
    return "; ".join(f"{place}: {reason}" if place else reason for place, reason in found)


def _table(name: str) -> Any:
    return read_table(_FOLDER / f"{name}.yaml")


def _rows(path: Path, key: str) -> dict[str, dict[str, Any]]:
    return {name: {key: name, **row} for name, row in read_table(path).items()}
