"""What every cluster component gives to the rest of the stack."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi
from pulumi_kubernetes import Provider


@dataclass(frozen=True)
class ClusterHandle:
    """A cluster to build on.

    `kubeconfig` is secret, and `context` the one of its contexts that is meant; `cluster_id` is the cluster's own
    identity, never a constant.
    """

    provider: Provider
    cluster_id: pulumi.Output[str]
    kubeconfig: pulumi.Output[str]
    context: str | None


def kubernetes_provider(
    name: str,
    kubeconfig: pulumi.Output[str],
    context: str | None,
    cluster_id: pulumi.Output[str],
    parent: pulumi.Resource,
) -> Provider:
    """The stack's one Kubernetes provider.

    With the cluster's own id as identifier, renewed credentials update it in place, and another cluster replaces
    what lies on it.
    """
    return Provider(
        name,
        kubeconfig=kubeconfig,
        context=context,
        cluster_identifier=cluster_id,
        opts=pulumi.ResourceOptions(parent=parent),
    )
