"""The parts of a fabric as components of their own, for programs that install the rest in another way.

Each plans the whole fabric of its arguments, so that its part fits the others', and registers its part alone. Parts of
one fabric take the same arguments, and name each other in `depends_on`. A part is refused if the plan has nothing of
it. Schedulers and the fabric check are parts of `GpuFabric` alone.
"""

import pulumi

from .bases.fabric_component import FabricComponent
from .outputs import AddressPlan, FabricContract, VerificationOutcome

# Annotations are evaluated here, since Pulumi infers the package's schema from them.


class GpuOperator(FabricComponent):
    """NVIDIA's GPU Operator alone, with its namespace: its chart, and the waits for its policy and for the nodes' GPUs.

    Must exist before: the cluster with its GPU nodes.
    """

    _kinds = ("operators:GpuOperator",)
    _asks = "write software.gpuOperator.install: true"

    ready: pulumi.Output[bool]
    """True, known when every resource is applied and every wait has ended."""


class HostPreparation(FabricComponent):
    """The DaemonSets that prepare GPU nodes alone: host settings, virtual functions, and addresses of the NICs.

    Must exist before: the nodes, and the namespace of the fabric's operator.
    """

    _kinds = ("rdma:HostPreparation", "rdma:HostVirtualFunctions", "rdma:NicAddresses")
    _asks = "ask for jobs in fabric.hostPreparation"

    ready: pulumi.Output[bool]
    """True, known when every resource is applied and every wait has ended."""


class IpPools(FabricComponent):
    """The address pools alone, with reserved addresses, and Whereabouts where it assigns the addresses.

    Must exist before: the operator that defines the pools' kinds.
    """

    _kinds = ("rdma:IpPools", "rdma:NodePools", "rdma:ReservedIps", "operators:Whereabouts")
    _asks = "choose a layout of fabric.addressing that gives addresses"

    address_plan: pulumi.Output[AddressPlan]
    """The ranges of rails, nodes and pools, with the proof that they are large enough and do not overlap
    (docs/addresses.md)."""
    ready: pulumi.Output[bool]
    """True, known when every resource is applied and every wait has ended."""


class Multus(FabricComponent):
    """Multus alone, where the stack itself installs it (managers `doks` and `amd-network-operator`).

    Must exist before: the nodes. With another manager the operator's policy or chart installs Multus.
    """

    _kinds = ("operators:Multus",)
    _asks = "use it where the fabric's manager is doks or amd-network-operator; others install Multus themselves"

    ready: pulumi.Output[bool]
    """True, known when every resource is applied and every wait has ended."""


class NcclFiles(FabricComponent):
    """NCCL's topology and settings alone, as ConfigMaps in the fabric's namespaces.

    Must exist before: these namespaces.
    """

    _kinds = ("rdma:NcclFiles",)
    _asks = "choose a model whose pods need files"

    contract: pulumi.Output[FabricContract]
    """What the pods of a job carry to use the fabric (docs/contract.md)."""
    ready: pulumi.Output[bool]
    """True, known when every resource is applied and every wait has ended."""


class NetworkOperator(FabricComponent):
    """NVIDIA's Network Operator alone, with its namespace, its policies for the NICs, and CNI plug-ins that it lacks.

    Must exist before: the nodes with their GPUs; name a `GpuOperator` in `depends_on`. Waits until the device plug-ins
    have the planned configuration.
    """

    _kinds = ("operators:NetworkOperator", "operators:NicPolicies")
    _beside = ("operators:SriovPolicies", "operators:WebhookCleanup", "rdma:CniPlugins")
    _asks = "write fabric.manager: network-operator"

    ready: pulumi.Output[bool]
    """True, known when every resource is applied and every wait has ended."""


class Spiderpool(FabricComponent):
    """Spiderpool alone, with its namespace, its policies for the NICs, and the network drivers that are asked for.

    Must exist before: the nodes.
    """

    _kinds = ("operators:Spiderpool",)
    _beside = ("operators:OfedDriver", "operators:SriovPolicies", "operators:WebhookCleanup", "rdma:CniPlugins")
    _asks = "write fabric.manager: spiderpool"

    ready: pulumi.Output[bool]
    """True, known when every resource is applied and every wait has ended."""


class FabricNetworks(FabricComponent):
    """The networks (NetworkAttachmentDefinitions) alone, and the namespaces that `fabric.namespaces` creates,
    with their shares.

    Must exist before: Multus, the operator, and the address pools; name them in `depends_on`. Waits until the nodes
    offer the networks' resources.
    """

    _kinds = ("rdma:FabricNetworks",)
    _beside = ("cluster:Quotas",)
    _asks = "choose another fabric.model than host-network"

    contract: pulumi.Output[FabricContract]
    """What the pods of a job carry to use the fabric (docs/contract.md)."""
    networks: pulumi.Output[list[str]]
    """Names of the networks (NetworkAttachmentDefinitions) that a pod attaches, one for each interface."""
    ready: pulumi.Output[bool]
    """True, known when every resource is applied and every wait has ended."""


class Verification(FabricComponent):
    """A measurement of the fabric alone.

    Must exist before: the whole fabric, and the controller of the launcher. The run fails if the fabric is slower than
    its bar.
    """

    _kinds = ("rdma:Verification", "rdma:Schedule")
    _asks = "write verification.enabled: true"

    verification: pulumi.Output[VerificationOutcome | None]
    """Outcome of the verification. None without a verification."""
    ready: pulumi.Output[bool]
    """True, known when every resource is applied and every wait has ended."""
