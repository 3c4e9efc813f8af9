"""What a GPU machine is launched with, whichever construct launches it: image, volume, interface, metadata."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from gpu_fabric.plan.clouds import POOL_LABEL
from gpu_fabric.plan.clouds.oke.boot import boot_script, encoded, user_data
from gpu_fabric.plan.clouds.oke.site import CLUSTER, KUBECONFIG, NODE_IMAGES, Site
from gpu_fabric.plan.clouds.record import Id, Record, Ref, Value
from gpu_fabric.spec import OkePoolSpec

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
    """Says that an imported image may start on a shape, without which Oracle calls the two incompatible."""

    sdk: ClassVar[str] = "core.ShapeManagement"
    compartment_id: str
    image_id: Ref
    shape_name: str


def images(site: Site) -> tuple[Record, ...]:
    """The imported images, one for each address, each with the shapes that start from it."""
    return tuple(_images(site))


def _images(site: Site) -> Iterator[Record]:
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
    """The image that a pool's machines start from; for a managed node pool without one, Oracle's."""
    if pool.image_id is not None:
        return pool.image_id
    if pool.image_uri is not None:
        return Ref(ref=_image_name(site, pool.image_uri))
    return Ref(ref=NODE_IMAGES, output="image_for_gpus")


def image_ready(site: Site, pool: OkePoolSpec) -> tuple[str, ...]:
    """What must be there before a pool's image may start on its shape."""
    same = [other for other in site.cluster.pools if (other.image_uri, other.shape) == (pool.image_uri, pool.shape)]
    return (f"image-shape-{same[0].name}",) if pool.image_uri else ()


def _image_name(site: Site, uri: str) -> str:
    # The first pool's name stands for all that start from it.
    return f"image-{next(pool.name for pool in site.cluster.pools if pool.image_uri == uri)}"


def node_labels(site: Site, pool: OkePoolSpec) -> dict[str, str]:
    """The labels that a pool's nodes come up with."""
    labels = {**pool.labels, POOL_LABEL: pool.name}
    if site.own_gpu_plugin:
        labels[site.facts.instances.gpu_plugin_off_label] = "true"
    if site.native_pods and site.facts.placements[pool.placement].self_managed:
        labels[_NATIVE_PODS_LABEL] = "true"
    return dict(sorted(labels.items()))


def boot_text(site: Site, pool: OkePoolSpec) -> str:
    """What a pool's machines run at their first start."""
    managed = not site.facts.placements[pool.placement].self_managed
    return boot_script(
        "join",
        {
            "MODE": "managed" if managed else "self-managed",
            "KUBELET_EXTRA_ARGS": _kubelet_arguments(pool),
            "BEFORE_JOIN": encoded(pool.boot.before_join),
            "AFTER_JOIN": encoded(pool.boot.after_join),
        },
    )


def _kubelet_arguments(pool: OkePoolSpec) -> str:
    # Only what the stack file states: the taint of the GPUs' vendor is Oracle's to set, and not twice.
    taints = [f"{taint.key}={taint.value}:{taint.effect}" for taint in pool.taints or ()]
    return f"--register-with-taints={','.join(taints)}" if taints else ""


def metadata(site: Site, pool: OkePoolSpec) -> dict[str, Value]:
    """The metadata of a self-managed machine: what Oracle's image needs to join, and this project's script."""
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
    """How long the metadata are in bytes, with room for what is known only once the cluster is there."""
    known = sum(len(f"{key}{text if isinstance(text, str) else ''}".encode()) for key, text in keys.items())
    return known + site.facts.instances.metadata_reserve


def launch(site: Site, pool: OkePoolSpec) -> dict[str, Value]:
    """What the instance configuration and the single instance have in common."""
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
        # The first version of the metadata service answers whoever asks without a header, pods too.
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
