"""`GpuFabric`: an RDMA fabric on any cluster, as a component of any Pulumi program."""

import pulumi

from .bases.fabric_component import FabricComponent
from .outputs import AddressPlan, FabricContract, VerificationOutcome

# Annotations are evaluated here, since Pulumi infers the package's schema from them.


class GpuFabric(FabricComponent):
    """Installs what an RDMA fabric needs on a cluster: operators, networks, address pools, NCCL files, verification.

    Must exist before: the cluster, with its GPU nodes; name their resources in `depends_on` if this program creates
    them. Waits until operators are ready, nodes offer GPUs and NICs, and a verification has passed. Torn down in
    reverse, which needs the cluster's API server: with `deleted_with` nothing is deleted one by one. Reads no
    configuration and no environment variable.
    """

    contract: pulumi.Output[FabricContract]
    """What the pods of a job carry to use the fabric, as in a stack's output `fabric` (docs/contract.md)."""
    contracts: pulumi.Output[dict[str, FabricContract]]
    """The contract of each fabric by its name, as in a stack's output `fabrics`; `main` is that of `contract`."""
    address_plan: pulumi.Output[AddressPlan]
    """The ranges of rails, nodes and pools, with the proof that they are large enough and do not overlap
    (docs/addresses.md)."""
    networks: pulumi.Output[list[str]]
    """Names of the networks (NetworkAttachmentDefinitions) that a pod attaches, one for each interface."""
    verification: pulumi.Output[VerificationOutcome | None]
    """Outcome of the verification. None without a verification."""
    ready: pulumi.Output[bool]
    """True, known when every resource is applied, every wait has ended and the verification has passed, if `up` waits
    for it. Resources that need the fabric depend on it."""
