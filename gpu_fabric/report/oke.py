"""Oracle's resources in a report: lines of a plan's overview, and the steps that create them."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.plan.clouds.oke import OkeResources
from gpu_fabric.plan.clouds.oke.identity import PlannedPolicy

_CONSTRUCTS = {
    "cluster-network": "a cluster network",
    "compute-cluster": "a managed node pool in a compute cluster",
    "compute-cluster-instances": "single instances in a compute cluster",
    "instance-pool": "an instance pool, without RDMA",
    "gpu-memory-cluster": "GPU memory clusters",
}
_ACCESS = {
    "none": "none: from within the VCN",
    "bastion-host": "a bastion host, and behind it an operator host",
    "bastion-service": "Oracle's Bastion service",
}


def oke_rows(cloud: OkeResources) -> dict[str, str]:
    """Name and description of all resources at Oracle."""
    cluster, system, identity = cloud.cluster, cloud.system_pool, cloud.identity
    vcn = cloud.network.vcn
    kind = "enhanced" if cluster.type == "ENHANCED_CLUSTER" else "basic"
    endpoint = "public" if cluster.endpoint_config["is_public_ip_enabled"] else "private"
    sign_in = "a token of a secret" if cloud.kubeconfig.mode == "token" else "the OCI command line at every call"
    rows = {
        "VCN": f"{cluster.vcn_id}, which exists and stays"
        if vcn is None
        else f"{vcn.display_name}, {_ranges(vcn.cidr_blocks)}",
        "subnets": ", ".join(_subnet_name(subnet.logical_name) for subnet in cloud.network.subnets) or "none made",
        "cluster": f"{cluster.name} in {cloud.region} of Oracle, Kubernetes {cluster.kubernetes_version}, {kind}, "
        f"{endpoint} API server",
        "policies": f"{len(identity.reasons)} statements" if identity.policies else "an administrator's",
        "pool system": f"{system.node_config_details['size']} x {system.node_shape}",
    }
    rows |= {"kubeconfig": f"by {sign_in}", "access": _ACCESS[cloud.access.mode]}
    return {**rows, "protected": "yes" if cloud.protect else "no: destroy and replacement are not refused"}


def oke_pool(cloud: OkeResources, pool: str) -> str:
    """The construct that contains a pool."""
    return next(f", {_CONSTRUCTS[entry.placement]}" for entry in cloud.pools if entry.pool == pool)


def oke_steps(cloud: OkeResources) -> Iterator[tuple[str, str, str]]:
    """Title, created resources and following wait of each step, in order."""
    network, groups = cloud.network, cloud.identity.groups
    made = ["the VCN with its gateways"] if network.vcn else []
    made.append(_count(len(network.subnets), "subnet"))
    made.append(_count(len(network.security_groups), "security group"))
    yield "network", f"{', '.join(made)} with {_count(len(network.security_rules), 'rule')}", ""
    early = [policy for policy in cloud.identity.policies if not _of_cluster(policy)]
    late = [policy for policy in cloud.identity.policies if _of_cluster(policy)]
    counted = [_count(len(groups), "dynamic group")] if groups else []
    if groups or early:
        yield "identity", ", ".join([*counted, _statements(early)]), ""
    yield "cluster", cloud.cluster.name, f"active, {_minutes(cloud.cluster.create_timeout)} at most"
    if late:
        yield "identity", f"{_statements(late)} for this cluster alone", ""
    system = cloud.system_pool
    yield (
        "system pool",
        f"{system.node_config_details['size']} x {system.node_shape}",
        f"every node active, {_minutes(system.create_timeout)} at most",
    )
    for addon in cloud.addons:
        yield "add-on", addon.addon_name, "its installation"
    for image in cloud.images:
        if image.kind == "core.Image":
            yield "image", f"{image.logical_name} is imported", f"{_minutes(image.create_timeout)} at most"
    for number, pool in enumerate(cloud.pools):
        at_once = ", at the same time" if number else ""
        waits = "its machines, which then join by themselves" if pool.self_managed else "every node active"
        limit = _minutes(pool.records[-1].create_timeout)
        what = f"{pool.pool}: {pool.nodes} x {pool.shape}, {_CONSTRUCTS[pool.placement]}{at_once}"
        yield "GPU pool", what, f"{waits}, {limit} at most"
    if cloud.access.mode != "none":
        yield "access", f"{_ACCESS[cloud.access.mode]}, at the same time", ""


def _of_cluster(policy: PlannedPolicy) -> bool:
    return any(reference.ref == "cluster" for reference in policy.references)


def _statements(policies: list[PlannedPolicy]) -> str:
    return _count(sum(len(policy.statements) for policy in policies), "statement")


def _subnet_name(logical_name: str) -> str:
    return logical_name.removeprefix("subnet-")


def _ranges(blocks: list[str]) -> str:
    return ", ".join(blocks)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _minutes(timeout: str | None) -> str:
    return f"{(timeout or '').removesuffix('m')} minutes"
