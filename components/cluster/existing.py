"""An existing cluster."""

from __future__ import annotations

from pathlib import Path

import pulumi
from pulumi.runtime import config as engine

from gpu_fabric.base.user_files import file_text
from gpu_fabric.plan.plan import PlannedCluster
from gpu_fabric.spec.kubeconfig import cluster_entry, cluster_identity

from ..engine.secret_keys import secret_configuration
from .handle import ClusterHandle, kubernetes_provider


class ExistingCluster(pulumi.ComponentResource):
    """Builds the provider of an existing cluster, and creates nothing in it.

    Must exist before: the cluster, and a kubeconfig file or a secret configuration key that holds one. Waits for
    nothing. Its deletion does not change the cluster.
    """

    handle: ClusterHandle

    def __init__(
        self, name: str, cluster: PlannedCluster, root: Path, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """`root` is the folder that a relative path of a kubeconfig starts from."""
        super().__init__("gpu-fabric:cluster:ExistingCluster", name, None, opts)
        text = existing_kubeconfig(cluster, root)
        kubeconfig = pulumi.Output.secret(text)
        # A digest of address and authority reveals nothing; as a secret output it would be hidden from its readers.
        address = cluster_identity(text, cluster.context)
        cluster_id = pulumi.Output.from_input(cluster.id or address)
        provider = kubernetes_provider(f"{name}-kubernetes", kubeconfig, cluster.context, cluster_id, self)
        self.handle = ClusterHandle(
            provider=provider, cluster_id=cluster_id, kubeconfig=kubeconfig, context=cluster.context, address=address
        )
        self.register_outputs({"clusterId": cluster_id, "kubeconfig": kubeconfig})


def existing_kubeconfig(cluster: PlannedCluster, root: Path) -> str:
    """The kubeconfig of an existing cluster, checked: it has the stack's context, and that context's cluster.

    Raises:
        pulumi.RunError: it is missing, or cannot be used; messages never repeat its content.
    """
    if cluster.kubeconfig is not None:
        place, text = cluster.kubeconfig, _file(root / Path(cluster.kubeconfig).expanduser(), cluster.kubeconfig)
    else:
        # Read as text: an error inside an Output would be repeated for every resource that comes later.
        key = cluster.kubeconfig_secret or ""
        place = secret_configuration(key).full_key(key)
        found = engine.get_config(place)
        if not found:
            raise pulumi.RunError(
                f"the secret {place} is not set\n-> pulumi config set --secret {place} < the kubeconfig's file"
            )
        text = found
    try:
        cluster_entry(text, cluster.context)
    except ValueError as error:
        raise pulumi.RunError(f"{place}: {error}\n-> give it a complete kubeconfig with the context") from None
    return text


def _file(path: Path, name: str) -> str:
    try:
        return file_text(path)
    except (OSError, UnicodeDecodeError):
        # The file was readable when the stack file was checked, but may have been deleted since.
        raise pulumi.RunError(f"{name}: cannot be read as a text file") from None
