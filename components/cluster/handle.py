"""What every cluster component gives to the rest of the stack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
from pulumi_kubernetes import Provider


class ClusterProvider(Provider):
    """The stack's one Kubernetes provider.

    `gone_with` is the cluster where the stack makes and may delete it: what lies on it goes with it, and needs no
    deletion of its own.
    """

    gone_with: pulumi.Resource | None


@dataclass(frozen=True)
class ClusterHandle:
    """A cluster to build on.

    `kubeconfig` is secret, and `context` the one of its contexts that is meant; `cluster_id` is the cluster's own
    identity, never a constant. `nodes` are the GPU nodes' pools where the stack makes them: what runs on those nodes,
    or looks at them, comes after. `access` is the command that leads in, where there is one. `address` is a
    digest of where the kubeconfig of a cluster that exists leads.
    """

    provider: ClusterProvider
    cluster_id: pulumi.Output[str]
    kubeconfig: pulumi.Output[str]
    context: str | None
    nodes: tuple[pulumi.Input[pulumi.Resource], ...] = ()
    access: pulumi.Output[str] | None = None
    address: str | None = None


def kubernetes_provider(
    name: str,
    kubeconfig: pulumi.Output[str],
    context: str | None,
    cluster_id: pulumi.Output[str],
    parent: pulumi.Resource,
    gone_with: pulumi.Resource | None = None,
    after: Sequence[pulumi.Resource] = (),
) -> ClusterProvider:
    """The stack's one Kubernetes provider.

    With the cluster's own id as identifier, renewed credentials update it in place, and another cluster replaces
    what lies on it. All of that comes `after` these.
    """
    provider = ClusterProvider(
        name,
        kubeconfig=kubeconfig,
        context=context,
        cluster_identifier=cluster_id,
        opts=pulumi.ResourceOptions(parent=parent, depends_on=list(after)),
    )
    provider.gone_with = gone_with
    return provider
