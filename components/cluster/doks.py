"""A cluster that DigitalOcean runs, made from nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import pulumi
import pulumi_digitalocean as digitalocean

from components.cluster.handle import ClusterHandle, kubernetes_provider
from components.cluster.kubeconfig import asks_command, kubeconfig_text
from fabric.plan.clouds.doks import DoksResources, PlannedDoksCluster, PlannedDoksPool

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
        cluster = self._cluster(name, planned, provider)
        # A deletion that a protected resource ends must not have taken for gone what is still on the cluster.
        gone_with = None if planned.protect else cluster
        pools = tuple(self._pool(name, pool, planned, cluster, provider, gone_with) for pool in planned.pools)
        if planned.project is not None:
            self._list_in_project(name, planned, cluster, provider)
        kubeconfig = _kubeconfig(planned, cluster, token)
        kubernetes = kubernetes_provider(f"{name}-kubernetes", kubeconfig, None, cluster.id, self, gone_with)
        self.handle = ClusterHandle(
            provider=kubernetes, cluster_id=cluster.id, kubeconfig=kubeconfig, context=None, nodes=pools
        )
        self.register_outputs({"clusterId": cluster.id, "kubeconfig": kubeconfig})

    def _cluster(
        self, name: str, planned: DoksResources, provider: digitalocean.Provider
    ) -> digitalocean.KubernetesCluster:
        record = planned.cluster
        node_pool = record.node_pool
        ignored = [
            *(["version"] if record.version_ignored else []),
            *(["nodePool.nodeCount"] if node_pool.auto_scale else []),
        ]
        apart = {"version", "version_prefix", "version_ignored", "plugins", "sso", "node_pool", "adopt", "timeout"}
        arguments: dict[str, Any] = {
            **_given(record.model_dump(exclude=apart)),
            **{plugin: {"enabled": enabled} for plugin, enabled in record.plugins.items()},
            "ssos": None if record.sso is None else [record.sso],
            "node_pool": _given(node_pool.model_dump()),
        }
        return digitalocean.KubernetesCluster(
            f"{name}-doks",
            version=_version(record, provider),
            vpc_uuid=self._vpc(name, planned, provider),
            **arguments,
            opts=self._options(
                provider,
                adopted=record.adopt,
                protect=planned.protect,
                ignore_changes=ignored,
                custom_timeouts=pulumi.CustomTimeouts(create=record.timeout, update=record.timeout),
                hooks=_if_it_fails(f"the cluster {record.name}", "doctl kubernetes cluster list", "adopt.cluster"),
            ),
        )

    def _vpc(self, name: str, planned: DoksResources, provider: digitalocean.Provider) -> pulumi.Input[str | None]:
        """The id of the VPC: of a new one, or of one that is the account's and stays."""
        vpc = planned.vpc
        if vpc is None:
            return planned.vpc_id
        timeouts = pulumi.CustomTimeouts(delete=vpc.delete_timeout)
        return digitalocean.Vpc(
            f"{name}-vpc",
            name=vpc.name,
            region=vpc.region,
            ip_range=vpc.ip_range,
            opts=self._options(provider, adopted=vpc.adopt, protect=planned.protect, custom_timeouts=timeouts),
        ).id

    def _pool(
        self,
        name: str,
        pool: PlannedDoksPool,
        planned: DoksResources,
        cluster: digitalocean.KubernetesCluster,
        provider: digitalocean.Provider,
        gone_with: pulumi.Resource | None,
    ) -> digitalocean.KubernetesNodePool:
        of_cluster = planned.cluster.name
        return digitalocean.KubernetesNodePool(
            f"{name}-pool-{pool.name}",
            cluster_id=cluster.id,
            **_given(pool.model_dump(exclude={"adopt", "timeout"})),
            opts=self._options(
                provider,
                adopted=pool.adopt,
                protect=planned.protect,
                # The autoscaler changes it.
                ignore_changes=["nodeCount"] if pool.auto_scale else [],
                custom_timeouts=pulumi.CustomTimeouts(create=pool.timeout, update=pool.timeout),
                deleted_with=gone_with,
                hooks=_if_it_fails(
                    f"the pool {pool.name} of the cluster {of_cluster}",
                    f"doctl kubernetes cluster node-pool list {of_cluster}",
                    f"adopt.pools.{pool.name}",
                ),
            ),
        )

    def _list_in_project(
        self,
        name: str,
        planned: DoksResources,
        cluster: digitalocean.KubernetesCluster,
        provider: digitalocean.Provider,
    ) -> None:
        """A project of the stack's own is empty by itself, so that others may list in it, too."""
        project = planned.project
        assert project is not None
        options = self._options(provider)
        project_id = (
            digitalocean.Project(f"{name}-project", name=project.name, environment=project.environment, opts=options).id
            if project.id is None
            else project.id
        )
        digitalocean.ProjectResources(
            f"{name}-in-project", project=project_id, resources=[cluster.cluster_urn], opts=options
        )

    def _options(
        self, provider: digitalocean.Provider, *, adopted: str | None = None, protect: bool = False, **options: Any
    ) -> pulumi.ResourceOptions:
        """Options of everything at DigitalOcean. Names are fixed, so the old must be gone before the new is made."""
        return pulumi.ResourceOptions(
            parent=self,
            provider=provider,
            import_=adopted,
            protect=protect,
            delete_before_replace=True,
            **options,
        )


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


def _given(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments without those that are left to DigitalOcean, and without empty lists of tags, taints and labels."""
    return {key: value for key, value in arguments.items() if value not in (None, (), {})}
