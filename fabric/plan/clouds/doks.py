"""DigitalOcean: the VPC, the cluster and its pools as they are asked for.

Names of fields are those of the provider's arguments; what is None is left out, and DigitalOcean decides.
"""

from __future__ import annotations

from typing import Literal

from pydantic import JsonValue

from fabric.catalog.shape import Vendor
from fabric.model import FrozenModel
from fabric.plan.case import Case
from fabric.spec import DoksCluster, DoksPool

# The cluster's deletion is not waited for, and the VPC cannot go before it: minutes, where the provider waits two.
_VPC_DELETE = "30m"


SYSTEM_POOL = "system"
"""The name of the CPU pool."""


class PlannedVpc(FrozenModel):
    """A VPC: a new one, or with `adopt` one that exists and becomes the stack's own."""

    name: str
    region: str
    ip_range: str | None
    adopt: str | None
    delete_timeout: str = _VPC_DELETE


class PlannedSystemPool(FrozenModel):
    """The CPU pool that is part of the cluster."""

    name: str = SYSTEM_POOL
    size: str
    node_count: int
    auto_scale: bool
    min_nodes: int | None
    max_nodes: int | None


class PlannedDoksPool(FrozenModel):
    """A GPU pool. DigitalOcean sets the vendor's taint itself; `taints` are the further ones."""

    name: str
    size: str
    node_count: int
    auto_scale: bool
    min_nodes: int | None
    max_nodes: int | None
    labels: dict[str, str]
    taints: tuple[dict[str, str], ...]
    tags: tuple[str, ...]
    gpu_partition_mode: str | None
    adopt: str | None
    timeout: str


class PlannedDoksCluster(FrozenModel):
    """The cluster. `version` is an exact slug, or with `version_prefix` the newest of a minor version.

    `plugins` are the managed ones that are switched on or off; those it does not name are left to DigitalOcean.
    """

    name: str
    region: str
    version: str | None
    version_prefix: str | None
    version_ignored: bool
    cluster_subnet: str | None
    service_subnet: str | None
    ha: bool | None
    auto_upgrade: bool
    surge_upgrade: bool
    maintenance_policy: dict[str, str] | None
    registry_integration: bool
    isolated_workers: bool
    control_plane_firewall: dict[str, JsonValue] | None
    sso: dict[str, JsonValue] | None
    plugins: dict[str, bool]
    destroy_all_associated_resources: bool
    kubeconfig_expire_seconds: int
    tags: tuple[str, ...]
    node_pool: PlannedSystemPool
    adopt: str | None
    timeout: str


class PlannedProject(FrozenModel):
    """The project that the cluster is listed under; `id` of one that exists, else a new one."""

    id: str | None
    name: str | None
    environment: str | None


class DoksResources(FrozenModel):
    """Everything that DigitalOcean is asked for. `vpc` is None where the cluster lies in one that stays (`vpc_id`)."""

    vpc: PlannedVpc | None
    vpc_id: str | None
    cluster: PlannedDoksCluster
    pools: tuple[PlannedDoksPool, ...]
    project: PlannedProject | None
    kubeconfig_mode: Literal["token", "exec", "raw"]
    protect: bool


def doks_resources(case: Case, cluster: DoksCluster) -> DoksResources:
    """The records of a stack's cluster."""
    name = cluster.name or case.spec.cluster_stack
    project = cluster.project
    return DoksResources(
        vpc=None
        if cluster.vpc.id
        else PlannedVpc(
            name=name,
            region=cluster.region,
            ip_range=_text(cluster.ranges.nodes),
            adopt=cluster.adopt.vpc,
        ),
        vpc_id=cluster.vpc.id,
        cluster=_cluster(case, cluster, name),
        pools=tuple(_pool(cluster, pool) for pool in cluster.pools),
        project=project and PlannedProject(**project.model_dump()),
        kubeconfig_mode=cluster.kubeconfig.mode,
        protect=cluster.protect,
    )


def _cluster(case: Case, cluster: DoksCluster, name: str) -> PlannedDoksCluster:
    # 1.35 stands for 1.35.*, and 1.35.1 for 1.35.1-do.*; an exact slug asks nobody.
    exact, minor = "-do." in cluster.version, cluster.version.count(".") == 1
    system, firewall, sign_on = cluster.system_pool, cluster.control_plane_firewall, cluster.single_sign_on
    window = cluster.maintenance
    return PlannedDoksCluster(
        name=name,
        region=cluster.region,
        version=cluster.version if exact else None,
        version_prefix=None if exact else f"{cluster.version}{'.' if minor else '-'}",
        version_ignored=cluster.version_applies == "at-creation",
        cluster_subnet=_text(cluster.ranges.pods),
        service_subnet=_text(cluster.ranges.services),
        ha=cluster.high_availability,
        auto_upgrade=cluster.auto_upgrade,
        surge_upgrade=cluster.surge_upgrade,
        maintenance_policy=window and {"day": window.day, "start_time": window.start},
        registry_integration=cluster.registry,
        isolated_workers=cluster.isolated_workers,
        control_plane_firewall=firewall
        and {"enabled": True, "allowed_addresses": [str(network) for network in firewall.allowed]},
        sso=sign_on
        and {
            "enabled": True,
            "required": sign_on.required,
            "issuer_url": sign_on.issuer_url,
            "client_id": sign_on.client_id,
        },
        plugins=_plugins(cluster, {shape.gpus.vendor for shape in case.shapes}, fabric=bool(case.shape.nics)),
        destroy_all_associated_resources=cluster.destroy_associated_resources,
        kubeconfig_expire_seconds=cluster.kubeconfig.expire_seconds,
        tags=cluster.tags,
        node_pool=PlannedSystemPool(
            size=system.size,
            node_count=system.nodes,
            auto_scale=system.auto_scale_to_zero,
            min_nodes=0 if system.auto_scale_to_zero else None,
            max_nodes=system.nodes if system.auto_scale_to_zero else None,
        ),
        adopt=cluster.adopt.cluster,
        timeout=f"{cluster.create_minutes}m",
    )


def _plugins(cluster: DoksCluster, vendors: set[Vendor], *, fabric: bool) -> dict[str, bool]:
    """The managed plug-ins, by the provider's argument.

    A device plug-in and a DRA driver of one vendor exclude each other by their mere presence, so only one is named.
    """
    wanted = cluster.plugins
    chosen: dict[str, bool] = {}
    for vendor in sorted(vendors):
        if wanted.gpu == "dra":
            chosen[f"{vendor}_gpu_dra_driver"] = True
        else:
            chosen[f"{vendor}_gpu_device_plugin"] = wanted.gpu == "managed"
    if "amd" in vendors:
        chosen["amd_gpu_device_metrics_exporter_plugin"] = wanted.metrics_exporter
    if fabric:
        chosen["rdma_shared_device_plugin"] = wanted.rdma == "managed"
    return chosen


def _pool(cluster: DoksCluster, pool: DoksPool) -> PlannedDoksPool:
    bounds = pool.auto_scale
    return PlannedDoksPool(
        name=pool.name,
        size=pool.shape,
        node_count=pool.nodes,
        auto_scale=bounds is not None,
        min_nodes=bounds and bounds.min_nodes,
        max_nodes=bounds and bounds.max_nodes,
        labels=pool.labels,
        taints=tuple(taint.model_dump() for taint in pool.taints or ()),
        tags=pool.tags,
        gpu_partition_mode=pool.gpu_partition_mode,
        adopt=cluster.adopt.pools.get(pool.name),
        timeout=f"{cluster.create_minutes}m",
    )


def _text(network: object | None) -> str | None:
    return None if network is None else str(network)
