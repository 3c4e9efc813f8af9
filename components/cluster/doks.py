"""A new cluster at DigitalOcean."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Any

import pulumi

from gpu_fabric.base.cloud_plugins import PLUGIN_VERSIONS
from gpu_fabric.plan.clouds.doks import VERSIONS, DoksResources, PlannedDoksCluster, PlannedDoksPool
from gpu_fabric.plan.clouds.record import Record
from gpu_fabric.resources.cloud import wire_function

from .handle import ClusterHandle, exec_credential, kubeconfig_text, kubernetes_provider
from .records import RecordedResource, RecordedResources

# A refused request to create; a time limit (408) and too many requests (429) are not refusals.
_REFUSED = re.compile(r"\bPOST \S+: 4(?!08|29)\d\d\b")
_VARIABLES = ("DIGITALOCEAN_TOKEN", "DIGITALOCEAN_ACCESS_TOKEN")
_API = "https://api.digitalocean.com"


class DoksCluster(pulumi.ComponentResource):
    """Creates a VPC, a cluster in it with its small CPU pool, and every GPU pool, and lists the cluster in a project.

    Must exist before: an API token; the VPC and the project, if the stack file names them. Waits until each pool's
    nodes run. Torn down from the pools, which are deleted with their cluster. DigitalOcean then takes minutes to remove
    the cluster from the VPC, and the VPC's deletion waits for that. Load balancers and volumes that the cluster created
    are deleted only if the stack file says so. An existing VPC or project stays. Adopted resources are deleted like the
    rest; replacing one while the stack file names its id fails the run.
    """

    handle: ClusterHandle

    def __init__(
        self,
        name: str,
        planned: DoksResources,
        opts: pulumi.ResourceOptions | None = None,
        *,
        exists: Callable[[], bool] = lambda: True,
    ) -> None:
        # Nothing is registered without a token.
        token = _token()
        super().__init__("gpu-fabric:cluster:DoksCluster", name, None, opts)
        provider = _provider(f"{name}-digitalocean", token, self)
        # Before the VPC, so that a version that DigitalOcean does not offer leaves nothing behind.
        version = _version(planned, provider, lambda: planned.cluster.adopts is not None or exists())
        records = RecordedResources(
            name,
            planned,
            {f"{name}-digitalocean": provider},
            self,
            plugin="digitalocean",
            answers=lambda ref, *_: version if ref.ref == VERSIONS else None,
            hooks=lambda record: _advice_on_failure(planned, record),
        )
        cluster = records[planned.cluster.logical_name]
        kubeconfig = _kubeconfig(planned, cluster, token)
        # If `protect` stops a destroy, objects that still exist must not have been dropped from the state before.
        deleted_with = None if planned.protect else cluster
        kubernetes = kubernetes_provider(f"{name}-kubernetes", kubeconfig, None, cluster.id, self, deleted_with)
        self.handle = ClusterHandle(
            provider=kubernetes,
            cluster_id=cluster.id,
            kubeconfig=kubeconfig,
            context=None,
            nodes=tuple(records[pool.logical_name] for pool in planned.pools),
        )
        self.register_outputs({"clusterId": cluster.id, "kubeconfig": kubeconfig})


def _provider(name: str, token: pulumi.Output[str], parent: pulumi.Resource) -> pulumi.ProviderResource:
    """The account's provider; environment variables may set its addresses."""
    settings = {
        "apiEndpoint": os.environ.get("DIGITALOCEAN_API_URL") or _API,
        "spacesEndpoint": os.environ.get("SPACES_ENDPOINT_URL"),
        "token": token,
    }
    options = pulumi.ResourceOptions(
        parent=parent, version=PLUGIN_VERSIONS["digitalocean"], additional_secret_outputs=["token"]
    )
    return pulumi.ProviderResource("digitalocean", name, settings, options)


def _token() -> pulumi.Output[str]:
    """The API token, secret.

    Raises:
        pulumi.RunError: it is not set.
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


def _advice_on_failure(planned: DoksResources, record: Record) -> pulumi.ResourceHookBinding | None:
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
                f"its answer names in Pulumi.{pulumi.get_stack()}.yaml, and run `up` again"
            )
        else:
            pulumi.log.error(
                f"{what} was not created, but DigitalOcean may have it nonetheless, unknown to this stack: `{look}` "
                f"shows it. Then either delete it (`{delete}`), or write its id in Pulumi.{pulumi.get_stack()}.yaml as "
                f"gpu-fabric:cluster.{key}, and run `up` again"
            )
        return False

    return pulumi.ResourceHookBinding(on_error=[pulumi.ErrorHook(f"advice on {what}", advise)])


def _version(planned: DoksResources, provider: pulumi.ProviderResource, exists: Callable[[], bool]) -> str:
    """The exact slug; `exists` is whether the cluster exists, and so keeps its version.

    DigitalOcean is asked if the stack file does not name an exact slug, and before a cluster is created with one.

    Raises:
        pulumi.RunError: no version that DigitalOcean offers begins with the wanted one.
    """
    wanted, exact = planned.version_prefix, isinstance(planned.cluster.version, str)
    if exact and exists():
        return wanted
    function = wire_function("digitalocean.get_kubernetes_versions")
    options = pulumi.InvokeOptions(provider=provider, version=PLUGIN_VERSIONS["digitalocean"])
    offered: Mapping[str, Any] = pulumi.runtime.invoke(function, {"versionPrefix": wanted}, options).value
    if not exact and (newest := offered.get("latestVersion")):
        return str(newest)
    if exact and wanted in (offered.get("validVersions") or ()):
        return wanted
    refusal = f"DigitalOcean offers no Kubernetes version {wanted}{'' if exact else '*'}"
    if "version" not in planned.cluster.ignore_changes or not exists():
        raise pulumi.RunError(
            f"{refusal}; `doctl kubernetes options versions` lists those it does. Write one in "
            f"Pulumi.{pulumi.get_stack()}.yaml as gpu-fabric:cluster.version; nothing was created"
        )
    # A cluster keeps its version long after new ones can no longer be created with it.
    pulumi.log.warn(f"{refusal}: an existing cluster keeps its own, a new one cannot be created")
    return wanted.rstrip(".-")


def _kubeconfig(planned: DoksResources, cluster: RecordedResource, token: pulumi.Output[str]) -> pulumi.Output[str]:
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
