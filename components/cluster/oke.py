"""A new cluster at Oracle."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pulumi

from gpu_fabric.base.cloud_plugins import PLUGIN_VERSIONS
from gpu_fabric.plan.clouds.oke.resources import OkeResources, advice_on

from ..secret_keys import secret_configuration
from .handle import ClusterHandle, exec_credential, kubeconfig_text, kubernetes_provider
from .oke_lookups import Lookups, tenancy_id
from .oke_nodes import real_seconds, when_joined
from .records import RecordedResources, resolve_references

_PAUSE_S = 30
# All settings of the provider but the region, which is in the stack file.
_SETTINGS = (
    "auth",
    "configFileProfile",
    "disableAutoRetries",
    "dualStackEndpointEnabled",
    "fingerprint",
    "ignoreDefinedTags",
    "privateKey",
    "privateKeyPassword",
    "privateKeyPath",
    "realmSpecificServiceEndpointTemplateEnabled",
    "retriesConfigFile",
    "retryDurationSeconds",
    "tenancyOcid",
    "tokenExchangeAuth",
    "tokenExchangeClientId",
    "tokenExchangeClientSecret",
    "tokenExchangeDomainUrl",
    "tokenExchangePublicKey",
    "tokenExchangeRequestedTokenType",
    "tokenExchangeResourceType",
    "tokenExchangeRpstExp",
    "tokenExchangeSubjectTokenType",
    "userOcid",
    "workloadIdentityTokenPath",
)


class OkeCluster(pulumi.ComponentResource):
    """Creates the plan's resources at Oracle: policies, network, cluster, CPU pool, add-ons, GPU machines, access.

    Must exist before: the compartment, and an account with the permissions for all of it. Waits until each GPU pool's
    machines have joined. Torn down in reverse, so that policies and rules outlive the nodes; resources that existed
    before stay. Load balancers and volumes that the cluster created must be deleted first.
    """

    handle: ClusterHandle

    def __init__(self, name: str, planned: OkeResources, opts: pulumi.ResourceOptions | None = None) -> None:
        # Nothing is registered without them.
        tenancy = tenancy_id(planned.lookups)
        token = _token(planned)
        super().__init__("gpu-fabric:cluster:OkeCluster", name, None, opts)
        providers = _providers(name, planned, self)
        hooks = pulumi.ResourceHookBinding(on_error=[_advising(name, planned)])
        records = RecordedResources(
            name,
            planned,
            providers,
            self,
            plugin="oci",
            answers=Lookups(planned.lookups, providers[f"{name}-oci"], tenancy).answer,
            hooks=lambda _: hooks,
        )
        cluster = records[planned.cluster.logical_name]
        kubeconfig = _kubeconfig(planned, records, token)
        kubernetes = kubernetes_provider(
            f"{name}-kubernetes",
            kubeconfig,
            None,
            cluster.id,
            self,
            # If `protect` stops a destroy, objects that still exist must not have been dropped from the state before.
            deleted_with_cluster=None if planned.protect else cluster,
            # Charts wait for their pods, which run on its nodes.
            after=(records[planned.system_pool.logical_name],),
        )
        command = planned.access.command
        handle = ClusterHandle(
            provider=kubernetes,
            cluster_id=cluster.id,
            kubeconfig=kubeconfig,
            context=None,
            access=None if command is None else pulumi.Output.from_input(resolve_references(command, records.of)),
        )
        joined = (
            when_joined(planned, pool, handle, [records[record.logical_name] for record in pool.records])
            for pool in planned.pools
        )
        self.handle = replace(handle, nodes=tuple(node for pool in joined for node in pool))
        self.register_outputs({"clusterId": cluster.id, "kubeconfig": kubeconfig})


def _providers(name: str, planned: OkeResources, parent: pulumi.Resource) -> dict[str, pulumi.ProviderResource]:
    """One provider for each region of a resource, with the stack's settings `oci:*`, else those of the environment."""
    configuration = pulumi.Config("oci")
    # Any of them may be a secret, and none is needed in plain text.
    given = {key: value for key in _SETTINGS if (value := configuration.get_secret(key)) is not None}
    options = pulumi.ResourceOptions(parent=parent, version=PLUGIN_VERSIONS["oci"])
    regions = {f"{name}-oci": planned.region}
    regions |= {
        f"{name}-{planned.provider(record)}": planned.home_region for record in planned.records if record.in_home_region
    }
    return {
        provider: pulumi.ProviderResource("oci", provider, {**given, "region": region}, options)
        for provider, region in regions.items()
    }


def _advising(name: str, planned: OkeResources) -> pulumi.ErrorHook:
    """The hook of every resource at Oracle: after an error it tries again, or explains the error and the remedy.

    Pulumi calls hooks only while it runs the program: in `up`, not in `destroy`.
    """

    async def advise(failure: pulumi.ErrorHookArgs) -> bool:
        found = advice_on(planned, failure.name, failure.errors[0] if failure.errors else "")
        if found is None or pulumi.runtime.is_dry_run():
            return False
        # One error for each try, the newest first.
        tried = len(failure.errors)
        if tried <= found.tries:
            pulumi.log.info(f"{found.means}: trying again in {_PAUSE_S} s ({tried} of {found.tries})")
            await asyncio.sleep(real_seconds(_PAUSE_S))
            return True
        pulumi.log.error(found.text)
        return False

    return pulumi.ErrorHook(f"{name}: advice on Oracle's refusals", advise)


def _token(planned: OkeResources) -> pulumi.Output[str] | None:
    """The service account's token, secret, if the stack has one.

    Raises:
        pulumi.RunError: the secret key that the stack file names is not set.
    """
    wanted = planned.kubeconfig
    if wanted.mode != "token":
        return None
    assert wanted.token_secret is not None, "a token without its key was refused"
    found = secret_configuration(wanted.token_secret).get_secret(wanted.token_secret)
    if found is None:
        raise pulumi.RunError(
            f"the token of gpu-fabric:cluster.kubeconfig is not there: `pulumi config set --secret "
            f"{wanted.token_secret}`. Before there is a cluster, write mode: exec"
        )
    return found


def _kubeconfig(
    planned: OkeResources, records: RecordedResources, token: pulumi.Output[str] | None
) -> pulumi.Output[str]:
    """The kubeconfig of the planned mode, secret."""
    wanted = planned.kubeconfig
    context = f"oke-{planned.region}-{planned.name}"
    known = pulumi.Output.all(
        server=resolve_references(wanted.server, records.of),
        authority=records.of(wanted.authority),
        command=pulumi.Output.all(*(resolve_references(word, records.of) for word in wanted.command)),
        token=token,
    )

    def text(values: Mapping[str, Any]) -> str:
        command = values["command"]
        user = exec_credential(command[0], command[1:]) if command else {"token": values["token"]}
        return kubeconfig_text(context, values["server"], values["authority"], user)

    return pulumi.Output.secret(known.apply(text))
