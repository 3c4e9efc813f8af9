"""A new cluster at Oracle."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import pulumi

from gpu_fabric.base.cloud_plugins import PLUGIN_VERSIONS
from gpu_fabric.plan.clouds.oke.resources import OkeResources, advice_on

from .handle import ClusterHandle, Resources, exec_credential, kubeconfig_text, kubernetes_provider
from .oke_lookups import Lookups
from .oke_nodes import real_seconds, when_joined
from .records import RecordedResources, resolve_references
from .settings import SettingsPlace

REGION = "oci"
"""The end of the name of the provider of the cluster's region."""

_PAUSE_S = 30
SETTINGS = (
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
"""All settings of the provider but the region, which is one of the cluster."""


class OkeAccount(NamedTuple):
    """What a cluster at Oracle needs of an account.

    `providers` are those of the plan by the ends of their names: `oci`, and `oci-home` for the tenancy's home region
    where that is another. `tenancy` is the tenancy's id where the plan does not have it, and `token` that of a service
    account for a kubeconfig of mode `token`.
    """

    providers: Mapping[str, pulumi.ProviderResource]
    tenancy: pulumi.Input[str] | None
    token: pulumi.Output[str] | None


def create_oke_cluster(
    name: str,
    planned: OkeResources,
    account: OkeAccount,
    owner: pulumi.Resource,
    *,
    settings: SettingsPlace,
    after: Resources = (),
) -> ClusterHandle:
    """Creates the plan's resources at Oracle: policies, network, cluster, CPU pool, add-ons, GPU machines, access.

    All of them are children of the owner, after other resources if some are given, and their names begin with the name.
    `settings` is where the user writes those of the cluster, for advice. The handle's nodes are known when each pool's
    machines have joined.

    Policies and rules outlive the nodes. Load balancers and volumes that the cluster created must be deleted first.
    """
    hooks = pulumi.ResourceHookBinding(on_error=[_advising(name, planned, settings)])
    records = RecordedResources(
        name,
        planned,
        {f"{name}-{end}": provider for end, provider in account.providers.items()},
        owner,
        plugin="oci",
        answers=Lookups(planned.lookups, account.providers[REGION], account.tenancy, settings).answer,
        hooks=lambda _: hooks,
        after=after,
    )
    cluster = records[planned.cluster.logical_name]
    kubeconfig = _kubeconfig(planned, records, account.token)
    kubernetes = kubernetes_provider(
        f"{name}-kubernetes",
        kubeconfig,
        None,
        cluster.id,
        owner,
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
        when_joined(planned, pool, handle, [records[record.logical_name] for record in pool.records], settings.words)
        for pool in planned.pools
    )
    beside = (records[pool.logical_name] for pool in planned.other_pools)
    return replace(handle, nodes=(*(node for pool in joined for node in pool), *beside))


def oci_provider(
    name: str,
    settings: Mapping[str, pulumi.Input[str]],
    region: str,
    parent: pulumi.Resource,
    after: Resources = (),
) -> pulumi.ProviderResource:
    """The provider of a region, with an account's settings by the names of SETTINGS, all of them kept as secrets."""
    options = pulumi.ResourceOptions(parent=parent, version=PLUGIN_VERSIONS["oci"], depends_on=list(after))
    # Any of them may be a secret, and none is needed in plain text.
    secret = {key: pulumi.Output.secret(value) for key, value in settings.items()}
    return pulumi.ProviderResource("oci", name, {**secret, "region": region}, options)


def provider_regions(planned: OkeResources) -> dict[str, str]:
    """The region of each provider that the plan needs, by the end of the provider's name."""
    home = {planned.provider(record): planned.home_region for record in planned.records if record.in_home_region}
    return {REGION: planned.region, **home}


def _advising(name: str, planned: OkeResources, settings: SettingsPlace) -> pulumi.ErrorHook:
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
        pulumi.log.error(settings.words(found.text))
        return False

    return pulumi.ErrorHook(f"{name}: advice on Oracle's refusals", advise)


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
