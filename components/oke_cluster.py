"""`OkeCluster`: a cluster at Oracle as a component of any Pulumi program."""

import pulumi

from .args import OkeClusterArgs
from .bases.arguments import refuse_other_arguments
from .bases.cluster_arguments import ClusterArguments
from .bases.cluster_component import ClusterComponent
from .outputs import ClusterContract

# Annotations are evaluated here, since Pulumi infers the package's schema from them.


class OkeCluster(ClusterComponent):
    """Creates what a cluster at Oracle needs: policies, network, cluster, CPU pool, add-ons, GPU machines, access.

    Must exist before: the compartment, and an account with the permissions for all of it. Waits until each GPU pool's
    machines have joined. Torn down in reverse, so that policies and rules outlive the nodes; resources that existed
    before stay. Load balancers and volumes that the cluster created must be deleted first. Reads no configuration and
    no environment variable.
    """

    cluster_id: pulumi.Output[str]
    """Id of the cluster at Oracle."""
    kubeconfig: pulumi.Output[str]
    """Content of a kubeconfig for the cluster, which is a secret."""
    cluster: pulumi.Output[ClusterContract]
    """The cluster as planned, with its id, as in the output `cluster` of a stack that creates a cluster alone
    (docs/split-stacks.md)."""
    access: pulumi.Output[str | None]
    """Command that opens a way to machines without public addresses. None where the arguments ask for no access."""
    ready: pulumi.Output[bool]
    """True, known when the machines of every GPU pool have joined the cluster."""

    def __init__(self, name: str, args: OkeClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        """Plan the cluster and register it.

        Raises:
            pulumi.RunError: the arguments cannot be used; with every problem, before anything of it is registered.
        """
        refuse_other_arguments(f"OkeCluster {name}", args, OkeClusterArgs)
        super().__init__(OkeCluster, name, ClusterArguments.of("oke", args), opts)
