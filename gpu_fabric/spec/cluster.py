"""Keys that `gpu-fabric:cluster` has with every provider: pools, address ranges, own shapes, prices."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection
from operator import attrgetter
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from gpu_fabric.base.grammar import Day, DnsLabel, LabelKey, LabelValue, Spelled, is_label_key, is_label_value, shown
from gpu_fabric.base.name_ranges import every_name
from gpu_fabric.base.repeats import require_unique
from gpu_fabric.catalog import Catalog
from gpu_fabric.catalog.price import Currency
from gpu_fabric.catalog.shape import Hardware, Vendor
from gpu_fabric.k8s.scheduling import JobController
from gpu_fabric.model import FrozenModel
from gpu_fabric.spec.network_types import IPNetwork, Network
from gpu_fabric.spec.suggestion import nearest, nearest_shapes


class PriceSpec(FrozenModel):
    """The price of one machine for one hour, including GPUs, volumes and all else that the buyer counts."""

    hourly: float = Field(gt=0, le=1e6, allow_inf_nan=False, description="price of an hour, or the least of a range")
    hourly_most: float | None = Field(
        default=None, gt=0, le=1e6, allow_inf_nan=False, description="the most, where the price is a range"
    )
    currency: Currency = Field(default="USD", description="three letters, such as USD")
    as_of: Day | None = Field(default=None, description="day of the price, such as 2026-11-01")
    source: str | None = Field(default=None, min_length=1, description="its source, such as a contract's number")

    @model_validator(mode="after")
    def _least_before_most(self) -> Self:
        if self.hourly_most is not None and self.hourly_most < self.hourly:
            raise ValueError("hourlyMost must not be less than hourly")
        return self


KubernetesVersion = Annotated[
    str,
    Spelled(
        r"1\.[0-9]{1,2}(\.[0-9]{1,3})?", "version of Kubernetes", '1.MINOR or 1.MINOR.PATCH in quotes, such as "1.36"'
    ),
]

Component = Literal[
    "nfd",
    "multus",
    "gpu-operator",
    "network-operator",
    "sriov-operator",
    "cert-manager",
    "kmm",
    "prometheus-operator",
    "grafana-operator",
    "kueue",
    JobController,
]


class TaintSpec(FrozenModel):
    """A taint of the pool's nodes, which every operand and every job must tolerate."""

    key: LabelKey = Field(description="key of the taint")
    value: LabelValue = Field(default="", description="value of the taint")
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = Field(
        default="NoSchedule", description="what the taint does to pods that do not tolerate it"
    )


Taints = Annotated[
    tuple[TaintSpec, ...],
    require_unique(
        lambda taint: f"{taint.key}:{taint.effect}",
        "{} is there twice, and a node has one value for a key and an effect; list it once",
    ),
]


def _legal_labels(value: dict[str, str]) -> dict[str, str]:
    for key, text in value.items():
        if not is_label_key(key) or not is_label_value(text):
            raise ValueError(
                f"{shown(f'{key}={text}')} is not a valid label; write [domain/]name with at most 63 letters, "
                "digits, '-', '_' and '.', and a value of the same"
            )
    return value


Labels = Annotated[dict[str, str], AfterValidator(_legal_labels)]


def _names_of_ranges(value: Any) -> Any:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list | tuple):
        return value
    # A tuple, since what a function returns is checked strictly as a value of Python.
    return every_name(texts) if all(isinstance(text, str) for text in texts) else tuple(texts)


NodeNames = Annotated[tuple[str, ...], BeforeValidator(_names_of_ranges, json_schema_input_type=str | tuple[str, ...])]


class AutoScaleSpec(FrozenModel):
    """Bounds of the provider's automatic scaling."""

    min_nodes: int = Field(ge=0, le=512, description="fewest nodes")
    max_nodes: int = Field(ge=0, le=512, description="most nodes")


def most_nodes(pool: PoolSpec | OtherPoolSpec) -> int:
    """The most nodes that a pool may come to have."""
    bounds: AutoScaleSpec | None = getattr(pool, "auto_scale", None)
    return pool.nodes if bounds is None else max(pool.nodes, bounds.max_nodes)


class PoolSpec(FrozenModel):
    """A group of equal GPU nodes."""

    absent_keys: ClassVar[dict[str, str]] = dict.fromkeys(
        ("minNodes", "maxNodes"),
        "this key is not known; write autoScale: {minNodes: …, maxNodes: …}, in a cloud's pools",
    )

    name: DnsLabel = Field(description="name of the pool, unique among the pools")
    shape: str = Field(description="machine type from the catalog or from `shapes`; `gpu-fabric shapes` lists them")
    nodes: int = Field(ge=1, le=8192, description="number of GPU nodes in the pool")
    labels: Labels = Field(
        default={}, description="labels the pool's nodes carry; jobs select by those that all pools have in common"
    )
    taints: Taints | None = Field(
        default=None, description="taints of the pool's nodes; by default the GPU vendor's, such as nvidia.com/gpu"
    )
    node_names: NodeNames = Field(
        default=(),
        description="names of the nodes, in order; with them each node's share of the layout per-node is pinned, and "
        "each host's own address (hostPreparation.addresses); gpu-[001-064] stands for 64 names, and an empty name "
        "keeps the place of a removed node",
    )
    first_share: int | None = Field(
        default=None,
        ge=0,
        le=65535,
        description="with nodeNames, and the layout `per-node` or hostPreparation.addresses: number of the first "
        "node's share or host address; stated, the pool keeps its addresses when a pool before it grows",
    )

    @field_validator("shape")
    @classmethod
    def _shape_is_in_the_catalog(cls, value: str, info: ValidationInfo) -> str:
        known: Catalog = (info.context or {})["catalog"]
        if known.find(value) is None:
            context = info.context or {}
            cloud = known.clouds.get(context.get("profile") or "")
            if cloud is not None:
                allowed = f"{nearest(value, cloud.machines)}allowed: {', '.join(cloud.machines)}"
                problem = f"no machine type {value!r} of {cloud.title} in its profile"
                raise ValueError(f"{problem}; {allowed}; or describe the machine in cluster.shapes")
            offered = context.get("offered")
            shapes = [shape for shape in known.shapes.values() if offered in (None, shape.provider)]
            guess = nearest_shapes(value, shapes)
            raise ValueError(f"no shape {value!r} in the catalog; {guess}`gpu-fabric shapes` lists all of them")
        return value

    @field_validator("node_names")
    @classmethod
    def _one_name_per_node(cls, value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        nodes = info.data.get("nodes")
        names = [name for name in value if name]
        if value and nodes is not None and len(names) != nodes:
            raise ValueError(f"{len(names)} names for {nodes} nodes; list one per node, or none")
        if len(set(names)) != len(names):
            raise ValueError("a node is named twice; give each its own")
        return value

    @property
    def named_nodes(self) -> tuple[str, ...]:
        """Names of the nodes, without the empty places of removed nodes."""
        return tuple(name for name in self.node_names if name)

    def taints_with(self, vendor: Vendor) -> tuple[TaintSpec, ...]:
        """The stated taints; by default the taint of the vendor's GPU nodes."""
        return (TaintSpec(key=f"{vendor}.com/gpu", value="present"),) if self.taints is None else self.taints


class OtherPoolSpec(FrozenModel):
    """Equal nodes outside the fabric: CPU nodes, or GPU nodes without RDMA. No job of the fabric runs on them.

    `absent_keys` are keys that people look for in vain, each with the problem and, after a semicolon, the remedy.
    """

    absent_keys: ClassVar[dict[str, str]] = {}

    name: DnsLabel = Field(description="name of the pool, unique among all pools of the cluster")
    nodes: int = Field(ge=0, le=1000, description="number of nodes; with autoScale, at creation only")
    labels: Labels = Field(default={}, description="labels of the pool's nodes")
    taints: Taints = Field(
        default=(), description="taints of the pool's nodes, in addition to the one that the cloud sets on GPU nodes"
    )
    auto_scale: AutoScaleSpec | None = Field(
        default=None, description="bounds for automatic scaling; fixed size without"
    )

    @property
    @abstractmethod
    def machine(self) -> str:
        """The machine type, as its cloud writes it."""

    @property
    @abstractmethod
    def is_reclaimable(self) -> bool:
        """Whether the cloud may take the nodes back at any time."""

    def taints_with(self, vendor: Vendor | None) -> tuple[TaintSpec, ...]:
        """The taint that the cloud sets on nodes with a vendor's GPUs, and the stated taints."""
        own = () if vendor is None else (TaintSpec(key=f"{vendor}.com/gpu", value="present"),)
        return (*own, *self.taints)


class AddressRangesSpec(FrozenModel):
    """Ranges that the cluster already uses, which the fabric must not overlap."""

    pods: Network | None = Field(
        default=None, description="range of the pods; by default not checked, which is a warning"
    )
    services: Network | None = Field(
        default=None, description="range of the services; by default not checked, which is a warning"
    )
    nodes: Network | None = Field(
        default=None, description="range of the node network (VPC, VCN); by default not checked"
    )
    reserved: tuple[Network, ...] = Field(default=(), description="further ranges in use, such as peered networks")

    def own(self) -> dict[str, IPNetwork]:
        """The cluster's own ranges that are stated, by key."""
        named = {"pods": self.pods, "services": self.services, "nodes": self.nodes}
        return {name: network for name, network in named.items() if network is not None}

    def not_stated(self, within: Collection[str] = ()) -> tuple[str, ...]:
        """Keys of the cluster's own ranges that are not stated, except those `within` another range."""
        return tuple(name for name in ("pods", "services", "nodes") if name not in self.own() and name not in within)


class ClusterBase(FrozenModel):
    """Keys of every cluster: GPU pools, ranges in use, and shapes that are not in the catalog."""

    shapes: dict[str, Hardware] = Field(
        default={}, description="machine types that are not in the catalog, by name, with the catalog's fields"
    )
    ranges: AddressRangesSpec = AddressRangesSpec()
    prices: dict[str, PriceSpec] = Field(
        default={}, description="prices of machine types, by name; they take precedence over list prices"
    )
    installed: tuple[Component, ...] = Field(
        default=(), description="software that the cluster already has, and that the stack must not install"
    )

    @property
    def ranges_within(self) -> tuple[str, ...]:
        """Keys of the cluster's ranges that are parts of another range, which is checked instead."""
        return ()


DISTINCT_POOL_NAMES = require_unique(attrgetter("name"), "two pools have the name {}; give each its own")
