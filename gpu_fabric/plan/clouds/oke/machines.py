"""Node pools and machines at Oracle: their records, the system pool, and how GPU machines are launched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar

from gpu_fabric.plan.clouds import POOL_LABEL
from gpu_fabric.plan.clouds.oke.boot import boot_script, encoded, user_data
from gpu_fabric.plan.clouds.oke.identity import joins_after, last_policies
from gpu_fabric.plan.clouds.oke.site import CLUSTER, DOMAINS, KUBECONFIG, NODE_IMAGES, NODE_POOLS, Site
from gpu_fabric.plan.clouds.record import Id, Lookup, Record, Ref, Value
from gpu_fabric.plan.other_pools import OtherPool
from gpu_fabric.plan.startup_taint import registered_taints
from gpu_fabric.spec.cluster import TaintSpec
from gpu_fabric.spec.oke import OkeOtherPoolSpec, OkePoolSpec


class PlannedNodePool(Record):
    """A node pool whose machines Oracle creates, cycles and drains."""

    sdk: ClassVar[str] = "containerengine.NodePool"
    compartment_id: str
    cluster_id: Ref
    name: str
    kubernetes_version: str
    node_shape: str
    node_shape_config: dict[str, Value] | None = None
    node_config_details: dict[str, Value]
    node_source_details: dict[str, Value]
    initial_node_labels: list[dict[str, Value]] | None = None
    node_metadata: dict[str, Value] | None = None
    node_eviction_node_pool_settings: dict[str, Value]
    node_pool_cycling_details: dict[str, Value] | None = None


class PlannedInstanceConfiguration(Record):
    """The template of a construct's machines. The new one is created before the old one, still in use, is deleted."""

    sdk: ClassVar[str] = "core.InstanceConfiguration"
    compartment_id: str
    display_name: str
    instance_details: dict[str, Value]


class PlannedClusterNetwork(Record):
    """Machines of one RDMA island, all or none."""

    sdk: ClassVar[str] = "core.ClusterNetwork"
    compartment_id: str
    display_name: str
    instance_pools: list[dict[str, Value]]
    placement_configuration: dict[str, Value]
    cluster_configuration: dict[str, Value] | None


class PlannedInstancePool(Record):
    """Machines without an RDMA network."""

    sdk: ClassVar[str] = "core.InstancePool"
    compartment_id: str
    display_name: str
    instance_configuration_id: Ref
    placement_configurations: list[dict[str, Value]]
    size: int


class PlannedComputeCluster(Record):
    """An RDMA network that machines are placed in one by one."""

    sdk: ClassVar[str] = "core.ComputeCluster"
    compartment_id: str
    availability_domain: Id
    display_name: str
    placement_constraint_details: dict[str, Value] | None


class PlannedMemoryCluster(Record):
    """The machines of one memory fabric. `size` is used at creation only; the scale configuration sets later sizes."""

    sdk: ClassVar[str] = "core.ComputeGpuMemoryCluster"
    compartment_id: str
    availability_domain: Id
    compute_cluster_id: Ref
    instance_configuration_id: Ref
    display_name: str
    gpu_memory_fabric_id: str | None
    size: str
    gpu_memory_cluster_scale_config: dict[str, Value]


class PlannedInstance(Record):
    """One machine."""

    sdk: ClassVar[str] = "core.Instance"
    compartment_id: str
    availability_domain: Id
    display_name: str
    shape: str
    shape_config: dict[str, Value] | None = None
    compute_cluster_id: Ref | None = None
    capacity_reservation_id: str | None = None
    fault_domain: str | None = None
    create_vnic_details: dict[str, Value]
    source_details: dict[str, Value]
    metadata: dict[str, Value]
    agent_config: dict[str, Value] | None = None
    instance_options: dict[str, Value]
    placement_constraint_details: dict[str, Value] | None = None


SYSTEM_POOL = "system-pool"

# After five minutes a node is deleted even if a pod cannot be evicted: such a pod must not block a destroy.
EVICTION: dict[str, Value] = {
    "eviction_grace_duration": "PT300S",
    "is_force_action_after_grace_duration": True,
    "is_force_delete_after_grace_duration": True,
}


def domains_lookup(site: Site) -> Lookup:
    """The look-up of the availability domains' full names, which have a prefix per tenancy."""
    return Lookup(
        logical_name=DOMAINS,
        function="identity.get_availability_domains",
        arguments={"compartment_id": site.compartment},
        outputs={"AD-n": "the name among availability_domains that ends in AD-n"},
    )


def images_lookup(site: Site) -> Lookup:
    """The look-up of Oracle's images for the Kubernetes version."""
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


def pools_lookup(site: Site) -> Lookup:
    """The look-up of the existing node pools: each keeps its image until its Kubernetes version changes."""
    return Lookup(
        logical_name=NODE_POOLS,
        function="containerengine.get_node_pools",
        arguments={"compartment_id": site.compartment, "cluster_id": Ref(ref=CLUSTER)},
        outputs={"image": "that of the pool of this name, where it has the Kubernetes version already"},
    )


def system_pool(site: Site) -> PlannedNodePool:
    """The CPU pool, which operators and add-ons need before the first GPU node exists."""
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
        after=last_managed(site),
        create_timeout=site.timeout,
        protect=site.cluster.protect,
    )


def beside_the_fabric(site: Site, pool: OtherPool) -> PlannedNodePool:
    """A node pool outside the fabric. Oracle's autoscaler changes the size of one that scales."""
    wanted, shape = pool.spec, pool.shape
    assert isinstance(wanted, OkeOtherPoolSpec), "a cluster at Oracle has Oracle's pools"
    placement: dict[str, Value] = {
        "availability_domain": site.availability_domain(wanted.availability_domain),
        "subnet_id": site.subnet("workers"),
    }
    if wanted.capacity_reservation_id:
        placement["capacity_reservation_id"] = wanted.capacity_reservation_id
    if wanted.fault_domains:
        placement["fault_domains"] = list(wanted.fault_domains)
    if wanted.preemptible:
        placement["preemptible_node_config"] = {
            "preemption_action": {"type": "TERMINATE", "is_preserve_boot_volume": False}
        }
    flexible: dict[str, Value] = {"ocpus": wanted.ocpus, "memory_in_gbs": wanted.memory_gib}
    labels = {**wanted.labels, POOL_LABEL: wanted.name}
    if shape is not None and shape.gpus.vendor == "nvidia" and site.own_gpu_plugin:
        labels[site.facts.instances.gpu_plugin_off_label] = "true"
    image = wanted.image_id or Ref(ref=NODE_IMAGES, output="image" if shape is None else "image_for_gpus")
    return PlannedNodePool(
        logical_name=f"pool-{wanted.name}",
        compartment_id=site.compartment,
        cluster_id=Ref(ref=CLUSTER),
        name=wanted.name,
        kubernetes_version=site.version,
        node_shape=wanted.shape,
        node_shape_config=flexible if wanted.ocpus else None,
        node_config_details=node_config(site, wanted.nodes, wanted.max_pods, placement),
        # The sizes of the OKE quick-start's pools.
        node_source_details=node_source(image, wanted.boot_volume_gib or (128 if shape is None else 512)),
        initial_node_labels=[{"key": key, "value": text} for key, text in sorted(labels.items())],
        # A node pool has no argument for taints: the kubelet registers with them.
        node_metadata={"user_data": user_data(_managed_boot(wanted.taints))} if wanted.taints else None,
        node_eviction_node_pool_settings=EVICTION,
        ignore_changes=size_of_scaled(wanted),
        after=last_managed(site),
        create_timeout=site.timeout,
        update_timeout=site.timeout,
        protect=site.cluster.protect,
    )


def size_of_scaled(pool: OkePoolSpec | OkeOtherPoolSpec) -> tuple[str, ...]:
    """The argument with the size of a node pool that scales, which the autoscaler changes."""
    return () if pool.auto_scale is None else ("node_config_details.size",)


def last_managed(site: Site) -> tuple[str, ...]:
    """The policies that must exist before a managed node pool."""
    return tuple(name for name in last_policies(site) if name not in joins_after(site))


def node_placement(site: Site, pool: OkePoolSpec | None) -> dict[str, Value]:
    """The placement of a node pool's machines; without a pool, of the system pool's."""
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
    """Number, network and placement of a node pool's machines."""
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
    """The boot source of a node pool's machines; the volume is in GiB."""
    return {"source_type": "IMAGE", "image_id": image, "boot_volume_size_in_gbs": str(volume)}


_NATIVE_PODS_LABEL = "oci.oraclecloud.com/vcn-native-ip-cni"
# An image of some tens of GB is copied from object storage.
_IMPORT = "120m"


class PlannedImage(Record):
    """A machine image that is imported from object storage."""

    sdk: ClassVar[str] = "core.Image"
    compartment_id: str
    display_name: str
    image_source_details: dict[str, Value]


class PlannedShapeManagement(Record):
    """Allows an imported image on a shape; without it, Oracle reports the two as incompatible."""

    sdk: ClassVar[str] = "core.ShapeManagement"
    compartment_id: str
    image_id: Ref
    shape_name: str


def imported_images(site: Site) -> Iterator[Record]:
    """The imported images, one for each address, each with the shapes that start from it."""
    allowed: set[tuple[str, str]] = set()
    for pool in site.cluster.pools:
        if pool.image_uri is None:
            continue
        name = _image_name(site, pool.image_uri)
        if name == f"image-{pool.name}":
            yield PlannedImage(
                logical_name=name,
                compartment_id=site.compartment,
                display_name=f"{site.name}-{pool.name}",
                image_source_details={"source_type": "objectStorageUri", "source_uri": pool.image_uri},
                create_timeout=_IMPORT,
            )
        if (name, pool.shape) not in allowed:
            allowed.add((name, pool.shape))
            yield PlannedShapeManagement(
                logical_name=f"image-shape-{pool.name}",
                compartment_id=site.compartment,
                image_id=Ref(ref=name),
                shape_name=pool.shape,
            )


def image_of(site: Site, pool: OkePoolSpec) -> Id:
    """The image of a pool's machines; for a managed node pool without one, Oracle's."""
    if pool.image_id is not None:
        return pool.image_id
    if pool.image_uri is not None:
        return Ref(ref=_image_name(site, pool.image_uri))
    return Ref(ref=NODE_IMAGES, output="image_for_gpus")


def image_ready(site: Site, pool: OkePoolSpec) -> tuple[str, ...]:
    """The records that must exist before a pool's image may start on its shape."""
    same = [other for other in site.cluster.pools if (other.image_uri, other.shape) == (pool.image_uri, pool.shape)]
    return (f"image-shape-{same[0].name}",) if pool.image_uri else ()


def _image_name(site: Site, uri: str) -> str:
    # The image is named after the first pool that uses it.
    return f"image-{next(pool.name for pool in site.cluster.pools if pool.image_uri == uri)}"


def node_labels(site: Site, pool: OkePoolSpec) -> dict[str, str]:
    """The initial labels of a pool's nodes."""
    labels = {**pool.labels, POOL_LABEL: pool.name}
    if site.own_gpu_plugin:
        labels[site.facts.instances.gpu_plugin_off_label] = "true"
    if site.native_pods and site.facts.placements[pool.placement].self_managed:
        labels[_NATIVE_PODS_LABEL] = "true"
    return dict(sorted(labels.items()))


def boot_text(site: Site, pool: OkePoolSpec) -> str:
    """The script that a pool's machines run at their first start."""
    managed = not site.facts.placements[pool.placement].self_managed
    return boot_script(
        "join",
        {
            "MODE": "managed" if managed else "self-managed",
            "KUBELET_EXTRA_ARGS": _kubelet_arguments(registered_taints(site.case.spec, pool)),
            "BEFORE_JOIN": encoded(pool.boot.before_join),
            "AFTER_JOIN": encoded(pool.boot.after_join),
        },
    )


def _managed_boot(taints: Iterable[TaintSpec]) -> str:
    """The script of managed nodes that have taints and no boot steps."""
    arguments = {"MODE": "managed", "KUBELET_EXTRA_ARGS": _kubelet_arguments(taints)}
    return boot_script("join", {**arguments, "BEFORE_JOIN": encoded(None), "AFTER_JOIN": encoded(None)})


def _kubelet_arguments(stated: Iterable[TaintSpec]) -> str:
    # Only the stack file's taints: Oracle sets the taint of the GPUs' vendor.
    taints = [f"{taint.key}={taint.value}:{taint.effect}" for taint in stated]
    return f"--register-with-taints={','.join(taints)}" if taints else ""


def metadata(site: Site, pool: OkePoolSpec) -> dict[str, Value]:
    """The metadata of a self-managed machine: the keys that Oracle's image needs to join, and this project's script."""
    labels = node_labels(site, pool)
    keys: dict[str, Value] = {
        "apiserver_host": Ref(ref=CLUSTER, output="apiserver_host"),
        "cluster_ca_cert": Ref(ref=KUBECONFIG, output="cluster_ca_cert"),
        "oke-k8version": site.version,
        "oke-kubeproxy-proxy-mode": "iptables",
        "oke-tenancy-id": site.tenancy,
        "oke-initial-node-labels": ",".join(f"{key}={text}" for key, text in labels.items()),
        "user_data": user_data(boot_text(site, pool)),
    }
    if site.cluster.access.ssh_public_keys:
        keys["ssh_authorized_keys"] = "\n".join(site.cluster.access.ssh_public_keys)
    if site.native_pods:
        keys |= {
            "oke-native-pod-networking": "true",
            "oke-max-pods": str(pool.max_pods),
            "pod-subnets": site.subnet("pods"),
            "pod-nsgids": site.security_group("pods"),
        }
    return dict(sorted(keys.items()))


def metadata_bytes(site: Site, keys: Mapping[str, Value]) -> int:
    """The size of the metadata in bytes, with room for values that are known only after the cluster is created."""
    known = sum(len(f"{key}{text if isinstance(text, str) else ''}".encode()) for key, text in keys.items())
    return known + site.facts.instances.metadata_reserve


def launch(site: Site, pool: OkePoolSpec) -> dict[str, Value]:
    """The common launch details of the instance configuration and the single instance."""
    details: dict[str, Value] = {
        "compartment_id": site.compartment,
        "display_name": f"{site.name}-{pool.name}",
        "shape": pool.shape,
        "metadata": dict(metadata(site, pool)),
        "agent_config": {
            "plugins_configs": [
                {"name": name, "desired_state": state} for name, state in site.facts.instances.agent_plugins.items()
            ]
        },
        # The first version of the metadata service answers requests without a header, also those of pods.
        "instance_options": {"are_legacy_imds_endpoints_disabled": True},
    }
    if pool.capacity_reservation_id:
        details["capacity_reservation_id"] = pool.capacity_reservation_id
    if pool.host_group_id:
        details["placement_constraint_details"] = {
            "type": "HOST_GROUP",
            "compute_host_group_id": pool.host_group_id,
        }
    return details
