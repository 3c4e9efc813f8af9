"""A cluster that is there already."""

from __future__ import annotations

from pathlib import Path

import pulumi

from components.cluster.handle import ClusterHandle, kubernetes_provider
from fabric.plan import PlannedCluster
from fabric.spec.kubeconfig import cluster_identity


class ExistingCluster(pulumi.ComponentResource):
    """Builds the provider for a cluster this program did not create, and creates nothing in it.

    Must exist before: the cluster, and a kubeconfig file or a secret configuration key that holds one. Waits for
    nothing. Destroying it leaves the cluster alone.
    """

    handle: ClusterHandle

    def __init__(
        self, name: str, cluster: PlannedCluster, root: Path, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """`root` is the folder that a relative kubeconfig path starts from."""
        super().__init__("gpu-fabric:cluster:ExistingCluster", name, None, opts)
        kubeconfig = _kubeconfig(cluster, root)
        identity = (
            pulumi.Output.from_input(cluster.id)
            if cluster.id
            else kubeconfig.apply(lambda text: cluster_identity(text, cluster.context))
        )
        # A digest of address and authority gives nothing away, and a secret output would hide it from its readers.
        cluster_id = pulumi.Output.unsecret(identity)
        provider = kubernetes_provider(f"{name}-kubernetes", kubeconfig, cluster.context, cluster_id, self)
        self.handle = ClusterHandle(
            provider=provider, cluster_id=cluster_id, kubeconfig=kubeconfig, context=cluster.context
        )
        self.register_outputs({"clusterId": cluster_id, "kubeconfig": kubeconfig})


def _kubeconfig(cluster: PlannedCluster, root: Path) -> pulumi.Output[str]:
    if cluster.kubeconfig_secret is not None:
        return pulumi.Config().require_secret(cluster.kubeconfig_secret)
    if cluster.kubeconfig is None:
        raise ValueError("a plan without kubeconfig and without secret; the spec refuses it")
    return pulumi.Output.secret((root / Path(cluster.kubeconfig).expanduser()).read_text(encoding="utf-8"))
