"""The system pool, and what it has in common with every node pool that Oracle manages."""

from __future__ import annotations

from fabric.plan.clouds.oke.identity import joins_after, last_policies
from fabric.plan.clouds.oke.record import Id, Lookup, Ref, Value
from fabric.plan.clouds.oke.site import CLUSTER, DOMAINS, NODE_IMAGES, Site
from fabric.plan.clouds.oke.worker_records import PlannedNodePool
from fabric.spec import OkePool

SYSTEM_POOL = "system-pool"

# Pods get five minutes to leave, then the node goes all the same: a pod that cannot leave must not hold a destroy up.
EVICTION: dict[str, Value] = {
    "eviction_grace_duration": "PT300S",
    "is_force_action_after_grace_duration": True,
    "is_force_delete_after_grace_duration": True,
}


def domains_lookup(site: Site) -> Lookup:
    """The availability domains' full names, which begin with letters of the tenancy's own."""
    return Lookup(
        logical_name=DOMAINS,
        function="identity.get_availability_domains",
        arguments={"compartment_id": site.compartment},
        outputs={"AD-n": "the name among availability_domains that ends in AD-n"},
    )


def images_lookup(site: Site) -> Lookup:
    """Oracle's images for the Kubernetes version."""
    return Lookup(
        logical_name=NODE_IMAGES,
        function="containerengine.get_node_pool_option",
        arguments={
            "compartment_id": site.compartment,
            "node_pool_option_id": "all",
            "node_pool_k8s_version": site.version,
        },
        outputs={
            "image": "newest of sources without GPUs, for the shape's processors",
            "image_for_gpus": "newest of sources with GPUs, for the shape's processors",
        },
    )


def system_pool(site: Site) -> PlannedNodePool:
    """The CPU pool, which operators and add-ons need before any GPU node is there."""
    wanted = site.cluster.system_pool
    image = wanted.image_id or Ref(ref=NODE_IMAGES, output="image")
    return PlannedNodePool(
        logical_name=SYSTEM_POOL,
        compartment_id=site.compartment,
        cluster_id=Ref(ref=CLUSTER),
        name="system",
        kubernetes_version=site.version,
        node_shape=wanted.shape,
        node_shape_config={"ocpus": wanted.ocpus, "memory_in_gbs": wanted.memory_gib},
        node_config_details=node_config(site, wanted.nodes, site.facts.system_max_pods, node_placement(site, None)),
        node_source_details=node_source(image, wanted.boot_volume_gib),
        node_eviction_node_pool_settings=EVICTION,
        # Oracle publishes images all the time; a newer one is no change of this stack.
        ignore_changes=() if wanted.image_id else ("node_source_details.image_id",),
        after=last_managed(site),
        create_timeout=site.timeout,
        protect=site.cluster.protect,
    )


def last_managed(site: Site) -> tuple[str, ...]:
    """The policies that a managed node pool comes after."""
    return tuple(name for name in last_policies(site) if name not in joins_after(site))


def node_placement(site: Site, pool: OkePool | None) -> dict[str, Value]:
    """Where a node pool's machines lie; None stands for the system pool."""
    placement: dict[str, Value] = {
        "availability_domain": site.availability_domain(pool.availability_domain if pool else None),
        "subnet_id": site.subnet("workers"),
    }
    if pool and pool.capacity_reservation_id:
        placement["capacity_reservation_id"] = pool.capacity_reservation_id
    if pool and pool.host_group_id:
        placement["host_group_id"] = pool.host_group_id
    if pool and pool.fault_domains:
        placement["fault_domains"] = list(pool.fault_domains)
    return placement


def node_config(site: Site, nodes: int, max_pods: int, placement: dict[str, Value]) -> dict[str, Value]:
    """Number, network and place of a node pool's machines."""
    pods: dict[str, Value] = {"cni_type": site.cni_type}
    if site.native_pods:
        pods |= {
            "max_pods_per_node": max_pods,
            "pod_nsg_ids": [site.security_group("pods")],
            "pod_subnet_ids": [site.subnet("pods")],
        }
    return {
        "size": nodes,
        "placement_configs": [placement],
        "nsg_ids": [site.security_group("workers")],
        "node_pool_pod_network_option_details": pods,
    }


def node_source(image: Id, volume: int) -> dict[str, Value]:
    """What they start from; the volume is in GiB."""
    return {"source_type": "IMAGE", "image_id": image, "boot_volume_size_in_gbs": str(volume)}
