"""Clouds with a profile: whether the pools' nodes are theirs, and that one program hands out the NICs of a node."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.catalog import catalog
from gpu_fabric.catalog.cloud import CloudProfile
from gpu_fabric.findings import Finding, Seen, finding
from gpu_fabric.k8s.resource_slices import devices_of
from gpu_fabric.live.cluster import Cluster, Json, field, labels_of, name_of
from gpu_fabric.live.examination import Examination
from gpu_fabric.live.pool_nodes import allocatable
from gpu_fabric.live.pools import Pool, pools_of
from gpu_fabric.live.published import objects
from gpu_fabric.live.runtimes import distribution_of
from gpu_fabric.live.several import of_some_nodes, some, verb
from gpu_fabric.plan.case import INSTANCE_TYPE_LABEL, type_labels
from gpu_fabric.spec.places import dotted

_PROFILE = ("cluster", "profile")


def cloud_differences(case: Examination) -> Iterator[Finding]:
    """What differs between the nodes' cloud and the stack's profile, pool by pool."""
    stack, cluster = case.stack, case.cluster
    for pool in pools_of(stack, cluster):
        if not pool.certain:
            continue
        if stack.cloud is None:
            yield from _unnamed(pool)
        else:
            yield from _others(pool, stack.cloud)
            yield from _handed_out_twice(pool, stack.cloud, cluster)


def cloud_of(node: Json) -> CloudProfile | None:
    """The cloud whose machine a node is: by the marks of its distribution, and a machine type of the profile."""
    row, labels = distribution_of(node), labels_of(node)
    for name, cloud in catalog().clouds.items():
        types = {labels.get(key) for shape in cloud.shapes().values() for key in type_labels(shape)}
        if row is not None and row is catalog().distributions.get(name) and types & cloud.machines.keys():
            return cloud
    return None


def _unnamed(pool: Pool) -> Iterator[Finding]:
    """Nodes of a cloud with a profile in a stack without one."""
    clouds = [(node, cloud) for node in pool.nodes if (cloud := cloud_of(node)) is not None]
    if clouds:
        node, cloud = clouds[0]
        names = sorted(name_of(entry) for entry, _ in clouds)
        yield finding(
            "PRE148",
            dotted(_PROFILE),
            f"pool {pool.spec.name}: {some(names)} {verb(names, 'is a machine', 'are machines')} of {cloud.title}",
            f"write cluster.profile: {cloud.name}, and the machine type as the pool's shape",
            seen=_type(node, cloud),
        )


def _others(pool: Pool, cloud: CloudProfile) -> Iterator[Finding]:
    """Nodes that do not have the marks of the profile's cloud."""
    wanted = catalog().distributions.get(cloud.name)
    others = [node for node in pool.nodes if distribution_of(node) is not wanted]
    if others:
        names = sorted(map(name_of, others))
        version = str(field(others[0], "status", "nodeInfo", "kubeletVersion") or "unknown")
        yield of_some_nodes(
            finding(
                "PRE147",
                dotted(_PROFILE),
                f"pool {pool.spec.name}: {some(names)} {verb(names, 'is', 'are')} not of {cloud.title}",
                "write the profile of the cloud that runs the cluster, or leave it out",
                seen=Seen(object=f"Node {names[0]}", field="status.nodeInfo.kubeletVersion", value=version),
            ),
            len(others),
            len(pool.nodes),
        )


def _handed_out_twice(pool: Pool, cloud: CloudProfile, cluster: Cluster) -> Iterator[Finding]:
    """Nodes whose NICs are offered by the cloud's plug-in and published by its driver."""
    if cloud.plugin is None or cloud.claims is None:
        return
    resources = dict.fromkeys(cloud.plugin.resources(pool.shape.rails))
    published = {
        device.node
        for device in devices_of(objects(cluster, "resourceslices"))
        if device.id.driver == cloud.claims.driver and device.facts.attributes.get(f"{cloud.claims.driver}/rdma")
    }
    both = [
        (name_of(node), name, count)
        for node in pool.nodes
        for name in resources
        if name_of(node) in published and (count := allocatable(node, name))
    ]
    if both:
        name, resource, count = both[0]
        names = sorted({entry[0] for entry in both})
        yield of_some_nodes(
            finding(
                "PRE146",
                dotted(("fabric", "devices")),
                f"pool {pool.spec.name}: {some(names)} {verb(names, 'offers', 'offer')} {resource}, and the DRA driver "
                f"{cloud.claims.driver} publishes the same NICs",
                "uninstall one of them, or keep its DaemonSet off these nodes; `devices` says which one the stack uses",
                seen=Seen(object=f"Node {name}", field=f"status.allocatable[{resource}]", value=str(count)),
            ),
            len(names),
            len(pool.nodes),
        )


def _type(node: Json, cloud: CloudProfile) -> Seen:
    key = cloud.machine_label or INSTANCE_TYPE_LABEL
    return Seen(object=f"Node {name_of(node)}", field=f"metadata.labels[{key}]", value=labels_of(node).get(key, ""))
