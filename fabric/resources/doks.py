"""What DigitalOcean is asked for, as resources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fabric.plan.clouds.doks import DoksResources, PlannedDoksCluster, PlannedDoksPool
from fabric.plan.clouds.oke import Ref
from fabric.resources.resource import Handling, Resource, Timeouts
from fabric.resources.wire import digitalocean_type, wire_properties

CLUSTER, VPC, PROJECT, IN_PROJECT = "doks", "vpc", "project", "in-project"
"""What the resources are called after their component's name; a pool is called `pool-` and its own name."""

VERSIONS = "kubernetes-versions"
"""What a reference to the versions that DigitalOcean offers names."""


def doks_resources(component: str, planned: DoksResources) -> Iterator[Resource]:
    """Everything, in the order in which it can be made."""

    def resource(name: str, kind: str, arguments: Mapping[str, Any], **handling: Any) -> Resource:
        return Resource(
            component=component,
            name=f"{component}-{name}",
            type=digitalocean_type(kind),
            properties=wire_properties(arguments),
            provider=f"{component}-digitalocean",
            # Names are fixed, so the old must be gone before the new is made.
            handling=Handling(delete_before_replace=True, **handling),
        )

    vpc, cluster, project = planned.vpc, planned.cluster, planned.project
    held = {"protect": planned.protect}
    if vpc is not None:
        arguments = _given(vpc.model_dump(exclude={"adopt", "delete_timeout"}))
        yield resource(VPC, "Vpc", arguments, adopts=vpc.adopt, timeouts=Timeouts(delete=vpc.delete_timeout), **held)
    yield resource(
        CLUSTER,
        "KubernetesCluster",
        _cluster(cluster, planned.vpc_id if vpc is None else Ref(ref=VPC)),
        adopts=cluster.adopt,
        ignore_changes=(
            *(("version",) if cluster.version_ignored else ()),
            *(("nodePool.nodeCount",) if cluster.node_pool.auto_scale else ()),
        ),
        timeouts=Timeouts(create=cluster.timeout, update=cluster.timeout),
        **held,
    )
    for pool in planned.pools:
        yield resource(
            pool_name(pool),
            "KubernetesNodePool",
            {"cluster_id": Ref(ref=CLUSTER), **_given(pool.model_dump(exclude={"adopt", "timeout"}))},
            adopts=pool.adopt,
            # The autoscaler changes it.
            ignore_changes=("nodeCount",) if pool.auto_scale else (),
            timeouts=Timeouts(create=pool.timeout, update=pool.timeout),
            # A deletion that a protected resource ends must not have taken for gone what is still on the cluster.
            deleted_with=None if planned.protect else f"{component}-{CLUSTER}",
            **held,
        )
    if project is None:
        return
    # A project of the stack's own is empty by itself, so that others may list in it, too.
    if project.id is None:
        yield resource(PROJECT, "Project", _given(project.model_dump(exclude={"id"})))
    listed = {"project": project.id or Ref(ref=PROJECT), "resources": [Ref(ref=CLUSTER, output="cluster_urn")]}
    yield resource(IN_PROJECT, "ProjectResources", listed)


def pool_name(pool: PlannedDoksPool) -> str:
    """What a pool's resource is called after its component's name."""
    return f"pool-{pool.name}"


def _cluster(cluster: PlannedDoksCluster, vpc: str | Ref | None) -> dict[str, Any]:
    apart = {"version", "version_prefix", "version_ignored", "plugins", "sso", "node_pool", "adopt", "timeout"}
    # DigitalOcean is asked for a version only where the stack file names none exactly.
    newest = Ref(ref=VERSIONS, output=f"newest of {cluster.version_prefix}*")
    return _given(
        {
            **cluster.model_dump(exclude=apart),
            "version": cluster.version or newest,
            "vpc_uuid": vpc,
            **{plugin: {"enabled": enabled} for plugin, enabled in cluster.plugins.items()},
            "ssos": None if cluster.sso is None else [cluster.sso],
            "node_pool": _given(cluster.node_pool.model_dump()),
        }
    )


def _given(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments without those that are left to DigitalOcean, and without empty lists of tags, taints and labels."""
    return {key: value for key, value in arguments.items() if value not in (None, (), {})}
