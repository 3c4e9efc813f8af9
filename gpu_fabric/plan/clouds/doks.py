"""The cloud resources at DigitalOcean: VPC, cluster and pools; and advice on a refused destroy."""

from __future__ import annotations

import operator
import re
from typing import ClassVar, Literal

from pydantic import Field

from gpu_fabric.catalog.shape import Vendor
from gpu_fabric.model import FrozenModel
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.clouds import POOL_LABEL
from gpu_fabric.plan.clouds.record import Id, Record, Ref, Value
from gpu_fabric.plan.other_pools import gpu_pools_beside
from gpu_fabric.plan.startup_taint import registered_taints
from gpu_fabric.spec.cluster import TaintSpec
from gpu_fabric.spec.doks import DoksClusterSpec, DoksOtherPoolSpec, DoksPoolSpec

CLUSTER, VPC, PROJECT = "doks", "vpc", "project"
"""Logical names to which other records refer."""

VERSIONS = "kubernetes-versions"
"""The name of the look-up of DigitalOcean's versions."""

SYSTEM_POOL = "system"
"""The name of the CPU pool."""

# The provider does not wait for the cluster's deletion, and the VPC cannot be deleted before: 2 minutes are too few.
_VPC_DELETE = "30m"
_TAG = "gpu-fabric"
_MEMBERS = re.compile(r"\b(403|409)\b|with members", re.IGNORECASE)

# Whether a managed plug-in is enabled.
_Switch = dict[str, bool] | None


class DoksRecord(Record):
    """A resource at DigitalOcean, where names are unique.

    No map or list is ever empty: the provider does not send an emptied one, so its old content would always differ.
    """

    clashes: ClassVar[bool] = True


class PlannedVpc(DoksRecord):
    """A VPC: new or adopted."""

    sdk: ClassVar[str] = "digitalocean.Vpc"
    name: str
    region: str
    ip_range: str | None


class PlannedDoksCluster(DoksRecord):
    """The cluster with its CPU pool. `version` is an exact slug, or DigitalOcean's newest.

    DigitalOcean decides about a managed plug-in that is None.
    """

    sdk: ClassVar[str] = "digitalocean.KubernetesCluster"
    name: str
    region: str
    cluster_subnet: str | None
    service_subnet: str | None
    ha: bool | None
    auto_upgrade: bool
    surge_upgrade: bool
    maintenance_policy: dict[str, Value] | None
    registry_integration: bool
    isolated_workers: bool
    control_plane_firewall: dict[str, Value] | None
    destroy_all_associated_resources: bool
    kubeconfig_expire_seconds: int
    tags: list[str]
    version: Id
    vpc_uuid: Id
    nvidia_gpu_device_plugin: _Switch = None
    nvidia_gpu_dra_driver: _Switch = None
    amd_gpu_device_plugin: _Switch = None
    amd_gpu_dra_driver: _Switch = None
    amd_gpu_device_metrics_exporter_plugin: _Switch = None
    rdma_shared_device_plugin: _Switch = None
    ssos: list[Value] | None
    node_pool: dict[str, Value]


class PlannedDoksPool(DoksRecord):
    """A pool other than the system pool.

    DigitalOcean sets the vendor's taint on GPU nodes itself; `taints` are the further ones.
    """

    sdk: ClassVar[str] = "digitalocean.KubernetesNodePool"
    on_cluster: ClassVar[bool] = True
    cluster_id: Ref
    name: str
    size: str
    node_count: int
    auto_scale: bool
    min_nodes: int | None
    max_nodes: int | None
    labels: dict[str, str]
    taints: list[dict[str, str]] | None
    tags: list[str]
    gpu_partition_mode: str | None


class PlannedProject(DoksRecord):
    """A new project without resources of its own, so that others can add theirs as well."""

    sdk: ClassVar[str] = "digitalocean.Project"
    name: str
    environment: str | None


class PlannedListing(DoksRecord):
    """The cluster in a project, new or existing."""

    sdk: ClassVar[str] = "digitalocean.ProjectResources"
    project: Id
    resources: list[Ref]


class DoksResources(FrozenModel):
    """All resources at DigitalOcean. `vpc` is None if the cluster is in an existing VPC (`vpc_id`).

    `version_prefix` is an exact slug, or the prefix of the newest version to use.
    """

    vpc: PlannedVpc | None
    vpc_id: str | None
    cluster: PlannedDoksCluster
    pools: tuple[PlannedDoksPool, ...]
    other_pools: tuple[PlannedDoksPool, ...] = Field(default=(), exclude_if=operator.not_)
    project: PlannedProject | None
    listing: PlannedListing | None
    version_prefix: str
    kubeconfig_mode: Literal["token", "exec", "raw"]
    protect: bool

    @property
    def records(self) -> tuple[Record, ...]:
        """Every resource, after those that it depends on."""
        found = (self.vpc, self.cluster, *self.pools, *self.other_pools, self.project, self.listing)
        return tuple(record for record in found if record is not None)

    def before(self, record: Record) -> tuple[str, ...]:
        """The logical names of the records that must exist before a record, beyond those that it refers to."""
        return record.after

    def provider(self, record: Record) -> str:
        """The provider of all records."""
        return "digitalocean"


def doks_resources(case: Case, cluster: DoksClusterSpec) -> DoksResources:
    """The records of a stack's cluster."""
    name = cluster.name or case.spec.cluster_stack
    project = cluster.project
    # 1.35 means 1.35.*, and 1.35.1 means 1.35.1-do.*; an exact slug needs no look-up.
    exact, minor = "-do." in cluster.version, cluster.version.count(".") == 1
    prefix = cluster.version if exact else f"{cluster.version}{'.' if minor else '-'}"
    version = prefix if exact else Ref(ref=VERSIONS, output=f"newest of {prefix}*")
    return DoksResources(
        vpc=None
        if cluster.vpc.id
        else PlannedVpc(
            logical_name=VPC,
            name=name,
            region=cluster.region,
            ip_range=_text(cluster.ranges.nodes),
            adopts=cluster.adopt.vpc,
            delete_timeout=_VPC_DELETE,
            protect=cluster.protect,
        ),
        vpc_id=cluster.vpc.id,
        cluster=_cluster(case, cluster, name, version),
        pools=tuple(
            _pool(cluster, pool, pool.shape, registered_taints(case.spec, pool), pool.gpu_partition_mode)
            for pool in cluster.pools
        ),
        other_pools=tuple(_pool(cluster, pool, pool.size, pool.taints) for pool in cluster.other_pools),
        project=PlannedProject(logical_name=PROJECT, name=project.name, environment=project.environment)
        if project and project.name
        else None,
        listing=project
        and PlannedListing(
            logical_name="in-project",
            project=project.id or Ref(ref=PROJECT),
            resources=[Ref(ref=CLUSTER, output="cluster_urn")],
        ),
        version_prefix=prefix,
        kubeconfig_mode=cluster.kubeconfig.mode,
        protect=cluster.protect,
    )


def _cluster(case: Case, cluster: DoksClusterSpec, name: str, version: Id) -> PlannedDoksCluster:
    system, firewall, sign_on = cluster.system_pool, cluster.control_plane_firewall, cluster.single_sign_on
    window, scales = cluster.maintenance, cluster.system_pool.auto_scale_to_zero
    bounds: dict[str, Value] = {"min_nodes": 0, "max_nodes": system.nodes} if scales else {}
    beside = [pool.shape for pool in gpu_pools_beside(case) if pool.shape is not None]
    vendors = {shape.gpus.vendor for shape in (*case.shapes, *beside)}
    plugins = _plugins(cluster, vendors, fabric=any(shape.nics for shape in case.shapes))
    return PlannedDoksCluster(
        logical_name=CLUSTER,
        name=name,
        region=cluster.region,
        version=version,
        vpc_uuid=cluster.vpc.id or Ref(ref=VPC),
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
        ssos=sign_on
        and [
            {
                "enabled": True,
                "required": sign_on.required,
                "issuer_url": sign_on.issuer_url,
                "client_id": sign_on.client_id,
            }
        ],
        destroy_all_associated_resources=cluster.destroy_associated_resources,
        kubeconfig_expire_seconds=cluster.kubeconfig.expire_seconds,
        tags=_tags(cluster.tags),
        node_pool={
            "name": SYSTEM_POOL,
            "size": system.size,
            "node_count": system.nodes,
            "auto_scale": scales,
            **bounds,
        },
        **{plugin: {"enabled": enabled} for plugin, enabled in plugins.items()},
        adopts=cluster.adopt.cluster,
        ignore_changes=(
            *(("version",) if cluster.version_applies == "at-creation" else ()),
            *(("node_pool.node_count",) if scales else ()),
        ),
        # The provider has no time limit for an update, and warns at every change if one is set.
        create_timeout=f"{cluster.create_minutes}m",
        protect=cluster.protect,
    )


def _plugins(cluster: DoksClusterSpec, vendors: set[Vendor], *, fabric: bool) -> dict[str, bool]:
    """The managed plug-ins, by the provider's argument.

    Of a vendor's device plug-in and DRA driver only one is named: both arguments together are refused.
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


def _pool(
    cluster: DoksClusterSpec,
    pool: DoksPoolSpec | DoksOtherPoolSpec,
    size: str,
    taints: tuple[TaintSpec, ...],
    partition_mode: str | None = None,
) -> PlannedDoksPool:
    bounds = pool.auto_scale
    return PlannedDoksPool(
        logical_name=f"pool-{pool.name}",
        cluster_id=Ref(ref=CLUSTER),
        name=pool.name,
        size=size,
        node_count=pool.nodes,
        auto_scale=bounds is not None,
        min_nodes=bounds and bounds.min_nodes,
        max_nodes=bounds and bounds.max_nodes,
        labels={**pool.labels, POOL_LABEL: pool.name},
        taints=[taint.model_dump() for taint in taints] or None,
        tags=_tags(pool.tags),
        gpu_partition_mode=partition_mode,
        adopts=cluster.adopt.pools.get(pool.name),
        # The autoscaler changes node_count.
        ignore_changes=("node_count",) if bounds else (),
        create_timeout=f"{cluster.create_minutes}m",
        protect=cluster.protect,
    )


def _tags(stated: tuple[str, ...]) -> list[str]:
    return list(dict.fromkeys((*stated, _TAG)))


def _text(network: object | None) -> str | None:
    return None if network is None else str(network)


def doks_advice(planned: DoksResources, kind: str, said: str) -> str | None:
    """Advice on an error that DigitalOcean has reported for a resource of a kind, such as Vpc; None if none is known.

    A cluster whose creation was interrupted or failed is not in the state, and keeps its VPC in use.
    """
    if kind != "Vpc" or _MEMBERS.search(said) is None:
        return None
    name = planned.cluster.name
    lines = (
        f"a cluster {name} whose creation was interrupted, failed or came late is unknown to the state: "
        "`doctl kubernetes cluster list` shows it with its id",
        f"either delete it: `doctl kubernetes cluster delete {name}`",
        "or take it over: write its id as gpu-fabric:cluster.adopt.cluster, and run `up`",
        "load balancers and volumes of workloads keep the VPC as well: delete them in the console",
        "a cluster that was deleted counts for some minutes: wait; then run the same command again",
    )
    head = f"the VPC {planned.vpc.name if planned.vpc else name} still has members. What to do:"
    return "\n".join([head, *(f"  - {line}" for line in lines)])
