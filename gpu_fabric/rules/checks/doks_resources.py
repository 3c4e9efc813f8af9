"""Checks of the group `doks`: what the stack creates, takes over, and leaves behind."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.plan.case import Case
from gpu_fabric.plan.clouds.doks import SYSTEM_POOL
from gpu_fabric.rules.checks.doks import doks_cluster
from gpu_fabric.rules.registry import Problem, check
from gpu_fabric.spec.places import dotted

_LEAST_MINUTES = 60
# What the guard calls the cluster.
_CLUSTER = "cluster-doks"


@check("DOK038")
def pools_leave_the_system_pool_its_name(case: Case) -> Iterator[Problem]:
    """No GPU pool has the name of the pool that comes with the cluster."""
    cluster = doks_cluster(case)
    for place, pool in enumerate(cluster.pools if cluster else ()):
        if pool.name == SYSTEM_POOL:
            yield Problem(
                dotted(("cluster", "pools", place, "name")),
                f"the CPU pool that comes with the cluster is called {SYSTEM_POOL}",
                "write another name, such as gpu",
            )


@check("DOK039")
def applied_versions_replace_nothing(case: Case) -> Iterator[Problem]:
    """Where the stack file's version counts after creation, the cluster is protected, or its loss acknowledged."""
    cluster = doks_cluster(case)
    agreed = any(entry.resource == _CLUSTER for entry in case.spec.guard.acknowledge)
    if cluster and cluster.version_applies == "always" and not (cluster.protect or agreed):
        yield Problem(
            dotted(("cluster", "versionApplies")),
            f"once DigitalOcean raises the version above {cluster.version}, the next run replaces the cluster, and no "
            "plan can know",
            f"write protect: true, or versionApplies: at-creation; if the cluster may go, acknowledge {_CLUSTER}",
        )


@check("DOK046")
def new_vpcs_have_no_gateway(case: Case) -> Iterator[Problem]:
    """A NAT gateway is claimed only of a VPC that exists."""
    cluster = doks_cluster(case)
    if cluster and cluster.vpc.nat_gateway and cluster.vpc.id is None and cluster.adopt.vpc is None:
        yield Problem(
            dotted(("cluster", "vpc", "natGateway")),
            "the stack creates the VPC, and no gateway in it",
            "make VPC and gateway first and add the VPC's id as vpc.id, or leave natGateway out",
        )


@check("DOK047")
def the_firewall_lets_the_stack_in(case: Case) -> Iterator[Problem]:
    """The reader knows that the stack itself must be among those who may reach the API server."""
    cluster = doks_cluster(case)
    firewall = cluster.control_plane_firewall if cluster else None
    if firewall is not None and not any(network.prefixlen == 0 for network in firewall.allowed):
        yield Problem(
            dotted(("cluster", "controlPlaneFirewall", "allowed")),
            f"the machine that runs the stack must be in {', '.join(map(str, firewall.allowed))}, which nothing "
            "here can check",
            "add the public address of that machine as a /32, if it is not in these ranges",
        )


@check("DOK049")
def creation_has_time(case: Case) -> Iterator[Problem]:
    """Cluster and pools have an hour or more to come up."""
    cluster = doks_cluster(case)
    if cluster and cluster.create_minutes < _LEAST_MINUTES:
        yield Problem(
            dotted(("cluster", "createMinutes")),
            f"GPU nodes may take longer than {cluster.create_minutes} minutes",
            f"write {_LEAST_MINUTES} or more, or leave it out",
        )


@check("DOK050")
def nothing_keeps_the_vpc(case: Case) -> Iterator[Problem]:
    """Destroy removes what workloads made in the stack's own VPC."""
    cluster = doks_cluster(case)
    if cluster and cluster.vpc.id is None and not cluster.destroy_associated_resources:
        yield Problem(
            dotted(("cluster", "destroyAssociatedResources")),
            "load balancers and volumes of workloads remain after `destroy`, and the VPC cannot be deleted",
            "delete them before, or write true one `up` before `destroy`",
        )


@check("DOK051")
def adopted_pools_are_planned(case: Case) -> Iterator[Problem]:
    """Every pool that is taken over is one of the stack file's."""
    cluster = doks_cluster(case)
    if cluster is None:
        return
    names = [pool.name for pool in cluster.pools]
    for name in cluster.adopt.pools:
        if name not in names:
            yield Problem(
                dotted(("cluster", "adopt", "pools", name)),
                f"no pool of the stack file is called {name}",
                f"write one of {', '.join(names)}, or leave it out",
            )


@check("DOK052")
def the_vpc_has_one_owner(case: Case) -> Iterator[Problem]:
    """A VPC is either taken over or only used."""
    cluster = doks_cluster(case)
    if cluster and cluster.vpc.id is not None and cluster.adopt.vpc is not None:
        yield Problem(
            dotted(("cluster", "adopt", "vpc")),
            "vpc.id says that the VPC is another owner's",
            "leave out vpc.id to have the VPC destroyed with the stack, or adopt.vpc to leave it alone",
        )


@check("DOK053")
def the_exporter_has_gpus(case: Case) -> Iterator[Problem]:
    """AMD's metrics exporter is switched on only for AMD's GPUs."""
    cluster = doks_cluster(case)
    if cluster and cluster.plugins.metrics_exporter and all(shape.gpus.vendor != "amd" for shape in case.shapes):
        yield Problem(
            dotted(("cluster", "plugins", "metricsExporter")), "no pool has GPUs of AMD", "leave it out, or write false"
        )
