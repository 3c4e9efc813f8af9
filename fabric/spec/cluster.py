"""What every `gpu-fabric:cluster` has in common, whoever makes the cluster: pools, ranges, shapes of one's own."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, ValidationInfo, field_validator

from fabric.catalog import Catalog
from fabric.catalog.shape import Hardware, Vendor
from fabric.model import FrozenModel
from fabric.spec.network_types import Network
from fabric.spec.prices import Price
from fabric.spec.suggestion import nearest

DnsLabel = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")]
KubernetesVersion = Annotated[str, StringConstraints(pattern=r"^1\.\d{1,2}(\.\d{1,3})?$")]

Component = Literal[
    "nfd",
    "multus",
    "gpu-operator",
    "network-operator",
    "sriov-operator",
    "cert-manager",
    "prometheus-operator",
    "grafana-operator",
    "volcano",
    "kueue",
    "mpi-operator",
    "job-set",
]

_LABEL_VALUE = re.compile(r"^([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$")
_LABEL_KEY = re.compile(r"^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$")


class Taint(FrozenModel):
    """A taint the pool's nodes carry: every operand and every job needs to tolerate it."""

    key: str = Field(min_length=1, description="key of the taint")
    value: str = Field(default="", description="value of the taint")
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = Field(
        default="NoSchedule", description="what the taint does to pods that do not tolerate it"
    )

    @field_validator("key")
    @classmethod
    def _key_is_legal(cls, value: str) -> str:
        if not _LABEL_KEY.match(value):
            raise ValueError("this is no key of a taint; write [domain/]name with letters, digits, '-', '_' and '.'")
        return value

    @field_validator("value")
    @classmethod
    def _value_is_legal(cls, value: str) -> str:
        if not _LABEL_VALUE.match(value):
            raise ValueError("this is no value of a taint; write at most 63 letters, digits, '-', '_' and '.'")
        return value


class Pool(FrozenModel):
    """A group of equal GPU nodes."""

    name: DnsLabel = Field(description="name of the pool, unique in the stack")
    shape: str = Field(
        description="machine type from the catalog or from `shapes`; `python -m fabric shapes` lists them"
    )
    nodes: int = Field(ge=1, le=8192, description="number of GPU nodes in the pool")
    labels: dict[str, str] = Field(
        default={}, description="labels the pool's nodes carry; jobs select by those that all pools have in common"
    )
    taints: tuple[Taint, ...] | None = Field(
        default=None, description="taints of the pool's nodes; by default the GPU vendor's, such as nvidia.com/gpu"
    )
    node_names: tuple[str, ...] = Field(
        default=(),
        description="names of the nodes, in order; with them each node's share of the layout per-node is pinned",
    )

    first_share: int | None = Field(
        default=None,
        ge=0,
        le=65535,
        description="layout `per-node` with nodeNames: number of the first node's share; stated, the pool keeps its "
        "addresses when a pool before it grows",
    )

    @field_validator("shape")
    @classmethod
    def _shape_is_in_the_catalog(cls, value: str, info: ValidationInfo) -> str:
        known: Catalog = (info.context or {})["catalog"]
        if known.find(value) is None:
            guess = nearest(value, known.shapes)
            raise ValueError(f"no shape {value!r} in the catalog; {guess}`python -m fabric shapes` lists all of them")
        return value

    @field_validator("labels")
    @classmethod
    def _labels_are_legal(cls, value: dict[str, str]) -> dict[str, str]:
        for key, text in value.items():
            if not _LABEL_KEY.match(key) or not _LABEL_VALUE.match(text):
                raise ValueError(
                    f"{key}={text} is no label; write [domain/]name with at most 63 letters, digits, '-', '_' and '.'"
                )
        return value

    @field_validator("node_names")
    @classmethod
    def _one_name_per_node(cls, value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        nodes = info.data.get("nodes")
        if value and nodes is not None and len(value) != nodes:
            raise ValueError(f"{len(value)} names for {nodes} nodes; list one per node, or none")
        if len(set(value)) != len(value):
            raise ValueError("a node is named twice; give each its own")
        return value

    def taints_with(self, vendor: Vendor) -> tuple[Taint, ...]:
        """The taints as stated, or the one that marks the vendor's GPU nodes."""
        return (Taint(key=f"{vendor}.com/gpu", value="present"),) if self.taints is None else self.taints


class AddressRanges(FrozenModel):
    """Ranges the cluster uses already, which the fabric must not touch."""

    pods: Network | None = Field(default=None, description="pod range")
    services: Network | None = Field(default=None, description="service range")
    nodes: Network | None = Field(default=None, description="range of the node network (VPC, VCN)")
    reserved: tuple[Network, ...] = Field(default=(), description="further ranges in use, such as peered networks")

    def not_stated(self, within: Collection[str] = ()) -> tuple[str, ...]:
        """The cluster's own ranges that nobody has named, by their keys; but for those `within` another one."""
        return tuple(
            name for name in ("pods", "services", "nodes") if getattr(self, name) is None and name not in within
        )


class ClusterBase(FrozenModel):
    """What every cluster has: GPU pools, ranges in use, and shapes that the catalog lacks."""

    shapes: dict[str, Hardware] = Field(
        default={}, description="machine types of one's own, by name: what the catalog would say about them"
    )
    ranges: AddressRanges = AddressRanges()
    prices: dict[str, Price] = Field(
        default={}, description="prices of machine types, by name: they win over the list prices that are known"
    )
    installed: tuple[Component, ...] = Field(
        default=(), description="software the cluster already has, and which must not come a second time"
    )

    @property
    def ranges_within(self) -> tuple[str, ...]:
        """The cluster's ranges, by their keys, that are parts of another one, and so are held apart with it."""
        return ()


def distinct_pool_names(pools: tuple[Pool, ...]) -> None:
    """Raise ValueError where two pools share a name."""
    names = [pool.name for pool in pools]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"two pools have the name {', '.join(repeated)}; give each its own")
