"""The contract between a cluster stack and a platform stack: the cluster as created, and as planned with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field

from gpu_fabric.catalog.shape import Hardware
from gpu_fabric.k8s.scheduling import Toleration
from gpu_fabric.model import FrozenModel
from gpu_fabric.spec.cluster import AddressRangesSpec, Component, TaintSpec
from gpu_fabric.spec.doks import ManagedPluginsSpec


class SharedPool(FrozenModel):
    """A pool of GPU nodes; `most_nodes` is the maximum of its automatic scaling."""

    name: str = Field(description="name of the pool")
    shape: str = Field(description="machine type")
    nodes: int = Field(description="number of nodes")
    most_nodes: int = Field(description="most nodes: the maximum of the automatic scaling, if the pool has one")
    labels: dict[str, str] = Field(description="labels of the nodes")
    taints: tuple[TaintSpec, ...] = Field(description="taints of the nodes")
    node_names: tuple[str, ...] = Field(description="names of the nodes, where the stack file states them")
    first_share: int | None = Field(
        default=None, description="number of the first node's share of addresses, where stated"
    )
    placement: str | None = Field(default=None, description="how Oracle places the machines; nothing elsewhere")


class OtherNodes(FrozenModel):
    """One entry of the output `otherPools`: a pool whose nodes have no part in the fabric."""

    name: str = Field(description="name of the pool")
    machine: str = Field(description="machine type of its nodes")
    nodes: int = Field(description="number of nodes; with automatic scaling, at creation")
    least_nodes: int = Field(description="fewest nodes: the minimum of the automatic scaling, if the pool has one")
    most_nodes: int = Field(description="most nodes: the maximum of the automatic scaling, if the pool has one")
    gpus_per_node: int = Field(default=0, description="GPUs of one node")
    gpu_resource: str | None = Field(default=None, description="extended resource of the GPUs; none on CPU nodes")
    node_selector: dict[str, str] = Field(description="labels of the pool's nodes")
    tolerations: tuple[Toleration, ...] = Field(description="taints of the nodes that a pod tolerates")
    reclaimable: bool = Field(default=False, description="whether the cloud may take the nodes back at any time")


class ClusterFacts(FrozenModel):
    """All facts about a cluster on which the plan of a platform stack depends."""

    schema_version: Literal["v1"] = Field(default="v1", description="changes where a reader must")
    name: str = Field(description="name of the cluster at its cloud")
    provider: Literal["doks", "oke"] = Field(description="the cloud that creates it")
    region: str = Field(description="region of the cloud")
    kubernetes_version: str = Field(description="version as the stack file has it; the cluster's own may be newer")
    pools: tuple[SharedPool, ...] = Field(description="the GPU pools")
    other_pools: tuple[OtherNodes, ...] | None = Field(default=None, description="the pools outside the fabric")
    ranges: AddressRangesSpec = Field(description="ranges in use, which the fabric must not touch")
    shapes: dict[str, Hardware] = Field(description="machine types that the stack file describes itself")
    installed: tuple[Component, ...] = Field(description="software that the cluster has already")
    plugins: ManagedPluginsSpec | None = Field(
        default=None, description="what installs device plug-ins at DigitalOcean; empty elsewhere"
    )


class ClusterContract(ClusterFacts):
    """The output `cluster` of a cluster stack; `kubeconfig` is a separate, secret output."""

    cluster_id: str = Field(description="the cluster's id at its cloud")


def cluster_contract(facts: ClusterFacts, cluster_id: str) -> dict[str, Any]:
    """The output `cluster`, as JSON."""
    return ClusterContract(**dict(facts), cluster_id=cluster_id).model_dump(
        mode="json", by_alias=True, exclude_none=True
    )


def differences(made: ClusterFacts, planned: ClusterFacts) -> tuple[str, ...]:
    """The differences between a cluster and the plan, one line each: place, actual value, planned value."""
    has, wanted = (dict(_leaves(facts, "")) for facts in (_document(made), _document(planned)))
    places = sorted({**has, **wanted})
    return tuple(
        f"{place}: it has {has.get(place, 'none')}, the file says {wanted.get(place, 'none')}"
        for place in places
        if has.get(place) != wanted.get(place)
    )


def _document(facts: ClusterFacts) -> dict[str, Any]:
    return facts.model_dump(mode="json", by_alias=True, include=set(ClusterFacts.model_fields), exclude_none=True)


def _leaves(value: Any, place: str) -> Iterator[tuple[str, str]]:
    """Every single value by its place; a list entry with a name is found by the name, not by its position."""
    if isinstance(value, dict):
        for key, entry in value.items():
            yield from _leaves(entry, f"{place}.{key}".lstrip("."))
    elif isinstance(value, list):
        for number, entry in enumerate(value):
            named = isinstance(entry, dict) and "name" in entry
            yield from _leaves(entry, f"{place}.{entry['name']}" if named else f"{place}[{number}]")
    else:
        yield place, str(value)
