"""`DoksCluster`: a cluster at DigitalOcean as a component of any Pulumi program."""

import pulumi

from .args import DoksClusterArgs
from .bases.arguments import refuse_other_arguments
from .bases.cluster_arguments import ClusterArguments
from .bases.cluster_component import ClusterComponent
from .outputs import ClusterContract

# Annotations are evaluated here, since Pulumi infers the package's schema from them.


class DoksCluster(ClusterComponent):
    """Creates a VPC, a cluster in it with its small CPU pool, and every GPU pool, and lists the cluster in a project.

    Must exist before: an account at DigitalOcean; the VPC and the project, if the arguments name them. Waits until each
    pool's nodes run. Torn down from the pools, which are deleted with their cluster, to the VPC, whose deletion waits
    minutes until DigitalOcean has removed the cluster from it. Load balancers and volumes that the cluster created are
    deleted only if the arguments say so. An existing VPC or project stays. Reads no configuration and no environment
    variable.
    """

    cluster_id: pulumi.Output[str]
    """Id of the cluster at DigitalOcean."""
    kubeconfig: pulumi.Output[str]
    """Content of a kubeconfig for the cluster, which is a secret."""
    cluster: pulumi.Output[ClusterContract]
    """The cluster as planned, with its id, as in the output `cluster` of a stack that creates a cluster alone
    (docs/split-stacks.md)."""
    ready: pulumi.Output[bool]
    """True, known when the nodes of every GPU pool run."""

    def __init__(self, name: str, args: DoksClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        """Plan the cluster and register it.

        Raises:
            pulumi.RunError: the arguments cannot be used; with every problem, before anything of it is registered.
        """
        refuse_other_arguments(f"DoksCluster {name}", args, DoksClusterArgs)
        super().__init__(DoksCluster, name, ClusterArguments.of("doks", args), opts)
