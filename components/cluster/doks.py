"""A new cluster at DigitalOcean."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pulumi

from gpu_fabric.base.cloud_plugins import PLUGIN_VERSIONS
from gpu_fabric.plan.clouds.doks import VERSIONS, DoksResources, PlannedDoksCluster, PlannedDoksPool
from gpu_fabric.plan.clouds.record import Record
from gpu_fabric.resources.cloud import wire_function

from .handle import ClusterHandle, Resources, exec_credential, kubeconfig_text, kubernetes_provider
from .records import RecordedResource, RecordedResources, not_known_yet
from .settings import SettingsPlace

# A refused request to create; a time limit (408) and too many requests (429) are not refusals.
_REFUSED = re.compile(r"\bPOST \S+: 4(?!08|29)\d\d\b")
_API = "https://api.digitalocean.com"


class DoksAccount(NamedTuple):
    """The provider of an account at DigitalOcean, and its API token, which a kubeconfig of mode `token` holds."""

    provider: pulumi.ProviderResource
    token: pulumi.Output[str] | None


def create_doks_cluster(
    name: str,
    planned: DoksResources,
    account: DoksAccount,
    owner: pulumi.Resource,
    *,
    settings: SettingsPlace,
    exists: Callable[[], bool] = lambda: True,
    after: Resources = (),
) -> ClusterHandle:
    """Creates a VPC, a cluster in it with its small CPU pool, and every GPU pool, and lists the cluster in a project.

    All of them are children of the owner, after other resources if some are given, and their names begin with the name.
    `settings` is where the user writes those of the cluster, for advice.

    DigitalOcean takes minutes to remove a deleted cluster from the VPC, and the VPC's deletion waits for that.

    Raises:
        pulumi.RunError: DigitalOcean does not offer the Kubernetes version.
    """
    # Before the VPC, so that a version that DigitalOcean does not offer leaves nothing behind.
    version = _version(planned, account.provider, settings, lambda: planned.cluster.adopts is not None or exists())
    records = RecordedResources(
        name,
        planned,
        {f"{name}-digitalocean": account.provider},
        owner,
        plugin="digitalocean",
        answers=lambda ref, *_: version if ref.ref == VERSIONS else None,
        hooks=lambda record: _advice_on_failure(name, planned, record, settings),
        after=after,
    )
    cluster = records[planned.cluster.logical_name]
    kubeconfig = _kubeconfig(planned, cluster, account.token)
    # If `protect` stops a destroy, objects that still exist must not have been dropped from the state before.
    deleted_with = None if planned.protect else cluster
    kubernetes = kubernetes_provider(f"{name}-kubernetes", kubeconfig, None, cluster.id, owner, deleted_with)
    return ClusterHandle(
        provider=kubernetes,
        cluster_id=cluster.id,
        kubeconfig=kubeconfig,
        context=None,
        nodes=tuple(records[pool.logical_name] for pool in (*planned.pools, *planned.other_pools)),
    )


def digitalocean_provider(
    name: str,
    token: pulumi.Output[str],
    parent: pulumi.Resource,
    *,
    endpoint: str | None = None,
    spaces: str | None = None,
    after: Resources = (),
) -> pulumi.ProviderResource:
    """The provider of the account of an API token; the addresses of its APIs are DigitalOcean's own by default."""
    settings = {"apiEndpoint": endpoint or _API, "spacesEndpoint": spaces, "token": token}
    options = pulumi.ResourceOptions(
        parent=parent,
        version=PLUGIN_VERSIONS["digitalocean"],
        additional_secret_outputs=["token"],
        depends_on=list(after),
    )
    return pulumi.ProviderResource("digitalocean", name, settings, options)


def _advice_on_failure(
    name: str, planned: DoksResources, record: Record, settings: SettingsPlace
) -> pulumi.ResourceHookBinding | None:
    """Reports after a failed creation how to find a cluster or pool that DigitalOcean may have created nonetheless.

    The provider forgets the id of a resource that failed or was not ready in time; DigitalOcean keeps the resource, and
    charges for it.
    """
    cluster = planned.cluster.name
    match record:
        case PlannedDoksCluster():
            what, key = f"the cluster {cluster}", "adopt.cluster"
            look, delete = "doctl kubernetes cluster list", f"doctl kubernetes cluster delete {cluster}"
        case PlannedDoksPool():
            what, key = f"the pool {record.name} of the cluster {cluster}", f"adopt.pools.{record.name}"
            look = f"doctl kubernetes cluster node-pool list {cluster}"
            delete = f"doctl kubernetes cluster node-pool delete {cluster} {record.name}"
        case _:
            return None

    def advise(failure: pulumi.ErrorHookArgs) -> bool:
        if failure.failed_operation != "create" or pulumi.runtime.is_dry_run():
            return False
        if any(_REFUSED.search(text) for text in failure.errors):
            pulumi.log.error(
                f"{what} was not created: DigitalOcean refused the request, so there is nothing of it. Correct what "
                f"its answer names in {settings.whole}, and run `up` again"
            )
        else:
            pulumi.log.error(
                f"{what} was not created, but DigitalOcean may have it nonetheless, unknown to this stack: `{look}` "
                f"shows it. Then either delete it (`{delete}`), or write its id in {settings.whole} as "
                f"{settings.words(f'gpu-fabric:cluster.{key}')}, and run `up` again"
            )
        return False

    return pulumi.ResourceHookBinding(on_error=[pulumi.ErrorHook(f"{name}: advice on {what}", advise)])


def _version(
    planned: DoksResources, provider: pulumi.ProviderResource, settings: SettingsPlace, exists: Callable[[], bool]
) -> pulumi.Input[str]:
    """The exact slug; `exists` is whether the cluster exists, and so keeps its version.

    DigitalOcean is asked if the settings do not name an exact slug, and before a cluster is created with one. A preview
    does not know the slug if the token is not known yet.

    Raises:
        pulumi.RunError: no version that DigitalOcean offers begins with the wanted one.
    """
    wanted, exact = planned.version_prefix, isinstance(planned.cluster.version, str)
    if exact and exists():
        return wanted
    function = wire_function("digitalocean.get_kubernetes_versions")
    options = pulumi.InvokeOptions(provider=provider, version=PLUGIN_VERSIONS["digitalocean"])
    offered: Mapping[str, Any] = pulumi.runtime.invoke(function, {"versionPrefix": wanted}, options).value
    if not offered and pulumi.runtime.is_dry_run():
        # Pulumi's answer for a provider whose settings are not known.
        return not_known_yet()
    if not exact and (newest := offered.get("latestVersion")):
        return str(newest)
    if exact and wanted in (offered.get("validVersions") or ()):
        return wanted
    refusal = f"DigitalOcean offers no Kubernetes version {wanted}{'' if exact else '*'}"
    if "version" not in planned.cluster.ignore_changes or not exists():
        raise pulumi.RunError(
            f"{refusal}; `doctl kubernetes options versions` lists those it does. Write one in {settings.whole} as "
            f"{settings.words('gpu-fabric:cluster.version')}; nothing was created"
        )
    # A cluster keeps its version long after new ones can no longer be created with it.
    pulumi.log.warn(f"{refusal}: an existing cluster keeps its own, a new one cannot be created")
    return wanted.rstrip(".-")


def _kubeconfig(
    planned: DoksResources, cluster: RecordedResource, token: pulumi.Output[str] | None
) -> pulumi.Output[str]:
    """The kubeconfig of the planned mode, secret.

    `raw` is DigitalOcean's own, whose credentials expire; a refresh of the stack then renews them.
    """
    mode = planned.kubeconfig_mode
    given = cluster.output("kube_configs")
    if mode == "raw":
        return pulumi.Output.secret(given.apply(lambda configs: configs[0].get("rawConfig") or ""))
    context = f"do-{planned.cluster.region}-{planned.cluster.name}"

    def text(values: Mapping[str, Any]) -> str:
        arguments = ["kubernetes", "cluster", "kubeconfig", "exec-credential", "--version=v1beta1", values["id"]]
        user = exec_credential("doctl", arguments) if mode == "exec" else {"token": values["token"]}
        return kubeconfig_text(context, values["endpoint"], values["authority"], user)

    authority = given.apply(lambda configs: configs[0].get("clusterCaCertificate") or "")
    known = pulumi.Output.all(id=cluster.id, endpoint=cluster.output("endpoint"), authority=authority, token=token)
    return pulumi.Output.secret(known.apply(text))
