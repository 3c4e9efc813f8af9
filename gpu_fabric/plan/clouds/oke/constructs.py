"""The machines of each GPU pool, by the construct of its placement."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gpu_fabric.catalog.oke import Placement
from gpu_fabric.plan.clouds.oke import machines
from gpu_fabric.plan.clouds.oke.boot import user_data
from gpu_fabric.plan.clouds.oke.identity import joins_after
from gpu_fabric.plan.clouds.oke.site import CLUSTER, Site
from gpu_fabric.plan.clouds.record import Record, Ref, Value
from gpu_fabric.spec.oke import OkePoolSpec


def _cluster_network(site: Site, pool: OkePoolSpec) -> Iterator[Record]:
    yield _instance_configuration(site, pool)
    island: dict[str, Value] | None = None
    if pool.hpc_island_id:
        island = {"hpc_island_id": pool.hpc_island_id}
        if pool.network_block_ids:
            island["network_block_ids"] = list(pool.network_block_ids)
    yield machines.PlannedClusterNetwork(
        instance_pools=[
            {
                "instance_configuration_id": Ref(ref=f"configuration-{pool.name}"),
                "size": pool.nodes,
                "display_name": f"{site.name}-{pool.name}",
            }
        ],
        placement_configuration={
            "availability_domain": site.availability_domain(pool.availability_domain),
            "primary_vnic_subnets": {"subnet_id": site.subnet("workers")},
        },
        cluster_configuration=island,
        **_self_managed_fields(site, pool),
    )


def _instance_pool(site: Site, pool: OkePoolSpec) -> Iterator[Record]:
    yield _instance_configuration(site, pool)
    placement: dict[str, Value] = {
        "availability_domain": site.availability_domain(pool.availability_domain),
        "primary_vnic_subnets": {"subnet_id": site.subnet("workers")},
    }
    if pool.fault_domains:
        placement["fault_domains"] = list(pool.fault_domains)
    yield machines.PlannedInstancePool(
        instance_configuration_id=Ref(ref=f"configuration-{pool.name}"),
        placement_configurations=[placement],
        size=pool.nodes,
        **_self_managed_fields(site, pool),
    )


def _compute_cluster_pool(site: Site, pool: OkePoolSpec) -> Iterator[Record]:
    yield _compute_cluster(site, pool)
    details = machines.node_config(site, pool.nodes, pool.max_pods, machines.node_placement(site, pool))
    details["compute_cluster_id"] = Ref(ref=f"compute-cluster-{pool.name}")
    yield machines.PlannedNodePool(
        logical_name=f"pool-{pool.name}",
        compartment_id=site.compartment,
        cluster_id=Ref(ref=CLUSTER),
        name=pool.name,
        kubernetes_version=site.version,
        node_shape=pool.shape,
        node_config_details=details,
        node_source_details=machines.node_source(machines.image_of(site, pool), pool.boot_volume.size_gib),
        initial_node_labels=[{"key": key, "value": text} for key, text in machines.node_labels(site, pool).items()],
        node_metadata={"user_data": user_data(machines.boot_text(site, pool))},
        node_eviction_node_pool_settings=machines.EVICTION,
        node_pool_cycling_details=_cycling(site, pool),
        ignore_changes=machines.size_of_scaled(pool),
        after=(*machines.last_managed(site), *machines.image_ready(site, pool)),
        create_timeout=site.timeout,
        update_timeout=site.timeout,
        protect=site.cluster.protect,
    )


def _cycling(site: Site, pool: OkePoolSpec) -> dict[str, Value]:
    if pool.cycling is None:
        # Oracle's provider keeps the last value of an omitted field: cycling would stay enabled.
        return {"is_node_cycling_enabled": False}
    facts = site.facts.cycling[pool.cycling]
    return {
        "is_node_cycling_enabled": True,
        "cycle_modes": [facts.mode],
        "maximum_surge": facts.surge,
        "maximum_unavailable": facts.unavailable,
    }


def _compute_cluster_instances(site: Site, pool: OkePoolSpec) -> Iterator[Record]:
    yield _compute_cluster(site, pool)
    details = machines.launch(site, pool)
    for number in range(pool.nodes):
        yield machines.PlannedInstance(
            **{
                **details,
                "availability_domain": site.availability_domain(pool.availability_domain),
                "compute_cluster_id": Ref(ref=f"compute-cluster-{pool.name}"),
                "fault_domain": pool.fault_domains[number % len(pool.fault_domains)] if pool.fault_domains else None,
                # This class takes text where instance configurations take booleans.
                "create_vnic_details": {**_interface(site), "assign_public_ip": "false"},
                "source_details": {**_volume(pool), "source_id": machines.image_of(site, pool)},
                # A running machine does not read its metadata again, and a new label must not replace every node.
                "ignore_changes": ("metadata", *_published(pool, "source_details.source_id")),
                **_self_managed_fields(site, pool, f"-{number}"),
            }
        )


def _memory_clusters(site: Site, pool: OkePoolSpec) -> Iterator[Record]:
    yield _compute_cluster(site, pool)
    yield _instance_configuration(site, pool)
    fabrics: tuple[str | None, ...] = pool.memory_fabric_ids or (None,)
    each = pool.nodes // len(fabrics)
    for number, fabric in enumerate(fabrics):
        yield machines.PlannedMemoryCluster(
            availability_domain=site.availability_domain(pool.availability_domain),
            compute_cluster_id=Ref(ref=f"compute-cluster-{pool.name}"),
            instance_configuration_id=Ref(ref=f"configuration-{pool.name}"),
            gpu_memory_fabric_id=fabric,
            size=str(each),
            gpu_memory_cluster_scale_config={
                "is_upsize_enabled": True,
                "is_downsize_enabled": False,
                "target_size": str(each),
            },
            ignore_changes=("size",),
            **_self_managed_fields(site, pool, f"-{number}"),
        )


POOL_RECORDS: dict[Placement, Callable[[Site, OkePoolSpec], Iterator[Record]]] = {
    "cluster-network": _cluster_network,
    "compute-cluster": _compute_cluster_pool,
    "compute-cluster-instances": _compute_cluster_instances,
    "instance-pool": _instance_pool,
    "gpu-memory-cluster": _memory_clusters,
}
"""The records of a GPU pool by its placement, each after those that it refers to."""


def _instance_configuration(site: Site, pool: OkePoolSpec) -> machines.PlannedInstanceConfiguration:
    details = machines.launch(site, pool)
    details["create_vnic_details"] = {**_interface(site), "assign_public_ip": False}
    details["source_details"] = {**_volume(pool), "image_id": machines.image_of(site, pool)}
    if pool.placement == "gpu-memory-cluster":
        details["compute_cluster_id"] = Ref(ref=f"compute-cluster-{pool.name}")
    return machines.PlannedInstanceConfiguration(
        logical_name=f"configuration-{pool.name}",
        compartment_id=site.compartment,
        display_name=f"{site.name}-{pool.name}",
        instance_details={"instance_type": "compute", "launch_details": details},
        ignore_changes=_published(pool, "instance_details.launch_details.source_details.image_id"),
        after=machines.image_ready(site, pool),
    )


def _published(pool: OkePoolSpec, image: str) -> tuple[str, ...]:
    """The argument with Oracle's newest image: a later image of Oracle is not a change of this stack."""
    return () if pool.image_id or pool.image_uri else (image,)


def _compute_cluster(site: Site, pool: OkePoolSpec) -> machines.PlannedComputeCluster:
    constraint: dict[str, Value] | None = None
    if pool.hpc_island_id:
        constraint = {"type": "COMPUTE_CLUSTER", "hpc_island_id": pool.hpc_island_id}
        if pool.network_block_ids:
            constraint["target_network_block_ids"] = list(pool.network_block_ids)
    return machines.PlannedComputeCluster(
        logical_name=f"compute-cluster-{pool.name}",
        compartment_id=site.compartment,
        availability_domain=site.availability_domain(pool.availability_domain),
        display_name=f"{site.name}-{pool.name}",
        placement_constraint_details=constraint,
        protect=site.cluster.protect,
    )


def _self_managed_fields(site: Site, pool: OkePoolSpec, suffix: str = "") -> dict[str, object]:
    """The common fields of constructs of self-managed machines, whose join requests the system pool's pods answer."""
    return {
        "logical_name": f"pool-{pool.name}{suffix}",
        "compartment_id": site.compartment,
        "display_name": f"{site.name}-{pool.name}{suffix}",
        "after": (*joins_after(site), machines.SYSTEM_POOL, *machines.image_ready(site, pool)),
        "create_timeout": site.timeout,
        "update_timeout": site.timeout,
        "delete_timeout": site.timeout,
        "protect": site.cluster.protect,
    }


def _interface(site: Site) -> dict[str, Value]:
    return {"subnet_id": site.subnet("workers"), "nsg_ids": [site.security_group("workers")]}


def _volume(pool: OkePoolSpec) -> dict[str, Value]:
    return {
        "source_type": "image",
        "boot_volume_size_in_gbs": str(pool.boot_volume.size_gib),
        "boot_volume_vpus_per_gb": str(pool.boot_volume.vpus_per_gib),
    }
