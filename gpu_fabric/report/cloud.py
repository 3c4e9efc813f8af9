"""A cloud's resources in a report: the first lines of a plan's report and of the summary."""

from __future__ import annotations

from gpu_fabric.plan import Plan
from gpu_fabric.plan.clouds.doks import DoksResources, PlannedDoksPool
from gpu_fabric.report.oke import oke_pool, oke_rows

_ACCESS = {
    "token": "by the API token, which does not expire",
    "exec": "by doctl at every call",
    "raw": "DigitalOcean's own, which expires",
}


def cloud_rows(plan: Plan) -> dict[str, str]:
    """Name and description of all resources at a cloud; empty for an existing cluster."""
    if plan.cluster.oke is not None:
        return oke_rows(plan.cluster.oke)
    cloud = plan.cluster.doks
    return {} if cloud is None else _doks(cloud)


def pool_bounds(plan: Plan, pool: str) -> str:
    """A pool's autoscaling, its construct, and whether an existing pool is adopted; empty if none of them applies."""
    if plan.cluster.oke is not None:
        return oke_pool(plan.cluster.oke, pool)
    cloud = plan.cluster.doks
    found = [entry for entry in cloud.pools if entry.name == pool] if cloud is not None else []
    return "".join(_bounds(entry) for entry in found)


def _doks(cloud: DoksResources) -> dict[str, str]:
    cluster, system = cloud.cluster, cloud.cluster.node_pool
    version = cluster.version if isinstance(cluster.version, str) else f"the newest {cloud.version_prefix.rstrip('.-')}"
    native = ", VPC-native" if cluster.cluster_subnet and cluster.service_subnet else ""
    rows = {
        "VPC": _vpc(cloud),
        "cluster": f"{cluster.name} in {cluster.region} of DigitalOcean, Kubernetes {version}{native}"
        + _taken_over(cluster.adopts),
        f"pool {system['name']}": f"{system['node_count']} x {system['size']}",
        "kubeconfig": _ACCESS[cloud.kubeconfig_mode],
    }
    if cloud.listing is not None:
        project = cloud.project
        rows["project"] = f"{project.name}, a new one" if project else f"{cloud.listing.project}, which exists"
    return {**rows, "protected": "yes" if cloud.protect else "no: destroy and replacement are not refused"}


def _vpc(cloud: DoksResources) -> str:
    if cloud.vpc is None:
        return f"{cloud.vpc_id}, which exists and stays"
    return f"{cloud.vpc.name}, {cloud.vpc.ip_range or 'a range of its choice'}{_taken_over(cloud.vpc.adopts)}"


def _bounds(pool: PlannedDoksPool) -> str:
    scales = f", {pool.min_nodes} to {pool.max_nodes} nodes by automatic scaling" if pool.auto_scale else ""
    return scales + _taken_over(pool.adopts)


def _taken_over(identity: str | None) -> str:
    return f", taken over from {identity}" if identity else ""
