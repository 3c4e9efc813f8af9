"""What two stacks agree on: the cluster as one of them makes it, and as the other one plans with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field

from fabric.catalog.shape import Hardware
from fabric.model import FrozenModel
from fabric.plan.case import Case
from fabric.spec import AddressRanges, DoksCluster, OkeCluster, Taint
from fabric.spec.cluster import Component
from fabric.spec.doks import ManagedPlugins


class SharedPool(FrozenModel):
    """A pool of GPU nodes; `most_nodes` is as far as it scales by itself."""

    name: str
    shape: str = Field(description="machine type")
    nodes: int
    most_nodes: int
    labels: dict[str, str]
    taints: tuple[Taint, ...]
    node_names: tuple[str, ...] = Field(description="names of the nodes, where the stack file states them")
    first_share: int | None = Field(
        default=None, description="number of the first node's share of addresses, where stated"
    )
    placement: str | None = Field(default=None, description="how Oracle places the machines; nothing elsewhere")


class ClusterFacts(FrozenModel):
    """Everything about a cluster that a plan of what lies on it depends on."""

    schema_version: Literal["v1"] = Field(default="v1", description="changes where a reader must")
    name: str = Field(description="name of the cluster at its cloud")
    provider: Literal["doks", "oke"] = Field(description="the cloud that makes it")
    region: str
    kubernetes_version: str = Field(description="version as the stack file has it; the cluster's own may be newer")
    pools: tuple[SharedPool, ...] = Field(description="the GPU pools")
    ranges: AddressRanges = Field(description="ranges in use, which the fabric must not touch")
    shapes: dict[str, Hardware] = Field(description="machine types that the stack file describes itself")
    installed: tuple[Component, ...] = Field(description="software that the cluster has already")
    plugins: ManagedPlugins | None = Field(
        default=None, description="who brings device plug-ins at DigitalOcean; nothing elsewhere"
    )


class ClusterContract(ClusterFacts):
    """The output `cluster` of a cluster stack; `kubeconfig` is an output of its own, and secret."""

    cluster_id: str = Field(description="the cluster's id at its cloud")


def cluster_facts(case: Case, cluster: DoksCluster | OkeCluster) -> ClusterFacts:
    """The facts of a stack's cluster, as its file has them."""
    return ClusterFacts(
        name=cluster.name or case.spec.cluster_stack,
        provider=cluster.provider,
        region=cluster.region,
        kubernetes_version=cluster.version,
        pools=tuple(
            SharedPool(
                name=pool.name,
                shape=pool.shape,
                nodes=pool.nodes,
                most_nodes=bounds.max_nodes if (bounds := getattr(pool, "auto_scale", None)) else pool.nodes,
                labels=pool.labels,
                taints=pool.taints_with(shape.gpus.vendor),
                node_names=pool.node_names,
                first_share=pool.first_share,
                placement=getattr(pool, "placement", None),
            )
            for pool, shape in zip(cluster.pools, case.shapes, strict=True)
        ),
        ranges=cluster.ranges,
        shapes=cluster.shapes,
        installed=cluster.installed,
        plugins=cluster.plugins if isinstance(cluster, DoksCluster) else None,
    )


def cluster_contract(facts: ClusterFacts, cluster_id: str) -> dict[str, Any]:
    """The output `cluster`, as JSON."""
    return ClusterContract(**dict(facts), cluster_id=cluster_id).model_dump(
        mode="json", by_alias=True, exclude_none=True
    )


def differences(made: ClusterFacts, planned: ClusterFacts) -> tuple[str, ...]:
    """Where a cluster is not as planned, a line each: place, what it has, what is planned."""
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
    """Every single value by its place; what has a name is found by it, so that one more moves none."""
    if isinstance(value, dict):
        for key, entry in value.items():
            yield from _leaves(entry, f"{place}.{key}".lstrip("."))
    elif isinstance(value, list):
        for number, entry in enumerate(value):
            named = isinstance(entry, dict) and "name" in entry
            yield from _leaves(entry, f"{place}.{entry['name']}" if named else f"{place}[{number}]")
    else:
        yield place, str(value)
