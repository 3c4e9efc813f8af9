"""The result of every cluster component: a handle with the stack's Kubernetes provider, and kubeconfig texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi_kubernetes import Provider

from gpu_fabric.base.yaml_files import as_yaml

Resources = Sequence[pulumi.Input[pulumi.Resource]]
"""Resources that others depend on; some are known only after a wait."""


class ClusterProvider(Provider):
    """The stack's one Kubernetes provider.

    `deleted_with_cluster` is the cluster, if the stack creates it and may delete it: objects on it are then deleted
    with it, without requests of their own.
    """

    deleted_with_cluster: pulumi.Resource | None


@dataclass(frozen=True)
class ClusterHandle:
    """A cluster to build on.

    `kubeconfig` is secret, and `context` the context of it to use. `cluster_id` is the cluster's own identity, never a
    constant. `nodes` are the pools of GPU nodes, if the stack creates them; everything that runs on those nodes or
    looks at them comes after. Everything on the cluster comes after `first`. `access` is the command that opens a way
    to a cluster without a public address. `address` is a digest of the address of an existing cluster.
    """

    provider: pulumi.ProviderResource
    cluster_id: pulumi.Output[str]
    kubeconfig: pulumi.Output[str]
    context: str | None
    nodes: Resources = ()
    first: Resources = ()
    access: pulumi.Output[str] | None = None
    address: str | None = None

    @property
    def deleted_with(self) -> pulumi.Resource | None:
        """The cluster, if its deletion also deletes the objects on it."""
        return self.provider.deleted_with_cluster if isinstance(self.provider, ClusterProvider) else None


def kubernetes_provider(
    name: str,
    kubeconfig: pulumi.Output[str],
    context: str | None,
    cluster_id: pulumi.Output[str],
    parent: pulumi.Resource,
    deleted_with_cluster: pulumi.Resource | None = None,
    after: Sequence[pulumi.Resource] = (),
) -> ClusterProvider:
    """The stack's one Kubernetes provider.

    With the cluster's own id as identifier, renewed credentials update it in place, and another cluster replaces
    the objects on it. The provider, and so every object, comes after the resources in `after`.
    """
    provider = ClusterProvider(
        name,
        kubeconfig=kubeconfig,
        context=context,
        cluster_identifier=cluster_id,
        opts=pulumi.ResourceOptions(parent=parent, depends_on=list(after)),
    )
    provider.deleted_with_cluster = deleted_with_cluster
    return provider


def kubeconfig_text(name: str, server: str, authority: str, user: Mapping[str, Any]) -> str:
    """A kubeconfig of one cluster; `authority` is its certificate authority in Base64."""
    return as_yaml(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": name,
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
            "clusters": [{"name": name, "cluster": {"server": server, "certificate-authority-data": authority}}],
            "users": [{"name": name, "user": dict(user)}],
        }
    )


def exec_credential(command: str, arguments: Sequence[str]) -> dict[str, Any]:
    """A kubeconfig's user whose credentials a command prints."""
    version = "client.authentication.k8s.io/v1beta1"
    return {"exec": {"apiVersion": version, "command": command, "args": list(arguments)}}
