"""A new cluster at Oracle."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pulumi

from gpu_fabric.base.api_objects import is_true
from gpu_fabric.base.cloud_plugins import PLUGIN_VERSIONS
from gpu_fabric.base.cloud_time import MINUTE_VARIABLE
from gpu_fabric.plan.clouds.oke.resources import OkeResources, PlannedConstruct, advice_on, joining_advice

from ..engine.cluster_api import RequestError
from ..engine.waiting import NodesError, NodeStatus, api_of, delay_resources, nodes_with, wait_for_nodes
from .handle import ClusterHandle, Resources, exec_credential, kubeconfig_text, kubernetes_provider
from .oke_lookups import Lookups
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


Look = Callable[[], Mapping[str, bool]]
"""Reads a pool's nodes, and whether each is ready."""


def when_joined(
    planned: OkeResources,
    pool: PlannedConstruct,
    cluster: ClusterHandle,
    machines: Sequence[pulumi.Resource],
    words: Callable[[str], str],
) -> Resources:
    """The resources of a pool's machines, known when all of its nodes are ready; a preview does not wait.

    After the time limit the run ends with an error: the number of nodes, and why others may not join, in `words` for
    the user's settings.
    """

    async def waited(kubeconfig: str) -> None:
        advice = words(joining_advice(planned, pool, await cluster.cluster_id.future() or ""))
        seconds = int(real_seconds(planned.join_minutes * 60))
        await wait_until_joined(pool, seconds, looking(pool, kubeconfig, cluster.context), pulumi.log.info, advice)

    return delay_resources(cluster, machines, waited)


async def wait_until_joined(
    pool: PlannedConstruct, seconds: int, look: Look, say: Callable[[str], None], advice: str
) -> None:
    """Poll until all nodes of a pool are ready.

    Raises:
        NodesError: naming the pool, how many joined, each that is not ready, and the advice.
    """
    try:
        await wait_for_nodes(lambda: _status(pool, look), f"of pool {pool.pool} are ready", seconds, say)
    except NodesError as error:
        raise NodesError(f"{error}\n{advice}") from None


def looking(pool: PlannedConstruct, kubeconfig: str, context: str | None) -> Look:
    """A function that reads the pool's nodes from the cluster of a kubeconfig."""
    api = api_of(kubeconfig, context)

    return lambda: {name: is_true(node, "Ready") for name, node in nodes_with(api, pool.node_labels).items()}


def _status(pool: PlannedConstruct, look: Look) -> NodeStatus:
    try:
        seen = look()
    except RequestError as error:
        return NodeStatus(0, {}, missing=f"pool {pool.pool}: the cluster gives no answer: {error}")
    few = f"pool {pool.pool}: {len(seen)} of {pool.awaited} nodes have joined the cluster"
    lacks = {node: "it has joined, but is not ready" for node, ready in seen.items() if not ready}
    return NodeStatus(len(seen), lacks, missing=few if len(seen) < pool.awaited else "")


def real_seconds(seconds: float) -> float:
    """Seconds of the cloud's time in real time, which is less for a simulated cloud, whose time passes faster."""
    return seconds / 60 * float(os.environ.get(MINUTE_VARIABLE, 60))
