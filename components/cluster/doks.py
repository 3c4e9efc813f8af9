"""A cluster that DigitalOcean runs, made from nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import pulumi
import pulumi_digitalocean as digitalocean

from components.cluster.handle import ClusterHandle, kubernetes_provider
from components.cluster.kubeconfig import asks_command, kubeconfig_text
from components.engine_options import handled
from fabric.plan.clouds.doks import DoksResources, PlannedDoksCluster, PlannedDoksPool
from fabric.resources.doks import CLUSTER, IN_PROJECT, PROJECT, VPC, doks_resources, pool_name
from fabric.resources.wire import argument_name

R = TypeVar("R", bound=pulumi.Resource)

_VARIABLES = ("DIGITALOCEAN_TOKEN", "DIGITALOCEAN_ACCESS_TOKEN")


class DoksCluster(pulumi.ComponentResource):
    """Makes a VPC, a cluster in it with its small CPU pool, and every GPU pool, and lists the cluster in a project.

    Must exist before: an API token; where the stack file names them, the VPC or the project. Waits until each pool's
    nodes run. Torn down pools first, which go with their cluster; DigitalOcean then takes minutes to take the cluster
    out of the VPC, whose deletion waits for that. What the cluster made by itself, load balancers and volumes, goes
    only where the stack file says so. A VPC or project that existed stays. What is adopted goes as all else does, but
    is not replaced for as long as the stack file names its id: the engine ends such a run.
    """

    handle: ClusterHandle

    def __init__(self, name: str, planned: DoksResources, opts: pulumi.ResourceOptions | None = None) -> None:
        # Without one nothing is registered.
        token = _token()
        super().__init__("gpu-fabric:cluster:DoksCluster", name, None, opts)
        provider = digitalocean.Provider(f"{name}-digitalocean", token=token, opts=pulumi.ResourceOptions(parent=self))
        self._planned = planned
        self._digitalocean = provider
        self._resources = {resource.name: resource for resource in doks_resources(name, planned)}
        self._made: dict[str, pulumi.Resource] = {}
        cluster = self._cluster(name)
        pools = tuple(self._pool(name, pool, cluster) for pool in planned.pools)
        if planned.project is not None:
            self._list_in_project(name, cluster)
        kubeconfig = _kubeconfig(planned, cluster, token)
        # A deletion that a protected resource ends must not have taken for gone what is still on the cluster.
        gone_with = None if planned.protect else cluster
        kubernetes = kubernetes_provider(f"{name}-kubernetes", kubeconfig, None, cluster.id, self, gone_with)
        self.handle = ClusterHandle(
            provider=kubernetes, cluster_id=cluster.id, kubeconfig=kubeconfig, context=None, nodes=pools
        )
        self.register_outputs({"clusterId": cluster.id, "kubeconfig": kubeconfig})

    def _cluster(self, name: str) -> digitalocean.KubernetesCluster:
        record = self._planned.cluster
        hook = _if_it_fails(f"the cluster {record.name}", "doctl kubernetes cluster list", "adopt.cluster")
        vpc = (
            self._planned.vpc_id if self._planned.vpc is None else self._register(digitalocean.Vpc, f"{name}-{VPC}").id
        )
        return self._register(
            digitalocean.KubernetesCluster,
            f"{name}-{CLUSTER}",
            hook,
            vpc_uuid=vpc,
            version=_version(record, self._digitalocean),
        )

    def _pool(
        self, name: str, pool: PlannedDoksPool, cluster: digitalocean.KubernetesCluster
    ) -> digitalocean.KubernetesNodePool:
        of_cluster = self._planned.cluster.name
        hook = _if_it_fails(
            f"the pool {pool.name} of the cluster {of_cluster}",
            f"doctl kubernetes cluster node-pool list {of_cluster}",
            f"adopt.pools.{pool.name}",
        )
        resource = f"{name}-{pool_name(pool)}"
        return self._register(digitalocean.KubernetesNodePool, resource, hook, cluster_id=cluster.id)

    def _list_in_project(self, name: str, cluster: digitalocean.KubernetesCluster) -> None:
        project = f"{name}-{PROJECT}"
        known: dict[str, Any] = {"resources": [cluster.cluster_urn]}
        if project in self._resources:
            known["project"] = self._register(digitalocean.Project, project).id
        self._register(digitalocean.ProjectResources, f"{name}-{IN_PROJECT}", **known)

    def _register(
        self, kind: Callable[..., R], name: str, hook: pulumi.ResourceHookBinding | None = None, **known: Any
    ) -> R:
        """A planned resource; `known` are the arguments that the plan leaves to other resources' outputs."""
        planned = self._resources[name]
        arguments = {argument_name(key): value for key, value in planned.properties.items()}
        options = pulumi.ResourceOptions(parent=self, provider=self._digitalocean, hooks=hook)
        made = kind(name, **(arguments | known), opts=handled(options, planned.handling, self._made))
        self._made[name] = made
        return made


def _token() -> pulumi.Output[str]:
    """The API token, secret.

    Raises:
        pulumi.RunError: there is none.
    """
    if configured := pulumi.Config("digitalocean").get_secret("token"):
        return configured
    found = next((text for name in _VARIABLES if (text := os.environ.get(name))), None)
    if found is None:
        raise pulumi.RunError(
            "no API token for DigitalOcean: `pulumi config set --secret digitalocean:token`, or set the environment "
            f"variable {' or '.join(_VARIABLES)}"
        )
    return pulumi.Output.secret(found)


def _if_it_fails(what: str, look: str, key: str) -> pulumi.ResourceHookBinding:
    """Say after a failed creation how to get at what DigitalOcean may have made of it.

    The provider forgets the id of what failed or was not ready in time, but DigitalOcean keeps it, and charges for it.
    """

    def advise(failure: pulumi.ErrorHookArgs) -> bool:
        if failure.failed_operation == "create" and not pulumi.runtime.is_dry_run():
            pulumi.log.error(
                f"{what} was not created, but DigitalOcean may have it nonetheless, unknown to this stack: `{look}` "
                f"shows it. Then either delete it, or write its id in Pulumi.{pulumi.get_stack()}.yaml as "
                f"gpu-fabric:cluster.{key}, and run `up` again"
            )
        return False

    return pulumi.ResourceHookBinding(on_error=[pulumi.ErrorHook(f"advice on {what}", advise)])


def _version(record: PlannedDoksCluster, provider: digitalocean.Provider) -> str:
    """The exact slug; DigitalOcean is asked for one only where the stack file names none.

    Raises:
        pulumi.RunError: no version that DigitalOcean offers begins as wanted.
    """
    if record.version is not None:
        return record.version
    assert record.version_prefix is not None
    offered = digitalocean.get_kubernetes_versions(
        version_prefix=record.version_prefix, opts=pulumi.InvokeOptions(provider=provider)
    )
    if offered.latest_version:
        return offered.latest_version
    refusal = f"DigitalOcean offers no Kubernetes version {record.version_prefix}*"
    if not record.version_ignored:
        raise pulumi.RunError(f"{refusal}; `doctl kubernetes options versions` lists those it does")
    # A cluster that has it keeps it, long after new ones can no longer be made of it.
    pulumi.log.warn(f"{refusal}: a cluster that is there keeps its own, a new one cannot be made")
    return record.version_prefix.rstrip(".-")


def _kubeconfig(
    planned: DoksResources, cluster: digitalocean.KubernetesCluster, token: pulumi.Output[str]
) -> pulumi.Output[str]:
    """The kubeconfig of the planned mode, secret.

    `raw` is DigitalOcean's own, whose credentials end; a refresh of the stack renews them once they have.
    """
    mode = planned.kubeconfig_mode
    if mode == "raw":
        return pulumi.Output.secret(cluster.kube_configs.apply(lambda configs: configs[0].raw_config or ""))
    context = f"do-{planned.cluster.region}-{planned.cluster.name}"

    def text(values: Mapping[str, Any]) -> str:
        user = _doctl(values["id"]) if mode == "exec" else {"token": values["token"]}
        return kubeconfig_text(context, values["endpoint"], values["authority"], user)

    authority = cluster.kube_configs.apply(lambda configs: configs[0].cluster_ca_certificate or "")
    known = pulumi.Output.all(id=cluster.id, endpoint=cluster.endpoint, authority=authority, token=token)
    return pulumi.Output.secret(known.apply(text))


def _doctl(cluster: str) -> dict[str, Any]:
    arguments = ["kubernetes", "cluster", "kubeconfig", "exec-credential", "--version=v1beta1", cluster]
    return asks_command("doctl", arguments)
