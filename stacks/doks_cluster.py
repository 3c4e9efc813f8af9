"""A cluster at DigitalOcean in a stack of this program, with the account of configuration and environment."""

from __future__ import annotations

import os
from collections.abc import Callable

import pulumi

from components.cluster.doks import DoksAccount, create_doks_cluster, digitalocean_provider
from components.cluster.handle import ClusterHandle
from components.cluster.settings import SettingsPlace
from gpu_fabric.plan.clouds.doks import DoksResources

_VARIABLES = ("DIGITALOCEAN_TOKEN", "DIGITALOCEAN_ACCESS_TOKEN")


class StackDoksCluster(pulumi.ComponentResource):
    """Creates a VPC, a cluster in it with its small CPU pool, and every GPU pool, and lists the cluster in a project.

    Must exist before: an API token; the VPC and the project, if the stack file names them. Waits until each pool's
    nodes run. Torn down from the pools, which are deleted with their cluster. DigitalOcean then takes minutes to remove
    the cluster from the VPC, and the VPC's deletion waits for that. Load balancers and volumes that the cluster created
    are deleted only if the stack file says so. An existing VPC or project stays. Adopted resources are deleted like the
    rest; replacing one while the stack file names its id fails the run.
    """

    handle: ClusterHandle

    def __init__(
        self,
        name: str,
        planned: DoksResources,
        opts: pulumi.ResourceOptions | None = None,
        *,
        exists: Callable[[], bool] = lambda: True,
    ) -> None:
        # Nothing is registered without a token.
        token = _token()
        super().__init__("gpu-fabric:cluster:DoksCluster", name, None, opts)
        # Environment variables may set the addresses of the account's APIs.
        provider = digitalocean_provider(
            f"{name}-digitalocean",
            token,
            self,
            endpoint=os.environ.get("DIGITALOCEAN_API_URL"),
            spaces=os.environ.get("SPACES_ENDPOINT_URL"),
        )
        self.handle = create_doks_cluster(
            name,
            planned,
            DoksAccount(provider, token),
            self,
            settings=SettingsPlace(f"Pulumi.{pulumi.get_stack()}.yaml"),
            exists=exists,
        )
        self.register_outputs({"clusterId": self.handle.cluster_id, "kubeconfig": self.handle.kubeconfig})


def _token() -> pulumi.Output[str]:
    """The API token, secret.

    Raises:
        pulumi.RunError: it is not set.
    """
    if configured := pulumi.Config("digitalocean").get_secret("token"):
        return configured
    found = next((text for name in _VARIABLES if (text := os.environ.get(name))), None)
    if found is None:
        raise pulumi.RunError(
            "no API token for DigitalOcean: `pulumi config set --secret digitalocean:token`, or set the environment "
            f"variable {' or '.join(_VARIABLES)}"
        )
    return pulumi.Output.secret(found)
