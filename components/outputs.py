"""Types of the public components' outputs: what the mappings hold. Written by `make docs`."""

from typing import Any, NotRequired, TypedDict


class NamespaceShare(TypedDict):
    """A namespace's own share of the GPU nodes."""

    nodes: int
    """GPU nodes that the namespace's jobs can have at any time."""
    mostNodes: int
    """GPU nodes that they can have at most."""
    quota: dict[str, str]
    """The namespace's quota, such as `requests.nvidia.com/gpu`."""
    queues: dict[str, str]
    """Its own queues by scheduler, where jobs name another one than in other namespaces."""
    addresses: NotRequired[int]
    """Addresses of each rail that its pods can have at most; none where no device limits them."""


class AttachedNetwork(TypedDict):
    """One interface of the pod: its rail, network and resource, and its name inside the pod."""

    network: str
    """Name of the NetworkAttachmentDefinition."""
    interface: str
    """Name of the interface inside the pod."""
    rail: NotRequired[int]
    """Number of the rail, from 0; none where all rails share a resource and any device may come."""
    namespace: NotRequired[str]
    """Its namespace; none where it is in every namespace that may use it."""
    resource: NotRequired[str]
    """Extended resource that provides the device; none where the network needs none."""
    amount: NotRequired[int]
    """How many of the resource it takes; none where the network needs none."""
    mtu: NotRequired[int]
    """Bytes; none where neither stack nor vendor states one."""


class PodClaim(TypedDict):
    """A claim by which the pod gets NICs, and GPUs with them; its template is in every namespace of the fabric."""

    name: str
    """Name of the claim in the pod: in `resourceClaims` and in the container's `claims`."""
    template: str
    """Name of the ResourceClaimTemplate."""
    size: str
    """`node`, all NICs of a node; `numa-node`, those of one NUMA node; `pci-root`, one GPU and all NICs of its PCI
    root; `pair`, one GPU and one NIC of its PCI root; `repair`, as `node`, on closed rails too."""
    nics: int
    """NICs that the pod gets."""
    gpus: int
    """GPUs that it gets with the same claim; 0 where they are requested in `resources`."""


class PodDomain(TypedDict):
    """A rack's domain, by which its pods use NVLink between nodes: each claims an IMEX channel."""

    name: str
    """Name of the rack: that of its pool."""
    claim: str
    """Name of the claim in the pod: in `resourceClaims` and in the container's `claims`."""
    template: str
    """Name of the ResourceClaimTemplate, which NVIDIA's DRA driver creates."""
    namespace: str
    """The one namespace in which it exists."""
    nodes: int
    """Nodes of the rack, so the most pods of a job."""
    nodeSelector: dict[str, str]
    """Labels of the rack's nodes besides those of the fabric; none where there is one rack."""


class FileMount(TypedDict):
    """A file that NCCL reads, and its path in the container."""

    configMap: str
    """Name of the ConfigMap that has the file."""
    key: str
    """Key of the file in it."""
    mountPath: str
    """Path of the file in the container."""
    variable: NotRequired[str]
    """Environment variable that holds the path."""


class SharedMemory(TypedDict):
    """A memory-backed volume."""

    mountPath: str
    """Where the container has it."""
    sizeLimit: str
    """Size limit of the volume, such as 32Gi."""


class HugePages(TypedDict):
    """A volume of huge pages, for programs that drive NICs from user space."""

    mountPath: str
    """Where the container has them."""
    medium: str
    """Medium of the emptyDir volume, which names the page size."""


class HostMount(TypedDict):
    """A folder of the node, such as that of a cloud's plug-in for NCCL."""

    name: str
    """Name of the volume."""
    path: str
    """Path of the folder on the node."""
    mountPath: str
    """Where the container has it."""


class Toleration(TypedDict):
    """A taint that pods tolerate; without a key and with operator Exists: every taint."""

    key: NotRequired[str]
    """Key of the taint."""
    operator: NotRequired[str]
    """Whether the key alone decides (`Exists`), or also the value (`Equal`)."""
    value: NotRequired[str]
    """Value of the taint."""
    effect: NotRequired[str]
    """Effect of the taint; every one where it is left out."""
    tolerationSeconds: NotRequired[int]
    """Seconds that a running pod stays with the effect NoExecute; for ever where left out."""


class SchedulerHints(TypedDict):
    """Information for schedulers that Kubernetes cannot express."""

    podsPerNode: int
    """Full-node pods that fit on a node: each requests all of its GPUs, so no anti-affinity is needed."""
    gang: bool
    """Whether all pods of a job must start together."""
    strategy: str
    """Of a Deployment that is new; one that runs takes RollingUpdate with maxSurge 0 and maxUnavailable 1 from every
    kind of apply. A new pod waits for the GPUs and NICs that an old one holds."""
    queues: dict[str, str]
    """Queues of the fabric's jobs by scheduler, where there are several: `volcano` is for Volcano's own kind of job,
    `kueue` for every other."""
    labels: dict[str, str]
    """Labels of the workload itself, not of its pod template: Kueue's, which names its queue."""
    annotations: dict[str, str]
    """Annotations of the pod template, besides `annotations` of the contract: Kueue's, which names the level of the
    topology below which the pods should be together."""
    controllers: list[str]
    """Who makes the pods of jobs that Kubernetes itself does not know: controllers that the stack installs or the
    cluster has."""
    scheduler: NotRequired[str]
    """`kueue` or `volcano`, where the stack installs it or the cluster has it: it starts all pods of a job
    together."""
    queue: NotRequired[str]
    """Its queue for the fabric's jobs."""


class FabricContract(TypedDict):
    """The output `fabric` of a stack. `resources` are both requests and limits of the pod's GPU container."""

    schemaVersion: str
    """Changes where a reader must."""
    stack: str
    """Name of the stack, or of the component in a program."""
    shape: str
    """Machine type of the GPU nodes."""
    model: str
    """How a NIC gets into a pod."""
    nodes: int
    """GPU nodes of the stack."""
    gpusPerNode: int
    """GPUs of one node."""
    namespaces: list[str]
    """Namespaces in which the networks and files exist."""
    shares: dict[str, NamespaceShare]
    """The namespaces with a share of their own, by name."""
    hostNetwork: bool
    """Whether the pod runs in the node's own network namespace."""
    networks: list[AttachedNetwork]
    """Interfaces of the pod, in the order of the rails."""
    annotations: dict[str, str]
    """Annotations of the pod, or of a pod template: not of a Deployment."""
    networksFromElsewhere: dict[str, str]
    """On DigitalOcean's nodes, the value of k8s.v1.cni.cncf.io/networks for a pod that runs in none of `namespaces`,
    by the namespace whose networks it takes; files are not found from there."""
    resources: dict[str, str]
    """Requests, and equal limits, of the container."""
    environment: dict[str, str]
    """Environment of the container."""
    verificationEnvironment: dict[str, str]
    """What a measurement of the fabric sets on top of `environment`, and no other job should."""
    files: list[FileMount]
    """Files that NCCL reads."""
    sharedMemory: SharedMemory
    """Memory that NCCL's processes of one node share."""
    capabilities: list[str]
    """Linux capabilities to add to the container."""
    privileged: bool
    """Whether the container must be privileged: on the host's network, and on clouds without a plug-in of NICs,
    nothing admits devices."""
    nodeSelector: dict[str, str]
    """Labels of the nodes that the pod may run on."""
    tolerations: list[Toleration]
    """Taints of the nodes that the pod tolerates."""
    schedulerHints: SchedulerHints
    """What a scheduler must know, and Kubernetes cannot express."""
    imageRegistries: dict[str, str]
    """Registries that images come from instead; `*` is every one without a line of its own."""
    imagePullSecrets: list[str]
    """Names of the Secrets by which nodes pull images, in each of `namespaces`."""
    advice: list[str]
    """What else to know about jobs on this shape, in words."""
    podTemplatePatch: dict[str, Any]
    """Strategic-merge patch for a pod template whose GPU container is named `worker`."""
    fabric: NotRequired[str]
    """Name of the fabric in a stack of several; none for that of the section `fabric`."""
    purpose: NotRequired[str]
    """`storage` for a fabric that a pod has besides the compute fabric of its nodes; none for compute."""
    beside: NotRequired[list[str]]
    """Of a storage fabric: names of the compute fabrics on whose nodes it is; none for compute."""
    gpuResource: NotRequired[str]
    """Extended resource of the GPUs, one of `resources`; not among them where GPUs come with the claim."""
    claims: NotRequired[list[PodClaim]]
    """With the manager `dranet`, what a pod can claim, of which it takes one; the first by default. `networks` and the
    rails' resources are empty then."""
    domains: NotRequired[list[PodDomain]]
    """Racks with NVLink between their nodes; all pods of a job take the channel of one, the first by default. A pod
    without one sets NCCL_MNNVL_ENABLE to 0."""
    requests: NotRequired[dict[str, str]]
    """Further requests of the container, without a limit; a job's own take their place."""
    libraries: NotRequired[dict[str, dict[str, str]]]
    """Environment of a container whose program sends by another library than NCCL, by library: `ucx`, `nixl`,
    `nvshmem`, `deepep`, `mooncake`, `gloo`; one that sends over others needs theirs as well."""
    gpuRails: NotRequired[list[list[int]]]
    """For each GPU, the rails whose NICs share its PCI switch, by number; none where not published."""
    hugePages: NotRequired[HugePages]
    """Of pods that use DPDK."""
    hostPaths: NotRequired[list[HostMount]]
    """Folders of the node that the container mounts, on clouds whose pods need them."""


class AddressPool(TypedDict):
    """The addresses of some rails, and each node's share of them. Counts are addresses unless named."""

    name: str
    """Name of the pool."""
    rails: list[int]
    """Numbers of the rails that take addresses from it."""
    space: str
    """The pool's part of the supernet, in CIDR notation."""
    subnet: str
    """Network of a pod's interface, in CIDR notation; wider than `space` only if the rails of a flat fabric share
    one."""
    division: str
    """`blocks`: each node has a run of addresses; `sequence`: the next free ones; `prefixes`: a prefix of its own,
    which is then its subnet; `hosts`: one address, which the node's own NIC has."""
    gatewayPosition: str
    """Which host address of the subnet (`prefixes`: of each node's prefix) is a router."""
    reservedFirst: int
    """Addresses that stay free at the start of the subnet (`prefixes`: of each node's prefix)."""
    reservedLast: int
    """Addresses that stay free at the end of the same."""
    excluded: list[str]
    """Addresses that hosts or switches hold, merged and in order: an address, or a range first-last."""
    addressesPerNode: int
    """Addresses of each node's share."""
    passesOver: bool
    """Whether the IPAM skips a block that is wholly excluded, or that is only the gateway's address."""
    usable: int
    """Addresses without those of the network, broadcast, gateway, reserved and excluded ones."""
    needed: int
    """Addresses of the shares of all planned, spare and surge nodes."""
    maxNodes: int
    """Most nodes that the pool can serve."""
    shares: list[str]
    """Prefix or addresses of each planned node's pods, in node order; empty unless they are asked for."""
    headroom: int
    """The usable addresses that stay free."""
    nodePrefixLength: NotRequired[int]
    """Prefix length of each node's share, with `prefixes`."""
    gateway: NotRequired[str]
    """The router of the subnet; with division `prefixes` the first node's."""


class Growth(TypedDict):
    """How far the fabric can grow without a change of addresses in use."""

    step: int
    """Nodes that are added at a time."""
    steps: int
    """How many times they can be added."""
    maxNodes: int
    """Most nodes, GPU nodes of all pools."""
    endsAt: str
    """The limit that ends the growth."""
    nextSubnet: str
    """Prefix length of a pool for more nodes; empty if no address range can be that large."""
    nextSupernet: str
    """Prefix length of the smallest supernet with such a pool for every rail slot; empty as before."""


class Limit(TypedDict):
    """A limit outside of the address space that the plan must meet."""

    name: str
    """What is limited."""
    value: int
    """How many the plan has."""
    limit: int
    """How many there may be."""
    unit: str
    """What is counted."""
    nodes: int
    """Number of nodes that the limit allows."""
    source: str
    """Where the limit is documented."""


class RangeInUse(TypedDict):
    """A range that the fabric was proved not to touch."""

    name: str
    """What uses the range, such as pods."""
    range: str
    """The range in CIDR notation."""


class CapacityProof(TypedDict):
    """The proof that the addresses suffice, and touch no range in use."""

    nodes: int
    """Planned GPU nodes, with numbers that are reserved between them."""
    spareNodes: int
    """Nodes that addresses are kept for beyond the pools' own."""
    surgeNodes: int
    """Nodes that may exist besides while others are replaced."""
    neededPerNode: int
    """Addresses that a full node needs from each pool."""
    growth: Growth
    """How far the fabric can grow."""
    limits: list[Limit]
    """Further limits that the plan meets."""
    disjointFrom: list[RangeInUse]
    """Ranges that no address of the fabric is in."""
    notStated: list[str]
    """Ranges of the cluster that were not stated, and so not checked."""


class AddressPlan(TypedDict):
    """All fabric addresses, and the proof that they suffice."""

    layout: str
    """`none`: no addresses; `flat`: one pool for all rails; `per-rail`: a pool each; `per-node`: a prefix for every
    node and rail."""
    addressesPerNic: int
    """Addresses that the pods of one NIC need."""
    nodeNames: list[str]
    """Names of the nodes, where they are stated."""
    nodeNumbers: list[int]
    """Numbers of the nodes' shares or, in a shared subnet, of the hosts' addresses, in the order of the pools of
    nodes; empty if they count up from 0."""
    pools: list[AddressPool]
    """The pools; none with the layout `none`."""
    proof: CapacityProof
    """The proof that they suffice."""
    ipam: NotRequired[str]
    """What assigns the addresses."""
    supernet: NotRequired[str]
    """The range that all addresses come from, in CIDR notation."""


class VerificationOutcome(TypedDict):
    """The outcome of a measurement; bandwidths are bus bandwidths in GB/s (1e9 bytes)."""

    state: str
    """`passed` or `failed`; `started` while it runs, and where it cannot be judged yet."""
    wait: bool
    """Whether `up` waited for it."""
    job: str
    """Name of the job."""
    namespace: str
    """Its namespace."""
    launcher: str
    """Who ran it."""
    nodes: int
    """GPU nodes that took part."""
    bar: float
    """Bandwidth that the whole fabric must reach."""
    barExplained: str
    """Where this bar comes from."""
    rails: dict[str, float]
    """Measured bandwidth of each rail alone, by its number."""
    report: list[str]
    """The verdict in lines for people."""
    configMap: str
    """ConfigMap that has the whole report."""
    look: str
    """Command that shows the job, or its report."""
    railBar: NotRequired[float]
    """Bandwidth that each rail alone must reach."""
    measured: NotRequired[float]
    """Measured bandwidth of the whole fabric."""
    pointToPointBar: NotRequired[float]
    """Bandwidth that each rail must reach between two nodes by UCX, in GB/s, if that is asked for."""
    pointToPoint: NotRequired[dict[str, float]]
    """Lowest bandwidth of each rail between two nodes by UCX, in GB/s, by its number."""


class Taint(TypedDict):
    """A taint of the pool's nodes, which every operand and every job must tolerate."""

    key: str
    """Key of the taint."""
    value: str
    """Value of the taint."""
    effect: str
    """What the taint does to pods that do not tolerate it."""


class SharedPool(TypedDict):
    """A pool of GPU nodes; `most_nodes` is the maximum of its automatic scaling."""

    name: str
    """Name of the pool."""
    shape: str
    """Machine type."""
    nodes: int
    """Number of nodes."""
    mostNodes: int
    """Most nodes: the maximum of the automatic scaling, if the pool has one."""
    labels: dict[str, str]
    """Labels of the nodes."""
    taints: list[Taint]
    """Taints of the nodes."""
    nodeNames: list[str]
    """Names of the nodes, where the stack file states them."""
    firstShare: NotRequired[int]
    """Number of the first node's share of addresses, where stated."""
    placement: NotRequired[str]
    """How Oracle places the machines; nothing elsewhere."""


class OtherNodes(TypedDict):
    """One entry of the output `otherPools`: a pool whose nodes have no part in the fabric."""

    name: str
    """Name of the pool."""
    machine: str
    """Machine type of its nodes."""
    nodes: int
    """Number of nodes; with automatic scaling, at creation."""
    leastNodes: int
    """Fewest nodes: the minimum of the automatic scaling, if the pool has one."""
    mostNodes: int
    """Most nodes: the maximum of the automatic scaling, if the pool has one."""
    gpusPerNode: int
    """GPUs of one node."""
    nodeSelector: dict[str, str]
    """Labels of the pool's nodes."""
    tolerations: list[Toleration]
    """Taints of the nodes that a pod tolerates."""
    reclaimable: bool
    """Whether the cloud may take the nodes back at any time."""
    gpuResource: NotRequired[str]
    """Extended resource of the GPUs; none on CPU nodes."""


class Ranges(TypedDict):
    """Ranges that the cluster already uses, which the fabric must not overlap."""

    reserved: list[str]
    """Further ranges in use, such as peered networks."""
    pods: NotRequired[str]
    """Range of the pods; by default not checked, which is a warning."""
    services: NotRequired[str]
    """Range of the services; by default not checked, which is a warning."""
    nodes: NotRequired[str]
    """Range of the node network (VPC, VCN); by default not checked."""


class Gpus(TypedDict):
    """The GPUs of one node. `pci` has one address per GPU, in GPU order; empty if they are not published."""

    vendor: str
    """The vendor of the GPUs."""
    count: int
    """GPUs per node."""
    pci: list[str]
    """PCI address of each GPU, in GPU order."""
    model: NotRequired[str]
    """GPU model, such as H100."""
    memoryGb: NotRequired[int]
    """Memory of one GPU in GB."""


class NicModel(TypedDict):
    """Common facts of all RDMA NICs of a shape; ids are the PCI ids by which device plug-ins select NICs."""

    linkType: str
    """`ether` (RoCE) or `infiniband`."""
    model: NotRequired[str]
    """NIC model, such as ConnectX-7."""
    vendorId: NotRequired[str]
    """PCI vendor id, four hex digits."""
    deviceId: NotRequired[str]
    """PCI device id of a physical function."""
    vfDeviceId: NotRequired[str]
    """PCI device id of a virtual function."""
    driver: NotRequired[str]
    """Kernel driver, such as mlx5_core."""


class Nic(TypedDict):
    """One RDMA physical function: the k-th of a shape is rail k on every node of that shape."""

    pci: NotRequired[str]
    """PCI address."""
    rdmaDevice: NotRequired[str]
    """RDMA device, such as mlx5_0."""
    interface: NotRequired[str]
    """Network interface on the host."""
    otherInterface: NotRequired[str]
    """Network interface on the host where the ports run the other link type."""
    nearestGpu: NotRequired[int]
    """Number of the GPU it shares a PCI switch with."""
    numaNode: NotRequired[int]
    """Its NUMA node, where `topologies.yaml` has no tree of the machine."""


class FrontEndNic(TypedDict):
    """A NIC of the cloud network, which is never a rail and must never be given to a pod."""

    pci: NotRequired[str]
    """PCI address."""
    rdmaDevice: NotRequired[str]
    """RDMA device, such as mlx5_2."""
    interface: NotRequired[str]
    """Network interface on the host."""


class Cpu(TypedDict):
    """Identity of the host's CPUs; NCCL reads missing fields from the system."""

    arch: NotRequired[str]
    """Architecture of the CPUs."""
    vendor: NotRequired[str]
    """The vendor of x86 CPUs."""
    familyId: NotRequired[int]
    """`cpu family` of /proc/cpuinfo, decimal."""
    modelId: NotRequired[int]
    """`model` of /proc/cpuinfo, decimal."""


class PciIdentity(TypedDict):
    """Class and ids of one kind of PCI function, in NCCL's form; NCCL reads missing ids from the system."""

    pciClass: str
    """PCI class, such as 0x060400 of a bridge, in quotes."""
    vendor: NotRequired[str]
    """PCI vendor id, such as 0x15b3, in quotes."""
    device: NotRequired[str]
    """PCI device id, in quotes."""
    subsystemVendor: NotRequired[str]
    """PCI subsystem vendor id, in quotes."""
    subsystemDevice: NotRequired[str]
    """PCI subsystem device id, in quotes."""


class NumaNode(TypedDict):
    """One NUMA node: its CPU ranges (inclusive) and the PCI tree below it, in the order of the file."""

    node: int
    """Number of the NUMA node."""
    cpus: list[list[int]]
    """Its CPUs: pairs of the first and last of a range, such as [[0, 55], [112, 167]]."""
    tree: str
    """PCI devices below it, such as 08>(0d>G0,0a>N0c): bridges by bus, GPUs by number, NICs by bus."""


class HostTree(TypedDict):
    """NUMA nodes and PCI tree of a host: the content of the lean form of a topology file."""

    cpu: Cpu
    """Identity of the host's CPUs; NCCL reads missing fields from the system."""
    cpuMaskBits: int
    """CPUs that the kernel's masks have room for."""
    linkSpeed: str
    """Speed of the PCI links, as max_link_speed in sysfs: 32.0 GT/s PCIe."""
    linkWidth: int
    """Lanes of the PCI links."""
    bridgeByDepth: list[PciIdentity]
    """Identity of the bridges by depth, the last one repeating; by default made-up bridges, which need addresses in a
    PCI domain of their own, such as ffff:01:00.0."""
    nic: PciIdentity
    """Identity of the RDMA NICs."""
    gpu: PciIdentity
    """Identity of the GPUs."""
    numa: list[NumaNode]
    """The NUMA nodes that have GPUs or RDMA NICs."""
    rootLinkSpeed: NotRequired[str]
    """That of the uppermost bridges, where it differs."""
    gpuBoardBridge: NotRequired[PciIdentity]
    """Identity of the bridges that the tree marks with `*`."""


class Shape(TypedDict):
    """The hardware of a machine."""

    gpus: Gpus
    """The GPUs of one node."""
    vfsPerNic: int
    """Virtual functions per RDMA NIC on a fresh node."""
    nics: list[Nic]
    """The RDMA NICs; the k-th is rail k."""
    nicModel: NotRequired[NicModel]
    """The RDMA NICs' common facts."""
    mtu: NotRequired[int]
    """Bytes; MTU of the RDMA interfaces on the host."""
    nicSpeedGbps: NotRequired[int]
    """Line rate of one RDMA NIC in Gb/s."""
    frontEndNics: NotRequired[list[FrontEndNic]]
    """NICs of the node network; left out where unknown."""
    topology: NotRequired[HostTree]
    """NUMA nodes and PCI tree of the host, from which the NCCL topology file is written."""


class ManagedPlugins(TypedDict):
    """Which component installs each plug-in: DigitalOcean (`managed`) or this stack's operators (`operator`)."""

    gpu: str
    """Who advertises the GPUs."""
    rdma: str
    """The RDMA shared device plug-in."""
    metricsExporter: bool
    """AMD's managed metrics exporter."""


class ClusterContract(TypedDict):
    """The output `cluster` of a cluster stack; `kubeconfig` is a separate, secret output."""

    schemaVersion: str
    """Changes where a reader must."""
    name: str
    """Name of the cluster at its cloud."""
    provider: str
    """The cloud that creates it."""
    region: str
    """Region of the cloud."""
    kubernetesVersion: str
    """Version as the stack file has it; the cluster's own may be newer."""
    pools: list[SharedPool]
    """The GPU pools."""
    ranges: Ranges
    """Ranges in use, which the fabric must not touch."""
    shapes: dict[str, Shape]
    """Machine types that the stack file describes itself."""
    installed: list[str]
    """Software that the cluster has already."""
    clusterId: str
    """The cluster's id at its cloud."""
    otherPools: NotRequired[list[OtherNodes]]
    """The pools outside the fabric."""
    plugins: NotRequired[ManagedPlugins]
    """What installs device plug-ins at DigitalOcean; empty elsewhere."""
