"""A cluster at Oracle in a stack of this program, with the account of configuration and environment."""

from __future__ import annotations

import os

import pulumi

from components.cluster.handle import ClusterHandle
from components.cluster.oke import SETTINGS, OkeAccount, create_oke_cluster, oci_provider, provider_regions
from components.cluster.oke_lookups import needs_tenancy
from components.cluster.settings import SettingsPlace
from components.engine.secret_keys import secret_configuration
from gpu_fabric.plan.clouds.oke.resources import OkeResources

_TENANCY_VARIABLE = "TF_VAR_tenancy_ocid"


class StackOkeCluster(pulumi.ComponentResource):
    """Creates the plan's resources at Oracle: policies, network, cluster, CPU pool, add-ons, GPU machines, access.

    Must exist before: the compartment, and an account with the permissions for all of it. Waits until each GPU pool's
    machines have joined. Torn down in reverse, so that policies and rules outlive the nodes; resources that existed
    before stay. Load balancers and volumes that the cluster created must be deleted first.
    """

    handle: ClusterHandle

    def __init__(self, name: str, planned: OkeResources, opts: pulumi.ResourceOptions | None = None) -> None:
        # Nothing is registered without them.
        tenancy = _tenancy_id(planned)
        token = _token(planned)
        super().__init__("gpu-fabric:cluster:OkeCluster", name, None, opts)
        # The stack's settings `oci:*`; the provider finds others in the environment.
        configuration = pulumi.Config("oci")
        given = {key: value for key in SETTINGS if (value := configuration.get_secret(key)) is not None}
        providers = {
            end: oci_provider(f"{name}-{end}", given, region, self) for end, region in provider_regions(planned).items()
        }
        self.handle = create_oke_cluster(
            name,
            planned,
            OkeAccount(providers, tenancy, token),
            self,
            settings=SettingsPlace(f"Pulumi.{pulumi.get_stack()}.yaml"),
        )
        self.register_outputs({"clusterId": self.handle.cluster_id, "kubeconfig": self.handle.kubeconfig})


def _tenancy_id(planned: OkeResources) -> str | None:
    """The tenancy's id from the provider's settings, if the plan does not have it.

    Raises:
        pulumi.RunError: the settings do not have it either.
    """
    if not needs_tenancy(planned.lookups):
        return None
    found = pulumi.Config("oci").get("tenancyOcid") or os.environ.get(_TENANCY_VARIABLE)
    if not found:
        raise pulumi.RunError(
            "the tenancy's id is not known, which machines need to join: `pulumi config set oci:tenancyOcid ID`, set "
            f"the environment variable {_TENANCY_VARIABLE}, or write gpu-fabric:cluster.tenancyId"
        )
    return found


def _token(planned: OkeResources) -> pulumi.Output[str] | None:
    """The service account's token, secret, if the stack has one.

    Raises:
        pulumi.RunError: the secret key that the stack file names is not set.
    """
    wanted = planned.kubeconfig
    if wanted.mode != "token":
        return None
    assert wanted.token_secret is not None, "a token without its key was refused"
    found = secret_configuration(wanted.token_secret).get_secret(wanted.token_secret)
    if found is None:
        raise pulumi.RunError(
            f"the token of gpu-fabric:cluster.kubeconfig is not there: `pulumi config set --secret "
            f"{wanted.token_secret}`. Before there is a cluster, write mode: exec"
        )
    return found
