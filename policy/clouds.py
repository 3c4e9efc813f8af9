"""Cloud resources: their region, machine types, node counts, tags, and protection against deletion."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pulumi_policy import PolicyResource, ResourceValidationArgs
from pydantic import Field

from gpu_fabric.model import FrozenModel

from .definition import NoSettings, Violation, is_of, resource_policy, stack_policy
from .reading import at, is_one_of, kind_of, many

_POOLS = (
    "digitalocean:*:KubernetesNodePool",
    "digitalocean:*:KubernetesCluster",
    "oci:ContainerEngine/*:NodePool",
    "oci:Core/*:ClusterNetwork",
    "oci:Core/*:InstancePool",
)
_KEPT = ("digitalocean:*:KubernetesCluster", "oci:ContainerEngine/*:Cluster", "oci:Core/*:ComputeCluster", *_POOLS)
# Exact versions as the two clouds write them.
_EXACT = re.compile(r"v?\d+\.\d+\.\d+(-do\.\d+)?")


class Regions(FrozenModel):
    """The allowed regions."""

    regions: tuple[str, ...] = Field(default=(), description="names of regions, or patterns; none written: every one")


@resource_policy("allowed-regions", Regions)
def allowed_regions(resource: ResourceValidationArgs, settings: Regions) -> Iterator[str]:
    region = resource.props.get("region")
    if settings.regions and isinstance(region, str) and not is_one_of(region, settings.regions):
        yield f"region {region} is none of {', '.join(settings.regions)}"


class MachineTypes(FrozenModel):
    """The allowed machine types."""

    types: tuple[str, ...] = Field(default=(), description="sizes or shapes, or patterns; none written: every one")


@resource_policy("allowed-machine-types", MachineTypes)
def allowed_machine_types(resource: ResourceValidationArgs, settings: MachineTypes) -> Iterator[str]:
    props = resource.props
    launched = at(props, "instanceDetails", "launchDetails", "shape")
    written = (props.get("size"), props.get("nodeShape"), props.get("shape"), at(props, "nodePool", "size"), launched)
    for name in filter(None, written):
        if settings.types and not is_one_of(name, settings.types):
            yield f"{name} is none of {', '.join(settings.types)}"


class NodeCounts(FrozenModel):
    """How many machines a stack may have."""

    per_pool: int = Field(default=64, ge=1, description="most nodes of one pool, what it may grow to included")
    in_stack: int = Field(default=256, ge=1, description="most nodes of all pools of a stack together")


@stack_policy("node-counts", NodeCounts)
def node_counts(resources: list[PolicyResource], settings: NodeCounts) -> Iterator[Violation]:
    pools = [(pool, _most_nodes(pool.props)) for pool in resources if is_of(pool.resource_type, _POOLS)]
    for pool, nodes in pools:
        if nodes > settings.per_pool:
            yield Violation(f"up to {nodes} nodes, more than {settings.per_pool}", pool.urn)
    total = sum(nodes for _, nodes in pools)
    if total > settings.in_stack:
        yield Violation(f"the stack has up to {total} nodes, more than {settings.in_stack}", pools[0][0].urn)


def _most_nodes(props: Mapping[str, Any]) -> int:
    """How many nodes a pool has, or may have if it grows by itself."""
    own = at(props, "nodePool") or props
    inner = sum(int(pool.get("size") or 0) for pool in many(props.get("instancePools")))
    sizes = (own.get("nodeCount"), own.get("maxNodes"), at(props, "nodeConfigDetails", "size"), inner)
    size = props.get("size")
    numbers = [*sizes, None if isinstance(size, str) else size]
    return max(int(number or 0) for number in numbers)


class Tags(FrozenModel):
    """Tags that a cloud resource must have."""

    tags: tuple[str, ...] = Field(
        default=(), description="DigitalOcean: tags, or the part before their colon; Oracle: keys of free-form tags"
    )
    kinds: tuple[str, ...] = Field(
        default=("KubernetesCluster", "KubernetesNodePool", "Cluster", "NodePool", "ClusterNetwork", "ComputeCluster"),
        description="kinds of resources that must have them",
    )


@resource_policy("required-tags", Tags)
def required_tags(resource: ResourceValidationArgs, settings: Tags) -> Iterator[str]:
    if kind_of(resource.resource_type) in settings.kinds:
        free_form = at(resource.props, "freeformTags") or {}
        carried = {*(tag.partition(":")[0] for tag in many(resource.props.get("tags"))), *free_form}
        if missing := [tag for tag in settings.tags if tag not in carried]:
            yield f"has no tag {', '.join(missing)}"


@resource_policy("exact-kubernetes-version", NoSettings)
def exact_kubernetes_version(cluster: ResourceValidationArgs, _settings: NoSettings) -> Iterator[str]:
    version = cluster.props.get("version") or cluster.props.get("kubernetesVersion")
    if not _EXACT.fullmatch(version or ""):
        yield f"version {version or 'none'} is not exact"


@resource_policy("no-upgrade-by-itself", NoSettings)
def no_upgrade_by_itself(cluster: ResourceValidationArgs, _settings: NoSettings) -> Iterator[str]:
    if cluster.props.get("autoUpgrade"):
        yield "is upgraded by itself"


class Timeouts(FrozenModel):
    """The shortest allowed time limit."""

    least_minutes: int = Field(default=60, ge=1, description="least time limit of creating a cluster or a pool")


@resource_policy("time-for-bare-metal", Timeouts)
def time_for_bare_metal(resource: ResourceValidationArgs, settings: Timeouts) -> Iterator[str]:
    minutes = resource.opts.custom_timeouts.create_seconds / 60
    if is_of(resource.resource_type, _KEPT) and minutes < settings.least_minutes:
        yield f"creating it may take {minutes:g} minutes, fewer than {settings.least_minutes}"


class Protection(FrozenModel):
    """Which stacks must be protected."""

    stacks: tuple[str, ...] = Field(
        default=("prod", "prod-*", "*-prod", "production", "*-production"),
        description="names of stacks, or patterns, whose clusters and pools must be protected",
    )


@stack_policy("protected-clusters", Protection)
def protected_clusters(resources: list[PolicyResource], settings: Protection) -> Iterable[Violation]:
    kept = [resource for resource in resources if is_of(resource.resource_type, _KEPT)]
    asked = any(
        is_one_of(resource.urn.split("::")[0].removeprefix("urn:pulumi:"), settings.stacks) for resource in kept
    )
    if asked or any(resource.opts.protect for resource in kept):
        why = "in a production stack" if asked else "though others of the stack are"
        return [Violation(f"is not protected, {why}", r.urn) for r in kept if not r.opts.protect]
    return []
