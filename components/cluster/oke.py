"""A cluster that Oracle runs, made from nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pulumi

from gpu_fabric.plan.clouds.oke import OkeResources, advice_on

from .handle import ClusterHandle, kubernetes_provider
from .kubeconfig import asks_command, kubeconfig_text
from .oke_lookups import Lookups, tenancy_id
from .oke_nodes import real_seconds, when_joined
from .records import RecordedResources, known_later, plugin_version

_PAUSE_S = 30
# All that the provider knows, but for the region, which is the stack file's.
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
    """Makes what the plan has for Oracle: policies, network, cluster, CPU pool, add-ons, GPU machines, and ways in.

    Must exist before: the compartment, and an account that may make all of it. Waits until each GPU pool's machines
    have joined. Torn down in the opposite order, so that policies and rules outlive the nodes; what existed before
    stays. Load balancers and volumes that the cluster made by itself must be deleted first.
    """

    handle: ClusterHandle

    def __init__(self, name: str, planned: OkeResources, opts: pulumi.ResourceOptions | None = None) -> None:
        # Without them nothing is registered.
        tenancy = tenancy_id(planned.lookups)
        token = _token(planned)
        super().__init__("gpu-fabric:cluster:OkeCluster", name, None, opts)
        providers = _providers(name, planned, self)
        hooks = pulumi.ResourceHookBinding(on_error=[_advising(name, planned)])
        made = RecordedResources(
            name,
            planned,
            providers,
            self,
            plugin="oci",
            answers=Lookups(planned.lookups, providers[f"{name}-oci"], tenancy).answer,
            hooks=lambda _: hooks,
        )
        cluster = made[planned.cluster.logical_name]
        kubeconfig = _kubeconfig(planned, made, token)
        kubernetes = kubernetes_provider(
            f"{name}-kubernetes",
            kubeconfig,
            None,
            cluster.id,
            self,
            # A deletion that a protected resource ends must not have taken for gone what is still on the cluster.
            gone_with=None if planned.protect else cluster,
            # Charts wait for their pods, which run on its nodes.
            after=(made[planned.system_pool.logical_name],),
        )
        command = planned.access.command
        handle = ClusterHandle(
            provider=kubernetes,
            cluster_id=cluster.id,
            kubeconfig=kubeconfig,
            context=None,
            access=None if command is None else pulumi.Output.from_input(known_later(command, made.of)),
        )
        joined = (
            when_joined(planned, pool, handle, [made[record.logical_name] for record in pool.records])
            for pool in planned.pools
        )
        self.handle = replace(handle, nodes=tuple(node for pool in joined for node in pool))
        self.register_outputs({"clusterId": cluster.id, "kubeconfig": kubeconfig})


def _providers(name: str, planned: OkeResources, parent: pulumi.Resource) -> dict[str, pulumi.ProviderResource]:
    """One for each region that something is made in, with the stack's settings `oci:*`.

    What the settings leave out is the environment's.
    """
    configuration = pulumi.Config("oci")
    # Any of them may have been set as a secret, and none is needed in plain text.
    given = {key: value for key in _SETTINGS if (value := configuration.get_secret(key)) is not None}
    options = pulumi.ResourceOptions(parent=parent, version=plugin_version("oci"))
    regions = {f"{name}-oci": planned.region}
    regions |= {
        f"{name}-{planned.provider(record)}": planned.home_region for record in planned.records if record.in_home_region
    }
    return {
        provider: pulumi.ProviderResource("oci", provider, {**given, "region": region}, options)
        for provider, region in regions.items()
    }


def _advising(name: str, planned: OkeResources) -> pulumi.ErrorHook:
    """The hook for everything at Oracle: after an error it asks again, or says what it means and what to do.

    The engine calls it where it runs the program: `up`, not `destroy`.
    """

    async def advise(failure: pulumi.ErrorHookArgs) -> bool:
        found = advice_on(planned, failure.name, failure.errors[0] if failure.errors else "")
        if found is None or pulumi.runtime.is_dry_run():
            return False
        # The newest is the first, so there are as many as there have been tries.
        tried = len(failure.errors)
        if tried <= found.tries:
            pulumi.log.info(f"{found.means}: trying again in {_PAUSE_S} s ({tried} of {found.tries})")
            await asyncio.sleep(real_seconds(_PAUSE_S))
            return True
        pulumi.log.error(found.text)
        return False

    return pulumi.ErrorHook(f"{name}: advice on Oracle's refusals", advise)


def _token(planned: OkeResources) -> pulumi.Output[str] | None:
    """The service account's token, secret, where the stack has one.

    Raises:
        pulumi.RunError: the secret key that the stack file names is not there.
    """
    wanted = planned.kubeconfig
    if wanted.mode != "token":
        return None
    assert wanted.token_secret is not None, "a token without its key was refused"
    found = pulumi.Config().get_secret(wanted.token_secret)
    if found is None:
        raise pulumi.RunError(
            f"the token of gpu-fabric:cluster.kubeconfig is not there: `pulumi config set --secret "
            f"{wanted.token_secret}`. Before there is a cluster, write mode: exec"
        )
    return found


def _kubeconfig(planned: OkeResources, made: RecordedResources, token: pulumi.Output[str] | None) -> pulumi.Output[str]:
    """The kubeconfig of the planned mode, secret."""
    wanted = planned.kubeconfig
    context = f"oke-{planned.region}-{planned.name}"
    known = pulumi.Output.all(
        server=known_later(wanted.server, made.of),
        authority=made.of(wanted.authority),
        command=pulumi.Output.all(*(known_later(word, made.of) for word in wanted.command)),
        token=token,
    )

    def text(values: Mapping[str, Any]) -> str:
        command = values["command"]
        user = asks_command(command[0], command[1:]) if command else {"token": values["token"]}
        return kubeconfig_text(context, values["server"], values["authority"], user)

    return pulumi.Output.secret(known.apply(text))
