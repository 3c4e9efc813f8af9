"""What components that create a cluster have in common: providers, the cluster's resources, and outputs."""

from __future__ import annotations

import pulumi

from gpu_fabric.contract.cluster import cluster_contract
from gpu_fabric.plan import Plan
from gpu_fabric.plan.clouds.doks import DoksResources
from gpu_fabric.plan.clouds.oke.resources import OkeResources

from ..cluster.handle import ClusterHandle, Resources
from ..cluster.settings import SettingsPlace
from .cluster_arguments import ClusterArguments, plan_cluster
from .public_component import PublicComponent, dependencies, when_applied


class ClusterComponent(PublicComponent):
    """A component that creates a cluster and nothing on it; a public class names the outputs by annotations."""

    def __init__(self, public: type, name: str, cluster: ClusterArguments, opts: pulumi.ResourceOptions | None) -> None:
        """Plan the cluster and register it.

        Raises:
            pulumi.RunError: the arguments cannot be used; with every problem, before anything of it is registered.
        """
        component = f"{public.__name__} {name}"
        plan = plan_cluster(component, name, cluster, opts, {"split": {"part": "cluster"}})
        assert plan.split is not None, "a plan of a cluster alone states the input of other plans"
        facts = plan.split.cluster
        super().__init__(f"gpu-fabric:index:{public.__name__}", name, None, opts)
        self._report(component, plan)
        handle = create_cluster(component, name, plan, cluster, self, opts)
        known = {
            "cluster_id": handle.cluster_id,
            "kubeconfig": handle.kubeconfig,
            "cluster": handle.cluster_id.apply(lambda known: cluster_contract(facts, known)),
            "access": handle.access,
            "ready": when_applied(handle.nodes),
        }
        self._give_outputs(public, known)


def create_cluster(
    component: str,
    name: str,
    plan: Plan,
    cluster: ClusterArguments,
    owner: pulumi.Resource,
    opts: pulumi.ResourceOptions | None,
) -> ClusterHandle:
    """Create the plan's cluster as children of an owner, with the providers of its options or of the arguments."""
    after = dependencies(opts)
    settings = cluster.settings(component)
    if plan.cluster.doks is not None:
        return _create_at_digitalocean(name, plan.cluster.doks, cluster, owner, settings, after)
    assert plan.cluster.oke is not None, "a cluster is created at one of two clouds"
    return _create_at_oracle(name, plan.cluster.oke, cluster, owner, settings, after)


# A cloud's modules are imported only for a cluster there.


def _create_at_digitalocean(
    name: str,
    planned: DoksResources,
    cluster: ClusterArguments,
    owner: pulumi.Resource,
    settings: SettingsPlace,
    after: Resources,
) -> ClusterHandle:
    from ..cluster.doks import DoksAccount, create_doks_cluster, digitalocean_provider

    token = cluster.secret("token")
    provider = owner.get_provider("digitalocean:index:Provider")
    if provider is None:
        assert token is not None, "a cluster without a token and a provider was refused"
        provider = digitalocean_provider(f"{name}-digitalocean", token, owner, after=after)
    return create_doks_cluster(name, planned, DoksAccount(provider, token), owner, settings=settings, after=after)


def _create_at_oracle(
    name: str,
    planned: OkeResources,
    cluster: ClusterArguments,
    owner: pulumi.Resource,
    settings: SettingsPlace,
    after: Resources,
) -> ClusterHandle:
    from ..cluster.oke import REGION, OkeAccount, create_oke_cluster, oci_provider, provider_regions

    account = cluster.account.get("settings", {})
    providers = {}
    for end, region in provider_regions(planned).items():
        given = owner.get_provider("oci:index:Provider") if end == REGION else None
        providers[end] = given or oci_provider(f"{name}-{end}", account, region, owner, after)
    # An id is not a secret, and names of resources at Oracle depend on it.
    tenancy = pulumi.Output.unsecret(pulumi.Output.from_input(account.get("tenancyOcid")))
    known = OkeAccount(providers, tenancy, cluster.secret("kubeconfigToken"))
    return create_oke_cluster(name, planned, known, owner, settings=settings, after=after)
