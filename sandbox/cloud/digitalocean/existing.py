"""What a stack file names as existing at DigitalOcean: VPC and project, by their ids."""

from __future__ import annotations

from gpu_fabric.spec.doks import DoksClusterSpec
from .api import Api
from .projects import existing_project
from .vpcs import existing_vpc


def place_existing(api: Api, cluster: DoksClusterSpec) -> list[str]:
    """Make what a stack file names and the simulated cloud does not have; gives what was made, in words."""
    made = []
    with api.store.lock():
        if (vpc := cluster.vpc.id) is not None and api.store.get("vpcs", vpc) is None:
            nodes = cluster.ranges.nodes
            record = existing_vpc(api, vpc, cluster.region, None if nodes is None else str(nodes))
            made.append(f"VPC {vpc} of {record['ip_range']}")
        project = cluster.project.id if cluster.project else None
        if project is not None and api.store.get("projects", project) is None:
            existing_project(api, project)
            made.append(f"project {project}")
    return made
