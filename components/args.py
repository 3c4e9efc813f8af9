"""Types of the public components' arguments, by the keys of stack files in Python's spelling.

Written by `make docs` from the models of stack files. Names within the texts are spelled as in stack files.
"""

from dataclasses import dataclass
from typing import Any

import pulumi


@dataclass
class TaintArgs:
    """A taint of the pool's nodes, which every operand and every job must tolerate."""

    key: str
    """Key of the taint."""
    value: str | None = None
    """Value of the taint. Default: empty."""
    effect: str | None = None
    """What the taint does to pods that do not tolerate it. One of NoSchedule, PreferNoSchedule, NoExecute. Default:
    NoSchedule."""


@dataclass
class GpuPoolArgs:
    """A group of equal GPU nodes."""

    name: str
    """Name of the pool, unique among the pools."""
    shape: str
    """Machine type from the catalog or from `shapes`; `gpu-fabric shapes` lists them."""
    nodes: int
    """Number of GPU nodes in the pool. From 1 to 8192."""
    labels: dict[str, str] | None = None
    """Labels the pool's nodes carry; jobs select by those that all pools have in common. Default: none."""
    taints: list[TaintArgs] | None = None
    """Taints of the pool's nodes. Default: the GPU vendor's, such as nvidia.com/gpu."""
    node_names: list[str] | None = None
    """Names of the nodes, in order; with them each node's share of the layout per-node is pinned, and each host's own
    address (hostPreparation.addresses); gpu-[001-064] stands for 64 names, and an empty name keeps the place of a
    removed node. Default: none."""
    first_share: int | None = None
    """With nodeNames, and the layout `per-node` or hostPreparation.addresses: number of the first node's share or host
    address; stated, the pool keeps its addresses when a pool before it grows. From 0 to 65535. Default: none."""


@dataclass
class RangesArgs:
    """Ranges that the cluster already uses, which the fabric must not overlap."""

    pods: str | None = None
    """Range of the pods. Default: not checked, which is a warning."""
    services: str | None = None
    """Range of the services. Default: not checked, which is a warning."""
    nodes: str | None = None
    """Range of the node network (VPC, VCN). Default: not checked."""
    reserved: list[str] | None = None
    """Further ranges in use, such as peered networks. Default: none."""


@dataclass
class CniFoldersArgs:
    """Folders of the nodes in which the container runtime looks for what CNI needs."""

    plugins: str | None = None
    """Folder of CNI plug-ins. Default: /opt/cni/bin."""
    networks: str | None = None
    """Folder of CNI configurations, Multus' among them. Default: /etc/cni/net.d."""


@dataclass
class GpusArgs:
    """The GPUs of one node. `pci` has one address per GPU, in GPU order; empty if they are not published."""

    vendor: str
    """The vendor of the GPUs. One of nvidia, amd."""
    count: int
    """GPUs per node. At least 1."""
    model: str | None = None
    """GPU model, such as H100. Default: none."""
    memory_gb: int | None = None
    """Memory of one GPU in GB. At least 1. Default: none."""
    pci: list[str] | None = None
    """PCI address of each GPU, in GPU order. Default: none."""


@dataclass
class NicModelArgs:
    """Common facts of all RDMA NICs of a shape; ids are the PCI ids by which device plug-ins select NICs."""

    link_type: str
    """`ether` (RoCE) or `infiniband`."""
    model: str | None = None
    """NIC model, such as ConnectX-7. Default: none."""
    vendor_id: str | None = None
    """PCI vendor id, four hex digits. Default: none."""
    device_id: str | None = None
    """PCI device id of a physical function. Default: none."""
    vf_device_id: str | None = None
    """PCI device id of a virtual function. Default: none."""
    driver: str | None = None
    """Kernel driver, such as mlx5_core. Default: none."""


@dataclass
class NicArgs:
    """One RDMA physical function: the k-th of a shape is rail k on every node of that shape."""

    pci: str | None = None
    """PCI address. Default: none."""
    rdma_device: str | None = None
    """RDMA device, such as mlx5_0. Default: none."""
    interface: str | None = None
    """Network interface on the host. Default: none."""
    other_interface: str | None = None
    """Network interface on the host where the ports run the other link type. Default: none."""
    nearest_gpu: int | None = None
    """Number of the GPU it shares a PCI switch with. At least 0. Default: none."""
    numa_node: int | None = None
    """Its NUMA node, where `topologies.yaml` has no tree of the machine. At least 0. Default: none."""


@dataclass
class FrontEndNicArgs:
    """A NIC of the cloud network, which is never a rail and must never be given to a pod."""

    pci: str | None = None
    """PCI address. Default: none."""
    rdma_device: str | None = None
    """RDMA device, such as mlx5_2. Default: none."""
    interface: str | None = None
    """Network interface on the host. Default: none."""


@dataclass
class CpuArgs:
    """Identity of the host's CPUs; NCCL reads missing fields from the system."""

    arch: str | None = None
    """Architecture of the CPUs. One of x86_64, arm64. Default: none."""
    vendor: str | None = None
    """The vendor of x86 CPUs. One of GenuineIntel, AuthenticAMD. Default: none."""
    family_id: int | None = None
    """`cpu family` of /proc/cpuinfo, decimal. From 0 to 999. Default: none."""
    model_id: int | None = None
    """`model` of /proc/cpuinfo, decimal. From 0 to 999. Default: none."""


@dataclass
class PciIdentityArgs:
    """Class and ids of one kind of PCI function, in NCCL's form; NCCL reads missing ids from the system."""

    pci_class: str
    """PCI class, such as 0x060400 of a bridge, in quotes."""
    vendor: str | None = None
    """PCI vendor id, such as 0x15b3, in quotes. Default: none."""
    device: str | None = None
    """PCI device id, in quotes. Default: none."""
    subsystem_vendor: str | None = None
    """PCI subsystem vendor id, in quotes. Default: none."""
    subsystem_device: str | None = None
    """PCI subsystem device id, in quotes. Default: none."""


@dataclass
class NumaNodeArgs:
    """One NUMA node: its CPU ranges (inclusive) and the PCI tree below it, in the order of the file."""

    node: int
    """Number of the NUMA node. From 0 to 1023."""
    cpus: list[list[int]]
    """Its CPUs: pairs of the first and last of a range, such as [[0, 55], [112, 167]]."""
    tree: str
    """PCI devices below it, such as 08>(0d>G0,0a>N0c): bridges by bus, GPUs by number, NICs by bus."""


@dataclass
class HostTreeArgs:
    """NUMA nodes and PCI tree of a host: the content of the lean form of a topology file."""

    cpu_mask_bits: int
    """CPUs that the kernel's masks have room for. From 1 to 8192."""
    link_speed: str
    """Speed of the PCI links, as max_link_speed in sysfs: 32.0 GT/s PCIe."""
    numa: list[NumaNodeArgs]
    """The NUMA nodes that have GPUs or RDMA NICs."""
    cpu: CpuArgs | None = None
    """Identity of the host's CPUs; NCCL reads missing fields from the system. Default: the defaults of its fields."""
    root_link_speed: str | None = None
    """That of the uppermost bridges, where it differs. Default: none."""
    link_width: int | None = None
    """Lanes of the PCI links. One of 1, 2, 4, 8, 16. Default: 16."""
    bridge_by_depth: list[PciIdentityArgs] | None = None
    """Identity of the bridges by depth, the last one repeating. Default: made-up bridges, which need addresses in a
    PCI domain of their own, such as ffff:01:00.0."""
    gpu_board_bridge: PciIdentityArgs | None = None
    """Identity of the bridges that the tree marks with `*`. Default: none."""
    nic: PciIdentityArgs | None = None
    """Identity of the RDMA NICs. Default: the defaults of its fields."""
    gpu: PciIdentityArgs | None = None
    """Identity of the GPUs. Default: the defaults of its fields."""


@dataclass
class ShapeArgs:
    """The hardware of a machine."""

    gpus: GpusArgs
    """The GPUs of one node."""
    nic_model: NicModelArgs | None = None
    """The RDMA NICs' common facts. Default: none."""
    vfs_per_nic: int | None = None
    """Virtual functions per RDMA NIC on a fresh node. From 0 to 128. Default: 0."""
    mtu: int | None = None
    """Bytes; MTU of the RDMA interfaces on the host. From 1280 to 9216. Default: none."""
    nic_speed_gbps: int | None = None
    """Line rate of one RDMA NIC in Gb/s. At least 1. Default: none."""
    nics: list[NicArgs] | None = None
    """The RDMA NICs; the k-th is rail k. Default: none."""
    front_end_nics: list[FrontEndNicArgs] | None = None
    """NICs of the node network; left out where unknown. Default: none."""
    topology: HostTreeArgs | None = None
    """NUMA nodes and PCI tree of the host, from which the NCCL topology file is written. Default: none."""


@dataclass
class PlanesArgs:
    """Planes: separate fabrics over which each NIC of own machines is split, by NVIDIA's Spectrum-X operator."""

    mode: str | None = None
    """`none`: a NIC has one plane; `swplb`: software balances the load, and pods get an interface a rail and plane;
    `hwplb`: the NIC does, and pods get an interface a rail. Default: none."""
    count: int | None = None
    """Planes of each NIC: 2 or 4 with a mode, as the machine allows. One of 1, 2, 4. Default: 1."""
    profile: str | None = None
    """ConfigMap with NVIDIA's Spectrum-X profile, in the namespace of the Network Operator; the cluster must have it
    before `up`. Default: none."""


@dataclass
class DpdkArgs:
    """Resources of a DPDK pod besides its NICs; requests equal limits, so that the pod gets exclusive processors."""

    huge_pages: str
    """Memory in huge pages, such as 4Gi."""
    cpus: int
    """Processors of the container, which a static CPU manager gives it alone. At least 1."""
    memory: str
    """Ordinary memory of the container, such as 8Gi."""
    page_size: str | None = None
    """Size of the pages that the nodes reserve. One of 2Mi, 1Gi. Default: 1Gi."""


@dataclass
class RailOverrideArgs:
    """Values of one rail that replace or complete those of the shape."""

    rail: int
    """Number of the rail, from 0. From 0 to 63."""
    pci: str | None = None
    """PCI address of the NIC. Default: none."""
    interface: str | None = None
    """Network interface on the host. Default: none."""
    rdma_device: str | None = None
    """RDMA device on the host. Default: none."""
    nearest_gpu: int | None = None
    """Number of the nearest GPU. At least 0. Default: none."""
    network: str | None = None
    """Name of the rail's network and pool. Default: none."""
    resource: str | None = None
    """Name of the rail's resource, without prefix. Default: none."""


@dataclass
class AddressingArgs:
    """The fabric's address space and its division."""

    layout: str | None = None
    """`none`: no addresses; `flat`: one pool for all rails; `per-rail`: a subnet, pool and network each; `per-node`: a
    prefix of its own for every node and rail. Default: what the manager and model ask for."""
    supernet: str | None = None
    """The range all fabric addresses come from, IPv4 or IPv6; required but for `none`. Default: none."""
    ipam: str | None = None
    """What assigns the addresses; `host`: the provider, on the host. One of nv-ipam, whereabouts, spiderpool, host.
    Default: the manager's."""
    rail_slots: int | None = None
    """Parts the supernet is cut into without prefixLength, one a rail, and fixed: more rails move none; layout `flat`:
    rails that a node's share has room for. From 1 to 64. Default: 16."""
    first_rail_slot: int | None = None
    """Number of the part that rail 0 gets; 172.16.0.0/16 with prefixLength 24 begins with 172.16.11.0/24 where this is
    11. From 0 to 4095. Default: 0."""
    prefix_length: int | None = None
    """Prefix length of each rail's subnet. From 1 to 127. Default: that of one rail slot."""
    node_prefix_length: int | None = None
    """Layout `per-node`: prefix length of each node's share of a rail. From 1 to 128. Default: the longest that
    fits."""
    addresses_per_node: int | None = None
    """Addresses each node gets from a pool. At least 1. Default: one per pod that a NIC can serve, plus one for a
    gateway."""
    gateway: str | None = None
    """Which host address of each subnet (`per-node`: of each node's prefix) is a router. One of none, first, last.
    Default: none."""
    reserved_first: int | None = None
    """Addresses to leave free at the start of each rail's range (`per-node`: of each node's prefix). From 0 to 65535.
    Default: 0."""
    reserved_last: int | None = None
    """Addresses to leave free at the end of the same. From 0 to 65535. Default: 0."""
    exclude: list[str] | None = None
    """Addresses that hosts or switches hold: an address, a range first-last, or a network. Default: none."""
    spare_nodes: int | None = None
    """Nodes to keep addresses for beyond the pools' own (repairs, growth). From 0 to 65536. Default: 0."""
    surge_nodes: int | None = None
    """Nodes that may exist besides while others are replaced (upgrades). From 0 to 65536. Default: 0."""
    growth_step: int | None = None
    """Nodes that are added at a time; the proof says how many more steps fit. From 1 to 8192. Default: 1."""


@dataclass
class ClaimsArgs:
    """Claims, by which DRA drivers give pods their NICs and GPUs (manager `dranet`)."""

    sizes: list[str] | None = None
    """What a pod can claim, a template for each: `node`, all NICs of a node; `numa-node`, those of one NUMA node,
    without GPUs; `pci-root`, one GPU and all NICs of its PCI root; `pair`, one GPU and one NIC of its PCI root;
    `repair`, as `node`, also with NICs on rails that `fabric.readiness` has closed; the first is what pods get by
    default. Default: ['node']."""
    gpus: str | None = None
    """How pods get GPUs: `plugin`, by the device plug-in, as an extended resource; `claims`, with their NICs in one
    claim, by the GPU vendor's DRA driver (`software.gpuDraDriver`: NVIDIA's; `software.amdGpuOperator`: AMD's).
    Default: plugin."""
    nri: bool | None = None
    """States that the nodes' container runtime has NRI on, by which DRANET moves NICs: containerd 2 has by default,
    containerd 1.7 has not; the stack never changes or restarts the runtime. Default: no."""
    interface_names: str | None = None
    """Names of the interfaces in pods that claim a whole node: `host`, as on the node; `rails`, net1 for rail 0 and so
    on. Default: host."""
    parameters: dict[str, Any] | None = None
    """DRANET's own configuration of each claimed NIC, such as `{interface: {gsoMaxSize: 65536}}`; keys that its
    version does not know are refused. Default: none."""


@dataclass
class DomainsArgs:
    """Racks whose nodes NVLink connects, each with a ComputeDomain, by which a job's pods get an IMEX channel."""

    imex: str | None = None
    """What runs the IMEX daemon of a node: `driver`, NVIDIA's DRA driver; `host`, the node's own service nvidia-imex,
    which the driver's version must know. Default: driver."""
    service_masked: bool | None = None
    """States that the nodes' own service nvidia-imex is disabled and masked, or not installed; the stack never changes
    it. Default: no."""
    namespace: str | None = None
    """The one of `namespaces` whose jobs use NVLink between nodes; A second domain in a rack would disturb the first.
    Default: the first."""


@dataclass
class LosslessArgs:
    """Lossless RoCE: the traffic class that pauses instead of dropping, and the marking of its packets."""

    priority: int | None = None
    """Priority of RDMA traffic, the one with flow control. From 0 to 7. Default: 5."""
    cnp_priority: int | None = None
    """Priority of congestion notifications. From 0 to 7. Default: 6."""
    dscp: int | None = None
    """Mark of RDMA packets. From 0 to 63. Default: 8 x priority."""
    cnp_dscp: int | None = None
    """Mark of congestion notifications. From 0 to 63. Default: 8 x cnpPriority."""


@dataclass
class HostPreparationSettingsArgs:
    """Jobs on the GPU nodes, each in a privileged DaemonSet whose pods are ready if their nodes are as specified."""

    dry_run: bool | None = None
    """Only report, in the pods' logs, what would be changed; nothing waits for it. Default: no."""
    fabric_rule: bool | None = None
    """A policy rule that keeps all traffic but the fabric's own off the rails. Default: no."""
    addresses: bool | None = None
    """An address for every rail's NIC, out of the plan's reserved ones, with MTU and its own route table; needs
    nodeNames. Default: no."""
    lossless: LosslessArgs | None = None
    """RoCE flow control and congestion notification; `{}` for priority 5 and 6. Default: none."""
    disable_acs: bool | None = None
    """PCI Access Control Services off, so that NICs reach GPU memory directly. Default: no."""
    rdma_mode: bool | None = None
    """The RDMA mode of the fabric; a reboot that it needs is announced, never carried out. Default: no."""
    link_type: str | None = None
    """The NICs' link layer: `report` where it is another one, or `change` the firmware's. Default: none."""
    ipoib: bool | None = None
    """The module ib_ipoib, which gives InfiniBand NICs an interface. Default: no."""


@dataclass
class NcclArgs:
    """NCCL's settings in the stack's jobs."""

    topology: str | None = None
    """The topology file that jobs mount: `lean` (`cpu` and `pci` alone), `full` (also ports and links, for the shapes
    whose file Oracle published), `none`; `auto` is `lean` for those where pods hold virtual functions and for a shape
    whose tree is in the stack file, and none for all others. Default: auto."""
    settings: dict[str, str] | None = None
    """Variables of NCCL (RCCL) for the jobs of this stack, merged last; `gpu-fabric explain NCCL_IB_TC` says what a
    variable is and what the stack sets by itself. Default: none."""
    version: str | None = None
    """Oldest release of NCCL (RCCL) in the jobs' images, such as 2.27.3, in quotes: settings that it does not have are
    pointed out. Default: that of the vendor's tests on the release line."""


@dataclass
class FabricCheckArgs:
    """A pod on every GPU node, which is attached to all rails and checks each of them."""

    image: str | None = None
    """Image with a shell and `ip`. Default: the release line's."""


@dataclass
class FabricPairArgs:
    """Each rail of a node is measured with a neighbour, both ways, before the node takes jobs."""

    when: str | None = None
    """`boot`, after each start of a node and where the annotation gpu-fabric.dev/prove asks for a proof; `request`,
    only there. Default: boot."""
    percent: int | None = None
    """Percent of a rail's line rate that each direction must reach. From 10 to 100. Default: 92."""
    seconds: int | None = None
    """Length of one measurement: a rail, one way. From 5 to 60. Default: 5."""
    image: str | None = None
    """Image with a shell, `ip`, `awk`, `timeout`, `ib_write_bw` and `ib_read_bw`. Default: the release line's."""


@dataclass
class FabricReadinessArgs:
    """A pod on every GPU node that proves its fabric, and writes the node's condition `gpu-fabric.dev/FabricReady`."""

    taint: str | None = None
    """Who keeps jobs off nodes that are not proven, by a taint: `agent`, the pod itself; `node-readiness-controller`,
    Kubernetes' own, which the cluster must have; `none`, the condition alone. Default: agent."""
    closes: str | None = None
    """What a rail that fails closes to jobs: `node`, the whole node; `rail`, its NIC alone, where pods claim NICs
    (manager `dranet`), by a DeviceTaintRule, which the API server must serve. Default: node."""
    startup_taint: bool | None = None
    """Whether nodes of pools that the stack creates join with the taint; otherwise a new node takes jobs until its pod
    runs. Default: yes."""
    seconds: int | None = None
    """Pause between two looks at a node. From 10 to 600. Default: 30."""
    image: str | None = None
    """Image with Python 3.10 or newer and `ip`. Default: the release line's."""
    lost_nics: bool | None = None
    """Whether a NIC that moves into pods must be on the host while no pod of the node asks for it; the account of the
    pods may then list all pods of the cluster. Default: no."""
    pair: FabricPairArgs | None = None
    """Nodes are measured with a neighbour before they take jobs; `{}` for its defaults. Default: none."""


@dataclass
class NamespaceShareArgs:
    """A namespace's share of the GPU nodes, with their GPUs, NICs and addresses."""

    nodes: int
    """GPU nodes that the namespace's jobs can have at any time. At least 1."""
    most_nodes: int | None = None
    """GPU nodes that they can have while others do not use theirs. Default: no more than `nodes`."""


@dataclass
class OfferedNamespaceArgs:
    """A namespace in which jobs can attach to the fabric; `create` makes it part of the stack."""

    name: str
    """Name of the namespace."""
    create: bool | None = None
    """Whether the stack creates the namespace, and deletes it on destroy. Default: no."""
    share: NamespaceShareArgs | None = None
    """The namespace's own share of the GPU nodes, by a quota and in the queues of schedulers. Default: it shares what
    others leave."""


@dataclass
class FabricArgs:
    """The RDMA fabric and its attachment to pods."""

    model: str | None = None
    """How a NIC gets into a pod. One of host-device, macvlan, sriov, ib-sriov, ipoib, host-network, rdma-device.
    Default: `sriov`, on DOKS `host-device`, with a profile the cloud's."""
    manager: str | None = None
    """Who installs and drives the fabric software. One of amd-network-operator, cloud, doks, dranet, network-operator,
    spiderpool. Default: `network-operator`, on DOKS `doks`, with `cluster.profile` the `cloud`."""
    rdma_mode: str | None = None
    """RDMA network-namespace mode that the nodes run in; `exclusive` moves the RDMA device into the pod. One of
    shared, exclusive. Default: the one that the model needs."""
    link_type: str | None = None
    """Link layer of the RDMA NICs. One of ether, infiniband. Default: the shape's own."""
    mtu: int | None = None
    """Bytes. From 1280 to 9216. Default: the shape's own."""
    vfs_per_nic: int | None = None
    """Virtual functions per NIC. From 0 to 128. Default: the shape's own."""
    virtual_functions: str | None = None
    """What creates virtual functions: `node-image`; `daemon-set`, one of this stack; `sriov-operator`, which
    advertises them too; `externally-managed`, where the cloud creates them and the SR-IOV operator does the rest.
    Default: `node-image`, on servers that come without functions `daemon-set`, and with Spiderpool
    `sriov-operator`."""
    devices: str | None = None
    """What answers pods that request virtual functions of the Network Operator's SR-IOV operator: `plugin`, its device
    plug-in; `claims`, its DRA driver, by the same names of resources, so that jobs stay as they are (Kubernetes 1.36
    and newer). With the manager `cloud`: what hands out the cloud's NICs. Default: plugin."""
    planes: PlanesArgs | None = None
    """Planes: separate fabrics over which each NIC of own machines is split, by NVIDIA's Spectrum-X operator. Default:
    the defaults of its fields."""
    dpdk: DpdkArgs | None = None
    """For pods that drive the NICs from user space: huge pages, processors and memory. Default: none."""
    pods_per_nic: int | None = None
    """Pods that share one NIC, in models that share it (macvlan, ipoib). From 1 to 1000. Default: 1."""
    pkey: str | None = None
    """InfiniBand partition key, 0x0 to 0x7fff, with a digit after the x. Default: none."""
    prefix: str | None = None
    """Beginning of the names of networks, pools, policies and everything else that is named per stack, followed by a
    dash; tells the objects of several stacks on one cluster apart. Resources keep their names. Default: none."""
    rails: list[RailOverrideArgs] | None = None
    """What differs on single rails from the shape. Default: none."""
    addressing: AddressingArgs | None = None
    """The fabric's address space and its division. Default: the defaults of its fields."""
    claims: ClaimsArgs | None = None
    """What pods claim with the manager `dranet`. Default: all NICs of a node, with GPUs of the device plug-in."""
    domains: DomainsArgs | None = None
    """NVLink between the nodes of a rack (GB200, GB300), by NVIDIA's DRA driver (`software.gpuDraDriver`); each pool
    is a rack. Without it jobs use the rails between all nodes. Default: none."""
    default_network: str | None = None
    """Network of the pods' own first interface, as namespace/name. Default: the cluster's default."""
    host_preparation: HostPreparationSettingsArgs | None = None
    """Jobs on the GPU nodes, each in a privileged DaemonSet whose pods are ready if their nodes are as specified.
    Default: the defaults of its fields."""
    nccl: NcclArgs | None = None
    """NCCL's settings in the stack's jobs. Default: the defaults of its fields."""
    resilience: str | None = None
    """What jobs do when a link fails: `default`, as the shape's settings and NCCL's own have it; `fail-fast`, end
    within seconds; `ride-out-flaps`, wait two minutes for it; `port-failover`, go on over the other port of the GPU's
    adapter (NCCL 2.29.7 or later). Default: default."""
    check: FabricCheckArgs | None = None
    """A DaemonSet that is attached to all rails and checks each; `{}` for its defaults. Default: none."""
    readiness: FabricReadinessArgs | None = None
    """Nodes take jobs once their fabric is proven, and no more when it fails; `{}` for its defaults. Default: none."""
    namespaces: list[OfferedNamespaceArgs] | None = None
    """Where networks are offered: names of namespaces that exist, or {name, create: true} for new ones. Default: the
    namespace default alone."""


@dataclass
class PointToPointArgs:
    """Each rail is measured by UCX, too, from node to node: the way in which servers of models send caches."""

    program: str | None = None
    """UCX's test program, 1.12 or later, in the image: a name on its PATH, or a path. Default: ucx_perftest."""
    memory: str | None = None
    """Where data are: `gpu`, in a GPU's memory, which UCX must be built for; `host`, in the node's. Default: gpu."""
    percent: int | None = None
    """Percent of a rail's line rate that each direction must reach. From 10 to 100. Default: 92."""


@dataclass
class VerificationSettingsArgs:
    """A job that measures each rail alone and then the whole fabric, and the thresholds that it must reach."""

    enabled: bool | None = None
    """Whether the fabric is measured after its creation or a change. Default: no."""
    launcher: str | None = None
    """Who runs it: `job`, a Job of Kubernetes with a launcher of our own; `volcano`; `mpi-operator`. Default: job."""
    nodes: int | None = None
    """GPU nodes that take part. From 2 to 10000. Default: all."""
    image: str | None = None
    """Image with bash, Open MPI, ssh's server and client, and nccl-tests 2.17.3 or later (rccl-tests on AMD's GPUs);
    none is published that is known to be good on all shapes. Default: none."""
    program: str | None = None
    """The test in the image: a name on its PATH, or a path. Default: all_reduce_perf."""
    bar: float | None = None
    """GB/s that the whole fabric must reach. From 0.01 to 100000. Default: what follows from the line rate."""
    rail_bar: float | None = None
    """GB/s that each rail alone must reach. From 0.01 to 100000. Default: the fabric's bar, shared by the rails."""
    per_rail: bool | None = None
    """Whether each rail is measured alone first, so that it is named. Default: yes."""
    point_to_point: PointToPointArgs | None = None
    """Whether each rail is measured by UCX between neighbouring nodes, too, as inference uses it. Default: none."""
    minutes: int | None = None
    """Time limit of the job, with the start of its pods. From 5 to 1440. Default: 60."""
    wait: bool | None = None
    """Whether `up` waits for the verdict and fails with it; else a later `up` reports it. Default: yes."""
    schedule: str | None = None
    """When idle nodes are measured again, in the form of CronJobs and in UTC (`17 */4 * * *`), by pods that every job
    preempts; the image then also needs curl. Default: none."""
    trigger: str | None = None
    """Any text; another one has an unchanged fabric measured again. Default: none."""


@dataclass
class FurtherFabricArgs:
    """A fabric besides that of the section `fabric`: all of its keys, and the nodes and NICs that it is made of."""

    pools: list[str]
    """Names of the GPU pools whose nodes are in this fabric."""
    model: str | None = None
    """How a NIC gets into a pod. One of host-device, macvlan, sriov, ib-sriov, ipoib, host-network, rdma-device.
    Default: `sriov`, on DOKS `host-device`, with a profile the cloud's."""
    manager: str | None = None
    """Who installs and drives the fabric software. One of amd-network-operator, cloud, doks, dranet, network-operator,
    spiderpool. Default: `network-operator`, on DOKS `doks`, with `cluster.profile` the `cloud`."""
    rdma_mode: str | None = None
    """RDMA network-namespace mode that the nodes run in; `exclusive` moves the RDMA device into the pod. One of
    shared, exclusive. Default: the one that the model needs."""
    link_type: str | None = None
    """Link layer of the RDMA NICs. One of ether, infiniband. Default: the shape's own."""
    mtu: int | None = None
    """Bytes. From 1280 to 9216. Default: the shape's own."""
    vfs_per_nic: int | None = None
    """Virtual functions per NIC. From 0 to 128. Default: the shape's own."""
    virtual_functions: str | None = None
    """What creates virtual functions: `node-image`; `daemon-set`, one of this stack; `sriov-operator`, which
    advertises them too; `externally-managed`, where the cloud creates them and the SR-IOV operator does the rest.
    Default: `node-image`, on servers that come without functions `daemon-set`, and with Spiderpool
    `sriov-operator`."""
    devices: str | None = None
    """What answers pods that request virtual functions of the Network Operator's SR-IOV operator: `plugin`, its device
    plug-in; `claims`, its DRA driver, by the same names of resources, so that jobs stay as they are (Kubernetes 1.36
    and newer). With the manager `cloud`: what hands out the cloud's NICs. Default: plugin."""
    planes: PlanesArgs | None = None
    """Planes: separate fabrics over which each NIC of own machines is split, by NVIDIA's Spectrum-X operator. Default:
    the defaults of its fields."""
    dpdk: DpdkArgs | None = None
    """For pods that drive the NICs from user space: huge pages, processors and memory. Default: none."""
    pods_per_nic: int | None = None
    """Pods that share one NIC, in models that share it (macvlan, ipoib). From 1 to 1000. Default: 1."""
    pkey: str | None = None
    """InfiniBand partition key, 0x0 to 0x7fff, with a digit after the x. Default: none."""
    prefix: str | None = None
    """Beginning of the names of networks, pools, policies and everything else that is named per stack, followed by a
    dash; tells the objects of several stacks on one cluster apart. Resources keep their names. Default: none."""
    rails: list[RailOverrideArgs] | None = None
    """What differs on single rails from the shape. Default: none."""
    addressing: AddressingArgs | None = None
    """The fabric's address space and its division. Default: the defaults of its fields."""
    claims: ClaimsArgs | None = None
    """What pods claim with the manager `dranet`. Default: all NICs of a node, with GPUs of the device plug-in."""
    domains: DomainsArgs | None = None
    """NVLink between the nodes of a rack (GB200, GB300), by NVIDIA's DRA driver (`software.gpuDraDriver`); each pool
    is a rack. Without it jobs use the rails between all nodes. Default: none."""
    default_network: str | None = None
    """Network of the pods' own first interface, as namespace/name. Default: the cluster's default."""
    host_preparation: HostPreparationSettingsArgs | None = None
    """Jobs on the GPU nodes, each in a privileged DaemonSet whose pods are ready if their nodes are as specified.
    Default: the defaults of its fields."""
    nccl: NcclArgs | None = None
    """NCCL's settings in the stack's jobs. Default: the defaults of its fields."""
    resilience: str | None = None
    """What jobs do when a link fails: `default`, as the shape's settings and NCCL's own have it; `fail-fast`, end
    within seconds; `ride-out-flaps`, wait two minutes for it; `port-failover`, go on over the other port of the GPU's
    adapter (NCCL 2.29.7 or later). Default: default."""
    check: FabricCheckArgs | None = None
    """A DaemonSet that is attached to all rails and checks each; `{}` for its defaults. Default: none."""
    readiness: FabricReadinessArgs | None = None
    """Nodes take jobs once their fabric is proven, and no more when it fails; `{}` for its defaults. Default: none."""
    namespaces: list[OfferedNamespaceArgs] | None = None
    """Where networks are offered: names of namespaces that exist, or {name, create: true} for new ones. Default: the
    namespace default alone."""
    purpose: str | None = None
    """`compute`: the fabric that NCCL uses on these nodes, which no other fabric of this purpose has; `storage`: a
    fabric of other NICs on nodes of a compute fabric, which NCCL leaves alone. Default: compute."""
    nics: list[NicArgs] | None = None
    """The fabric's NICs on each node, the k-th is rail k. Default: the RDMA NICs of the shape, which one fabric alone
    can have."""
    nic_model: NicModelArgs | None = None
    """Common facts of `nics`. Default: those of the shape's RDMA NICs."""
    nic_speed_gbps: int | None = None
    """Line rate of one of `nics` in Gb/s. At least 1. Default: that of the shape's RDMA NICs."""
    verification: VerificationSettingsArgs | None = None
    """Measurement of this fabric, for `compute` only. Default: that of the section `verification`, without its number
    of nodes and its bars."""


@dataclass
class ImagePullSecretArgs:
    """A Secret with the login of a registry, by which nodes pull images."""

    name: str
    """Name of the Secret, in every namespace where pods of the stack run."""
    secret: str | None = None
    """Name of the secret configuration key that holds a Docker configuration (JSON with `auths`), from which the stack
    creates the Secret in each of these namespaces; without, it must exist there. Default: none."""


@dataclass
class ProxyArgs:
    """The HTTP proxy of containers that download packages; images are pulled by the nodes' container runtime."""

    http: str | None = None
    """Proxy of http:// addresses, without a login in it. Default: none."""
    https: str | None = None
    """Proxy of https:// addresses; its own address may begin with http://. Default: none."""
    no_proxy: list[str] | None = None
    """Hosts, domains and ranges that are reached directly, besides the cluster's own ranges and names. Default:
    none."""


@dataclass
class GpuOperatorSettingsArgs:
    """Settings of the GPU Operator."""

    install: bool | None = None
    """Whether the stack installs the operator; false where the cluster has one. Default: for NVIDIA's GPUs, but not
    where DigitalOcean manages the nodes' plug-ins."""
    driver: bool | None = None
    """Whether the operator installs the GPU driver; false where the node image contains it. Default: no."""
    toolkit: bool | None = None
    """Whether the operator installs the container toolkit. Default: it does, but not on DigitalOcean's nodes, which
    have it."""
    feature_discovery: bool | None = None
    """Whether the chart installs Node Feature Discovery; false where the cluster has one. Default: yes."""
    gpu_direct: str | None = None
    """How NICs reach GPU memory: `dma-buf` (open kernel modules, nothing else) or `peermem` (the module nvidia-peermem
    and the vendor's network drivers). Default: what the release line names."""
    gdrcopy: bool | None = None
    """Whether the operator loads GDRCopy's kernel module. Default: no."""
    cdi: bool | None = None
    """Whether GPUs come into containers by the Container Device Interface. Default: the chart's own."""
    mig: str | None = None
    """Partitioned GPUs: `single` (requested as whole ones are) or `mixed` (a resource per partition size); a pool's
    label nvidia.com/mig.config names the partitions. One of none, single, mixed. Default: the chart's own,
    `single`."""
    dcgm_exporter: bool | None = None
    """Whether GPU metrics are exported. Default: yes."""
    service_monitor: bool | None = None
    """Whether a ServiceMonitor for Prometheus is created; needs the Prometheus operator in the cluster. Default:
    no."""
    values: dict[str, Any] | None = None
    """Chart values, merged last. Default: none."""


@dataclass
class PartitionKeysArgs:
    """ib-kubernetes, which adds the GUIDs of pods to the fabric's partition through UFM."""

    ufm_secret: str
    """Name of the secret in the operator's namespace that holds UFM's address and login."""
    guid_range_start: str
    """First GUID for pods, eight bytes with colons."""
    guid_range_end: str
    """Last GUID for pods."""


@dataclass
class NetworkOperatorSettingsArgs:
    """Settings of the Network Operator."""

    install: bool | None = None
    """False where the cluster has the Network Operator: the stack then installs no second one, and uses its policy as
    `policy` states. Default: yes."""
    namespace: str | None = None
    """The namespace of the operator, its operands and its pools of addresses: that of an older line stays when the
    line changes, and a NicClusterPolicy of the older chart is taken over. Default: the release line's."""
    policy: str | None = None
    """`own`: the stack creates the one NicClusterPolicy; `adopt`: it adds the sections that the fabric needs to the
    one that exists, and takes them out again; `theirs`: it writes nothing, and what it needs is compared with the
    policy before `up`. The last two need install: false. Default: own."""
    multus: bool | None = None
    """Whether its policy installs Multus; false where the cluster has one. Default: yes."""
    ofed_driver: bool | None = None
    """Whether it loads the vendor's network drivers; false where the node image has them. Default: no."""
    partition_keys: PartitionKeysArgs | None = None
    """The controller ib-kubernetes with UFM, for `fabric.pkey`. Default: none."""
    values: dict[str, Any] | None = None
    """Chart values, merged last. Default: none."""


@dataclass
class WebhookCertificateArgs:
    """The source of the certificate of Spiderpool's admission webhooks."""

    method: str | None = None
    """`auto`: the chart creates a new authority at every change of the release; `certmanager`: cert-manager creates
    and renews it; `provided`: from a secret. Default: auto."""
    issuer: str | None = None
    """Issuer of cert-manager. Default: one that the chart creates."""
    secret: str | None = None
    """Method `provided`: name of the secret configuration key that holds JSON with the keys certificate, key and
    authority, each in PEM. Default: none."""


@dataclass
class CoordinatorArgs:
    """Patched settings of the cluster's SpiderCoordinator; settings that are left out do not change."""

    pod_cidr_type: str | None = None
    """Where the pod range is found; `none` where none of the ways works. One of auto, cluster, calico, cilium, none.
    Default: none."""
    tune_pod_routes: bool | None = None
    """Whether each interface of a pod gets a route table of its own. Default: none."""
    hijack_cidr: list[str] | None = None
    """Ranges that pods reach by their first interface, such as node-local DNS. Default: none."""
    veth_mtu: int | None = None
    """Bytes; that of the pod network where it is an overlay. From 1280 to 65535. Default: none."""
    pod_mac_prefix: str | None = None
    """First two bytes of the pods' MAC addresses, of which the first is even. Default: none."""
    tx_queue_len: int | None = None
    """Length of the interfaces' transmit queue. At least 0. Default: none."""


@dataclass
class SpiderpoolSettingsArgs:
    """Settings of Spiderpool."""

    install: bool | None = None
    """False where the cluster has it: the stack then installs no second one. Default: yes."""
    namespace: str | None = None
    """Install: false only: the namespace of the cluster's own. Default: that of the component's charts."""
    multus: bool | None = None
    """Whether its chart installs Multus; false where the cluster has one. Default: yes."""
    injection: str | None = None
    """A word; pods that carry it as annotation get all networks and resources of the fabric, by Spiderpool's webhook,
    in the fabric's namespaces. Default: none."""
    cleanup: bool | None = None
    """Whether uninstalling removes all of Spiderpool's objects and definitions; it takes those of every SR-IOV
    operator with it, so it is off where the cluster has another one. Default: yes."""
    ib_kubernetes: bool | None = None
    """Whether the cluster has ib-kubernetes, which then gets the pods' partition from UFM. Default: no."""
    metrics: bool | None = None
    """Whether RDMA traffic and addresses are counted for Prometheus. Default: no."""
    service_monitor: bool | None = None
    """Whether a ServiceMonitor for Prometheus is created; needs the Prometheus operator in the cluster. Default:
    no."""
    grafana_dashboards: bool | None = None
    """Whether its dashboards are installed; needs the Grafana operator in the cluster. Default: no."""
    grafana_labels: dict[str, str] | None = None
    """Labels of the Grafana that shows them; the chart's own default fits one vendor's only. Default: none."""
    image_registry: str | None = None
    """Registry that all its images come from, such as a mirror. Default: none."""
    tls: WebhookCertificateArgs | None = None
    """The source of the certificate of Spiderpool's admission webhooks. Default: the defaults of its fields."""
    coordinator: CoordinatorArgs | None = None
    """Patched settings of the cluster's SpiderCoordinator; settings that are left out do not change. Default: the
    defaults of its fields."""
    values: dict[str, Any] | None = None
    """Chart values, merged last. Default: none."""


@dataclass
class AmdNetworkOperatorArgs:
    """AMD's Network Operator, which is installed with the manager `amd-network-operator`."""

    install: bool | None = None
    """False where the cluster has it: the stack then installs no second one. Default: yes."""
    namespace: str | None = None
    """Install: false only: the namespace of the cluster's own. Default: that of the component's charts."""
    metrics_exporter: bool | None = None
    """Whether nodes run AMD's exporter of the NICs' metrics, with a ServiceMonitor where `cluster.installed` names
    prometheus-operator. Default: no."""
    values: dict[str, Any] | None = None
    """Chart values, merged last. Default: none."""


@dataclass
class AmdGpuOperatorArgs:
    """AMD's GPU Operator: the device plug-in of AMD's GPUs, or their DRA driver where pods claim them."""

    install: bool | None = None
    """False where the cluster has it: the stack then installs no second one. Default: yes."""
    values: dict[str, Any] | None = None
    """Chart values, merged last. Default: none."""
    metrics_exporter: bool | None = None
    """Whether nodes run AMD's exporter of the GPUs' metrics, with a ServiceMonitor where `cluster.installed` names
    prometheus-operator. Default: yes."""


@dataclass
class DranetArgs:
    """DRANET, the DRA driver for NICs, which is installed with the manager `dranet`."""

    install: bool | None = None
    """False where the cluster has it: the stack then installs no second one. Default: yes."""
    namespace: str | None = None
    """Install: false only: the namespace of the cluster's own. Default: that of the component's charts."""
    values: dict[str, Any] | None = None
    """Chart values, merged last. Default: none."""


@dataclass
class GpuDraDriverArgs:
    """NVIDIA's DRA driver for GPUs."""

    install: bool | None = None
    """False where the cluster has it: the stack then installs no second one. Default: yes."""
    values: dict[str, Any] | None = None
    """Chart values, merged last. Default: none."""


@dataclass
class MultusSettingsArgs:
    """Settings of Multus: whether the cluster has one, and of the one that the stack itself installs."""

    install: bool | None = None
    """False where the cluster has Multus: the stack then installs no second one, whichever chart or policy would
    install it. Default: yes."""
    memory: str | None = None
    """Memory of its daemon on every node, such as 1Gi. Default: the release line's."""
    image: str | None = None
    """Another image of the thick form. Default: the release line's."""


@dataclass
class WhereaboutsArgs:
    """Settings of Whereabouts, which is installed if `addressing.ipam` names it."""

    install: bool | None = None
    """False where the cluster has it: the stack then installs no second one. Default: yes."""
    values: dict[str, Any] | None = None
    """Chart values, merged last. Default: none."""


@dataclass
class SriovOperatorArgs:
    """The SR-IOV operator, which the manager's chart contains."""

    install: bool | None = None
    """False where the cluster has the SR-IOV operator: the manager's chart then installs no second one, and the
    stack's policies are for the cluster's. Default: yes."""
    namespace: str | None = None
    """Install: false only: the namespace of the cluster's own. Default: that of the component's charts."""


@dataclass
class NodeFeatureDiscoveryArgs:
    """Node Feature Discovery, which a chart of NVIDIA's operators installs."""

    install: bool | None = None
    """False where the cluster has Node Feature Discovery: no chart then installs a second one. Default: none."""


@dataclass
class VolcanoArgs:
    """Volcano as in the OKE guide: gang scheduling, and jobs whose pods reach each other through ssh."""

    install: bool | None = None
    """False where the cluster has Volcano: the stack then installs no second one, and creates queue and accounts
    alone. Default: yes."""
    queue: str | None = None
    """Queue of the fabric's jobs; one of another name than `default` is created. Default: default."""
    values: dict[str, Any] | None = None
    """Chart values, merged last. Default: none."""


@dataclass
class KueueArgs:
    """Kueue, which suspends jobs until all resources that they request are free."""

    install: bool | None = None
    """False where the cluster has Kueue: the stack then installs no second one, and creates the queue alone. Default:
    yes."""
    queue: str | None = None
    """Name of the ClusterQueue, and in every namespace of the fabric of the LocalQueue that jobs name; in a namespace
    with one named `default`, jobs that name none are queued, too. Default: fabric."""
    quotas: dict[str, str] | None = None
    """Quota of a resource in place of the plan's, or of one that the plan does not know, such as `{cpu: 768, memory:
    8Ti}`; a job that requests a resource without a quota never starts. Default: none."""
    topology: list[str] | None = None
    """Labels of the nodes that say how close they are, the widest level first; `none` for none. Default: those of
    Oracle's RDMA pools, and none elsewhere."""
    values: dict[str, Any] | None = None
    """Chart values, merged last. Default: none."""


@dataclass
class MpiOperatorArgs:
    """The MPI operator, which creates the launcher and workers of an MPIJob."""

    install: bool | None = None
    """False where the cluster has it: the stack then installs no second one. Default: yes."""
    image: str | None = None
    """Another image of the operator. Default: the release line's."""


@dataclass
class JobSetArgs:
    """JobSet, which creates several Jobs together, with DNS names for their pods."""

    install: bool | None = None
    """False where the cluster has it: the stack then installs no second one. Default: yes."""
    values: dict[str, Any] | None = None
    """Chart values, merged last. Default: none."""


@dataclass
class LeaderWorkerSetArgs:
    """LeaderWorkerSet, which creates groups of a leader and its workers, as for inference on several nodes."""

    install: bool | None = None
    """False where the cluster has it: the stack then installs no second one. Default: yes."""
    values: dict[str, Any] | None = None
    """Chart values, merged last. Default: none."""


@dataclass
class SchedulersArgs:
    """Schedulers in addition to Kubernetes' own, and job controllers; by default none."""

    volcano: VolcanoArgs | None = None
    """Volcano with its queue, and in every namespace of the fabric the account `mpi-worker-view` of the OKE guide's
    jobs; `{}` installs it with defaults. Default: none."""
    kueue: KueueArgs | None = None
    """Kueue with a queue of the stack's GPUs and NICs, and their topology where it is known; `{}` installs it with
    defaults. Default: none."""
    mpi_operator: MpiOperatorArgs | None = None
    """The MPI operator, for jobs of kind MPIJob; `{}` installs it with defaults. Default: none."""
    job_set: JobSetArgs | None = None
    """JobSet, for jobs of that kind; `{}` installs it with defaults. Default: none."""
    leader_worker_set: LeaderWorkerSetArgs | None = None
    """LeaderWorkerSet, for workloads of that kind; `{}` installs it with defaults. Default: none."""


@dataclass
class ContainerOfedDriverArgs:
    """The vendor's network drivers in a container, installed by the chart ofed-driver of the Spiderpool project."""

    os: str
    """Operating system of the nodes, such as ubuntu."""
    os_version: str
    """Its version, in quotes, such as "22.04"."""
    arch: str | None = None
    """Processor architecture of the nodes. One of amd64, arm64. Default: amd64."""
    values: dict[str, Any] | None = None
    """Chart values, merged last. Default: none."""


@dataclass
class SoftwareArgs:
    """The software that the stack installs."""

    release_line: str | None = None
    """The tested set of versions. Default: 26.4."""
    charts: str | None = None
    """`upstream`: the vendor's chart repository; `bundled`: the sandbox's stand-ins; or a mirror's URL. Default:
    upstream."""
    registries: dict[str, str] | None = None
    """Registries that nodes pull images from instead, such as `nvcr.io: mirror.example/nvcr`; `*` is every registry
    without a line of its own; charts are included if they come from `oci://`. Default: none."""
    image_pull_secrets: list[ImagePullSecretArgs] | None = None
    """Secrets by which nodes pull the images of charts, policies, DaemonSets and the verification. Default: none."""
    proxy: ProxyArgs | None = None
    """HTTP proxy of the containers that install drivers. Default: they download without one."""
    gpu_operator: GpuOperatorSettingsArgs | None = None
    """Settings of the GPU Operator. Default: the defaults of its fields."""
    network_operator: NetworkOperatorSettingsArgs | None = None
    """Settings of the Network Operator. Default: the defaults of its fields."""
    spiderpool: SpiderpoolSettingsArgs | None = None
    """Settings of Spiderpool. Default: the defaults of its fields."""
    amd_network_operator: AmdNetworkOperatorArgs | None = None
    """AMD's Network Operator, which is installed with the manager `amd-network-operator`. Default: the defaults of its
    fields."""
    amd_gpu_operator: AmdGpuOperatorArgs | None = None
    """AMD's GPU Operator, which hands out AMD's GPUs on clusters that exist; `{}` installs it with defaults. Default:
    none."""
    dranet: DranetArgs | None = None
    """DRANET, the DRA driver for NICs, which is installed with the manager `dranet`. Default: the defaults of its
    fields."""
    gpu_dra_driver: GpuDraDriverArgs | None = None
    """NVIDIA's DRA driver for GPUs, for `fabric.claims.gpus: claims` and `fabric.domains`; `{}` installs it with
    defaults. Default: none."""
    multus: MultusSettingsArgs | None = None
    """Settings of Multus: whether the cluster has one, and of the one that the stack itself installs. Default: the
    defaults of its fields."""
    whereabouts: WhereaboutsArgs | None = None
    """Settings of Whereabouts, which is installed if `addressing.ipam` names it. Default: the defaults of its
    fields."""
    sriov_operator: SriovOperatorArgs | None = None
    """The SR-IOV operator, which the manager's chart contains. Default: the defaults of its fields."""
    node_feature_discovery: NodeFeatureDiscoveryArgs | None = None
    """Node Feature Discovery, which a chart of NVIDIA's operators installs. Default: the defaults of its fields."""
    schedulers: SchedulersArgs | None = None
    """Schedulers in addition to Kubernetes' own, and job controllers. Default: none."""
    ofed_driver: ContainerOfedDriverArgs | None = None
    """The vendor's network drivers in a container, with Spiderpool. Default: the nodes have them."""
    cni_plugins: str | None = None
    """CNI plug-ins that a network needs and no operator installs (sriov, ib-sriov, rdma), and those of Spiderpool's
    chart: `install`, or `node-image` where the nodes have them. Default: install."""
    keep_operators: bool | None = None
    """Whether operators, with their policies and namespaces, stay on the cluster when they leave the stack; for one
    `up` before `install: false`. As long as it is true, `destroy` leaves them there as well. Default: no."""
    host_image: str | None = None
    """Image of the DaemonSets that prepare nodes, which take only chroot from it. Default: the release line's."""


@dataclass
class MonitoringArgs:
    """Alarms and a dashboard, which the stack writes for the Prometheus and the Grafana of the cluster."""

    prometheus_rules: bool | None = None
    """Whether the stack applies its alarms as PrometheusRules; needs the Prometheus operator. Default: no."""
    dashboard: bool | None = None
    """Whether the stack applies a Grafana dashboard, as a ConfigMap with the label grafana_dashboard. Default: no."""
    namespace: str | None = None
    """Namespace of both, which exists: that of Prometheus and Grafana. Default: monitoring."""
    labels: dict[str, str] | None = None
    """Labels of the PrometheusRules, by which Prometheus selects them, such as its `release`. Default: none."""
    node_label: str | None = None
    """Label of node_exporter's series that names the node; `instance` has its address, unless it is relabelled.
    Default: instance."""
    runbooks: str | None = None
    """Address of a page of docs/alarms.md, to which each alarm adds its anchor. Default: alarms name the page
    alone."""
    cables: dict[str, str] | None = None
    """Cables or switch ports for the texts of alarms, by node or node/rail: `*: leaf-{rail}, {node}`, `gpu-07/3:
    leaf-3b swp12`; * and ? stand for any characters, and the place with the most others counts. Default: none."""


@dataclass
class PriceArgs:
    """The price of one machine for one hour, including GPUs, volumes and all else that the buyer counts."""

    hourly: float
    """Price of an hour, or the least of a range."""
    hourly_most: float | None = None
    """The most, where the price is a range. Default: none."""
    currency: str | None = None
    """Three letters, such as USD. Default: USD."""
    as_of: str | None = None
    """Day of the price, such as 2026-11-01. Default: none."""
    source: str | None = None
    """Its source, such as a contract's number. Default: none."""


@dataclass
class VpcArgs:
    """The cluster's VPC: a new one with the range `ranges.nodes`, or an existing one by id."""

    id: str | None = None
    """Id of a VPC that exists, and stays on destroy. Default: none."""
    nat_gateway: bool | None = None
    """Whether the VPC has a NAT gateway. Default: no."""


@dataclass
class ProjectArgs:
    """The project of the cluster: an existing one by id, or a new one by name."""

    id: str | None = None
    """Id of a project that exists. Default: none."""
    name: str | None = None
    """Name of a new project. Default: none."""
    environment: str | None = None
    """Environment of the new project. One of Development, Staging, Production. Default: none."""


@dataclass
class AdoptionArgs:
    """Ids of existing resources that the stack adopts, and then changes and destroys as its own."""

    vpc: str | None = None
    """Id of the VPC. Default: none."""
    cluster: str | None = None
    """Id of the cluster. Default: none."""
    pools: dict[str, str] | None = None
    """Ids of pools and otherPools, by the pools' names. Default: none."""


@dataclass
class MaintenanceWindowArgs:
    """When DigitalOcean may work on the cluster; the window is four hours long."""

    start: str
    """Start of the window in UTC, such as 04:00."""
    day: str | None = None
    """Day of the week. One of any, monday, tuesday, wednesday, thursday, friday, saturday, sunday. Default: any."""


@dataclass
class SystemPoolArgs:
    """The CPU pool that is created with the cluster and runs its system pods."""

    size: str | None = None
    """A CPU size; changing it replaces the cluster. Default: s-4vcpu-8gb."""
    nodes: int | None = None
    """Number of CPU nodes. From 0 to 512. Default: 2."""
    auto_scale_to_zero: bool | None = None
    """Whether the pool may shrink to no node at all. Default: no."""


@dataclass
class AutoScaleArgs:
    """Bounds of the provider's automatic scaling."""

    min_nodes: int
    """Fewest nodes. From 0 to 512."""
    max_nodes: int
    """Most nodes. From 0 to 512."""


@dataclass
class DoksPoolArgs:
    """A pool of GPU Droplets. DOKS sets the vendor's taint; `taints` lists only further ones."""

    name: str
    """Name of the pool, unique among the pools."""
    shape: str
    """Machine type from the catalog or from `shapes`; `gpu-fabric shapes` lists them."""
    nodes: int
    """Number of GPU nodes in the pool. From 1 to 8192."""
    labels: dict[str, str] | None = None
    """Labels the pool's nodes carry; jobs select by those that all pools have in common. Default: none."""
    taints: list[TaintArgs] | None = None
    """Taints of the pool's nodes. Default: the GPU vendor's, such as nvidia.com/gpu."""
    node_names: list[str] | None = None
    """Names of the nodes, in order; with them each node's share of the layout per-node is pinned, and each host's own
    address (hostPreparation.addresses); gpu-[001-064] stands for 64 names, and an empty name keeps the place of a
    removed node. Default: none."""
    first_share: int | None = None
    """With nodeNames, and the layout `per-node` or hostPreparation.addresses: number of the first node's share or host
    address; stated, the pool keeps its addresses when a pool before it grows. From 0 to 65535. Default: none."""
    auto_scale: AutoScaleArgs | None = None
    """Bounds for automatic scaling; fixed size without. Default: none."""
    contracted_nodes: int | None = None
    """Nodes that the contract provides. At least 1. Default: none."""
    gpu_partition_mode: str | None = None
    """Partitioning of AMD GPUs; DPX doubles the GPUs that a node shows. One of AMD_PARTITION_MODE_SPX_NPS1,
    AMD_PARTITION_MODE_DPX_NPS2. Default: none."""
    tags: list[str] | None = None
    """Tags of the pool. Default: none."""


@dataclass
class DoksOtherPoolArgs:
    """A pool outside the fabric. A spot pool is one of a spot size: DigitalOcean has no other spot nodes."""

    name: str
    """Name of the pool, unique among all pools of the cluster."""
    nodes: int
    """Number of nodes; with autoScale, at creation only. From 0 to 1000."""
    size: str
    """A CPU size such as s-8vcpu-16gb, or a GPU size without a fabric; `gpu-fabric shapes` lists those with GPUs.
    Changing it replaces the pool."""
    labels: dict[str, str] | None = None
    """Labels of the pool's nodes. Default: none."""
    taints: list[TaintArgs] | None = None
    """Taints of the pool's nodes, in addition to the one that the cloud sets on GPU nodes. Default: none."""
    auto_scale: AutoScaleArgs | None = None
    """Bounds for automatic scaling; fixed size without. Default: none."""
    tags: list[str] | None = None
    """Tags of the pool. Default: none."""


@dataclass
class ManagedPluginsArgs:
    """Which component installs each plug-in: DigitalOcean (`managed`) or this stack's operators (`operator`)."""

    gpu: str | None = None
    """Who advertises the GPUs. One of managed, operator, dra. Default: managed."""
    rdma: str | None = None
    """The RDMA shared device plug-in. One of managed, off. Default: managed."""
    metrics_exporter: bool | None = None
    """AMD's managed metrics exporter. Default: no."""


@dataclass
class DoksKubeconfigArgs:
    """Authentication of the stack at the cluster that it creates."""

    mode: str | None = None
    """`token`: the API token, which does not expire; `exec`: doctl; `raw`: DOKS' own, good for 7 days. Default:
    token."""
    expire_seconds: int | None = None
    """Lifetime of a `raw` kubeconfig; 0: the provider's 7 days. At least 0. Default: 0."""


@dataclass
class ControlPlaneFirewallArgs:
    """Ranges that may reach the API server."""

    allowed: list[str]
    """Ranges that may; must hold the deployer's own."""


@dataclass
class SingleSignOnArgs:
    """Sign-on through an identity provider."""

    issuer_url: str
    """The identity provider."""
    client_id: str
    """Id of the client there."""
    required: bool | None = None
    """Whether tokens stop working. Default: no."""


@dataclass
class DoksClusterArgs:
    """A DigitalOcean Kubernetes cluster with GPU pools on a fabric."""

    region: str
    """Region, such as atl1."""
    version: str
    """Kubernetes version: an exact slug such as 1.35.1-do.6, or 1.35."""
    pools: list[DoksPoolArgs]
    """The GPU pools."""
    token: pulumi.Input[str] | None = None
    """API token of DigitalOcean, which is kept as a secret; an Output of another resource works. Default: none, and a
    provider of the package digitalocean is required in the options."""
    shapes: dict[str, ShapeArgs] | None = None
    """Machine types that are not in the catalog, by name, with the catalog's fields. Default: none."""
    ranges: RangesArgs | None = None
    """Ranges that the cluster already uses, which the fabric must not overlap. Default: the defaults of its fields."""
    prices: dict[str, PriceArgs] | None = None
    """Prices of machine types, by name; they take precedence over list prices. Default: none."""
    installed: list[str] | None = None
    """Software that the cluster already has, and that the stack must not install. Default: none."""
    version_applies: str | None = None
    """`at-creation`: later the cluster keeps the version it has, even if it was raised elsewhere; `always`: a higher
    version in this file upgrades the cluster, and one lower than the cluster's replaces it. Default: at-creation."""
    name: str | None = None
    """Name of the cluster and its VPC. Default: the component's."""
    vpc: VpcArgs | None = None
    """The cluster's VPC: a new one with the range `ranges.nodes`, or an existing one by id. Default: the defaults of
    its fields."""
    project: ProjectArgs | None = None
    """The project of the cluster: an existing one by id, or a new one by name. Default: none."""
    adopt: AdoptionArgs | None = None
    """Ids of existing resources that the stack adopts, and then changes and destroys as its own. Default: the defaults
    of its fields."""
    high_availability: bool | None = None
    """Several control-plane nodes; cannot be undone. Default: the version's own."""
    auto_upgrade: bool | None = None
    """Whether DigitalOcean upgrades the cluster by itself. Default: no."""
    surge_upgrade: bool | None = None
    """Whether upgrades add nodes before they remove any. Default: no."""
    maintenance: MaintenanceWindowArgs | None = None
    """When DigitalOcean may work on the cluster; the window is four hours long. Default: none."""
    registry: bool | None = None
    """Whether nodes may pull from the account's container registry. Default: no."""
    isolated_workers: bool | None = None
    """Workers without public addresses; needs a NAT gateway. Default: no."""
    system_pool: SystemPoolArgs | None = None
    """The CPU pool that is created with the cluster and runs its system pods. Default: the defaults of its fields."""
    other_pools: list[DoksOtherPoolArgs] | None = None
    """Pools outside the fabric: CPU nodes, and GPU nodes for inference. Default: none."""
    plugins: ManagedPluginsArgs | None = None
    """Which component installs each plug-in: DigitalOcean (`managed`) or this stack's operators (`operator`). Default:
    the defaults of its fields."""
    kubeconfig: DoksKubeconfigArgs | None = None
    """Authentication of the stack at the cluster that it creates. Default: the defaults of its fields."""
    control_plane_firewall: ControlPlaneFirewallArgs | None = None
    """Ranges that may reach the API server. Default: none."""
    single_sign_on: SingleSignOnArgs | None = None
    """Sign-on through an identity provider. Default: none."""
    droplet_quota: int | None = None
    """Droplets that the team may have; 25 unless raised. At least 1. Default: 25."""
    create_minutes: int | None = None
    """Time limit for creating the cluster, and for each pool; that of a change is 30 minutes. From 10 to 720. Default:
    90."""
    destroy_associated_resources: bool | None = None
    """Whether destroy also removes load balancers and volumes that the cluster created. Default: no."""
    protect: bool | None = None
    """Refuse to delete or replace VPC, cluster and GPU pools; set it in production. Default: no."""
    tags: list[str] | None = None
    """Tags of the cluster. Default: none."""


@dataclass
class RouteTablesArgs:
    """Route tables of an existing VCN, for subnets that the stack creates in it."""

    private: str | None = None
    """For subnets without public addresses: to the NAT and service gateways. Default: none."""
    public: str | None = None
    """For subnets with public addresses: to the internet gateway. Default: none."""


@dataclass
class VcnArgs:
    """The network: a new one with the range `ranges.nodes`, or an existing one by its ids."""

    id: str | None = None
    """Id of a VCN that exists, and stays on destroy. Default: none."""
    subnets: dict[str, str] | None = None
    """Ranges of subnets, where they differ from the published plan. Default: none."""
    subnet_ids: dict[str, str] | None = None
    """Ids of subnets that exist, and stay on destroy, by what they are for. Default: none."""
    route_table_ids: RouteTablesArgs | None = None
    """Route tables of an existing VCN, for subnets that the stack creates in it. Default: the defaults of its
    fields."""
    internet: bool | None = None
    """Whether nodes and pods may reach the internet, through a NAT gateway. Default: yes."""
    public_load_balancers: bool | None = None
    """Whether Services may have public load balancers: a public subnet for them. Default: no."""
    file_storage: bool | None = None
    """Whether nodes may mount file systems: a subnet, rules and policies for them. Default: no."""


@dataclass
class ApiEndpointArgs:
    """Access to the API server, which always has a private address."""

    public: bool | None = None
    """Whether it has a public address as well. Default: no."""
    allowed: list[str] | None = None
    """Ranges that may reach it from outside. Default: none."""


@dataclass
class FlexPoolArgs:
    """The CPU pool for system pods; a node pool that Oracle manages."""

    shape: str | None = None
    """A CPU shape. Default: VM.Standard.E5.Flex."""
    ocpus: int | None = None
    """OCPUs of a node. From 1 to 126. Default: 4."""
    memory_gib: int | None = None
    """Memory of a node in GiB. From 1 to 2098. Default: 16."""
    nodes: int | None = None
    """Number of CPU nodes. From 1 to 1000. Default: 3."""
    boot_volume_gib: int | None = None
    """Size of the boot volume in GiB. From 50 to 32768. Default: 128."""
    image_id: str | None = None
    """Id of the machine image. Default: Oracle's newest for the Kubernetes version."""


@dataclass
class BootVolumeArgs:
    """The boot volume of a node."""

    size_gib: int | None = None
    """Size in GiB. From 50 to 32768. Default: 512."""
    vpus_per_gib: int | None = None
    """Performance units per GiB. One of 0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120. Default: 10."""


@dataclass
class BootStepsArgs:
    """Bash that a node runs before and after it joins; a failed step is logged, and the node continues."""

    before_join: str | None = None
    """What to run before. Default: none."""
    after_join: str | None = None
    """What to run afterwards. Default: none."""


@dataclass
class OkePoolArgs:
    """A pool of GPU machines."""

    name: str
    """Name of the pool, unique among the pools."""
    shape: str
    """Machine type from the catalog or from `shapes`; `gpu-fabric shapes` lists them."""
    nodes: int
    """Number of GPU nodes in the pool. From 1 to 8192."""
    labels: dict[str, str] | None = None
    """Labels the pool's nodes carry; jobs select by those that all pools have in common. Default: none."""
    taints: list[TaintArgs] | None = None
    """Taints of the pool's nodes. Default: the GPU vendor's, such as nvidia.com/gpu."""
    node_names: list[str] | None = None
    """Names of the nodes, in order; with them each node's share of the layout per-node is pinned, and each host's own
    address (hostPreparation.addresses); gpu-[001-064] stands for 64 names, and an empty name keeps the place of a
    removed node. Default: none."""
    first_share: int | None = None
    """With nodeNames, and the layout `per-node` or hostPreparation.addresses: number of the first node's share or host
    address; stated, the pool keeps its addresses when a pool before it grows. From 0 to 65535. Default: none."""
    placement: str | None = None
    """The OCI construct that holds the machines; it decides about RDMA, growth and replacement. One of
    cluster-network, compute-cluster, compute-cluster-instances, instance-pool, gpu-memory-cluster. Default:
    cluster-network."""
    image_id: str | None = None
    """Id of the machine image. Default: none."""
    image_uri: str | None = None
    """Where to import the machine image from, instead of an id. Default: none."""
    boot_volume: BootVolumeArgs | None = None
    """The boot volume of a node. Default: the defaults of its fields."""
    boot: BootStepsArgs | None = None
    """Bash that a node runs before and after it joins; a failed step is logged, and the node continues. Default: the
    defaults of its fields."""
    max_pods: int | None = None
    """Pods a node may run. From 1 to 110. Default: 64."""
    availability_domain: str | None = None
    """Availability domain, such as AD-1; RDMA pools are in one. Default: none."""
    fault_domains: list[str] | None = None
    """Fault domains of the machines. Default: any."""
    capacity_reservation_id: str | None = None
    """Id of a capacity reservation. Default: none."""
    host_group_id: str | None = None
    """Id of a group of dedicated hosts. Default: none."""
    hpc_island_id: str | None = None
    """Id of the machines' HPC island. Default: none."""
    network_block_ids: list[str] | None = None
    """Ids of the machines' network blocks in the island. Default: none."""
    memory_fabric_ids: list[str] | None = None
    """Ids of memory fabrics; the nodes are spread evenly over a memory cluster on each. Default: none."""
    cycling: str | None = None
    """How a managed node pool applies changes to its nodes. One of boot-volume-replace, instance-replace. Default: not
    at all."""
    auto_scale: AutoScaleArgs | None = None
    """Bounds for Oracle's Cluster Autoscaler; fixed size without. Default: none."""


@dataclass
class OkeOtherPoolArgs:
    """A managed node pool outside the fabric, of any shape without an RDMA network."""

    name: str
    """Name of the pool, unique among all pools of the cluster."""
    nodes: int
    """Number of nodes; with autoScale, at creation only. From 0 to 1000."""
    shape: str
    """A CPU shape such as VM.Standard.E5.Flex, or a GPU shape such as VM.GPU.A10.1."""
    labels: dict[str, str] | None = None
    """Labels of the pool's nodes. Default: none."""
    taints: list[TaintArgs] | None = None
    """Taints of the pool's nodes, in addition to the one that the cloud sets on GPU nodes. Default: none."""
    auto_scale: AutoScaleArgs | None = None
    """Bounds for automatic scaling; fixed size without. Default: none."""
    ocpus: int | None = None
    """OCPUs of a node; of flexible shapes only. From 1 to 126. Default: none."""
    memory_gib: int | None = None
    """Memory of a node in GiB; of flexible shapes only. From 1 to 2098. Default: none."""
    boot_volume_gib: int | None = None
    """Size of the boot volume in GiB. From 50 to 32768. Default: 128, and 512 of machines with GPUs."""
    image_id: str | None = None
    """Id of the machine image. Default: Oracle's newest for shape and Kubernetes version."""
    max_pods: int | None = None
    """Pods a node may run. From 1 to 110. Default: 110."""
    availability_domain: str | None = None
    """Availability domain, such as AD-1, which is the default. Default: none."""
    fault_domains: list[str] | None = None
    """Fault domains of the machines. Default: any."""
    capacity_reservation_id: str | None = None
    """Id of a capacity reservation. Default: none."""
    preemptible: bool | None = None
    """Preemptible machines, which cost less and which Oracle takes back at any time. Default: no."""


@dataclass
class IdentityDomainArgs:
    """An identity domain other than the tenancy's default."""

    name: str
    """Name of the domain, as policies write it."""
    endpoint: str
    """Address of the domain, as the console shows it."""


@dataclass
class IdentityArgs:
    """Permissions of machines and services in the compartment."""

    create: bool | None = None
    """Whether the stack creates dynamic groups and policies; if not, an administrator must. Default: yes."""
    home_region: str | None = None
    """The tenancy's home region, where they are created. Default: the cluster's."""
    domain: IdentityDomainArgs | None = None
    """An identity domain other than the tenancy's default. Default: none."""
    dynamic_group_id: str | None = None
    """Id of an existing dynamic group of the GPU nodes. Default: none."""
    registry: bool | None = None
    """Whether nodes may pull from the compartment's own registry. Default: no."""


@dataclass
class ManagedAddonArgs:
    """An add-on that Oracle installs and maintains."""

    name: str
    """Name of the add-on, such as CertManager."""
    version: str | None = None
    """Its version. Default: Oracle's choice."""
    configurations: dict[str, str] | None = None
    """Its settings. Default: none."""


@dataclass
class AccessHostArgs:
    """A host through which people reach the cluster."""

    shape: str | None = None
    """A CPU shape. Default: VM.Standard.E5.Flex."""
    ocpus: int | None = None
    """OCPUs of the host. From 1 to 126. Default: 1."""
    memory_gib: int | None = None
    """Memory in GiB. From 1 to 2098. Default: 4."""
    boot_volume_gib: int | None = None
    """Size of the boot volume in GiB. From 50 to 32768. Default: 50."""
    image_id: str | None = None
    """Id of the image; the operator host's holds kubectl, Helm and the OCI command line. Default: none."""
    user: str | None = None
    """Whom the image lets in by SSH: opc on Oracle Linux, ubuntu on Ubuntu. Default: opc."""


@dataclass
class AccessArgs:
    """Access for people to machines without public addresses."""

    mode: str | None = None
    """`bastion-host`: a host with a public address, and behind it one that reaches the API server; `bastion-service`:
    Oracle's, which creates sessions on demand. One of none, bastion-host, bastion-service. Default: none."""
    allowed: list[str] | None = None
    """Ranges from which people come. Default: none."""
    ssh_public_keys: list[str] | None = None
    """Public keys of people, for the hosts and for GPU nodes that join by themselves. Default: none."""
    bastion: AccessHostArgs | None = None
    """A host through which people reach the cluster. Default: the defaults of its fields."""
    operator: AccessHostArgs | None = None
    """A host through which people reach the cluster. Default: the defaults of its fields."""
    session_seconds: int | None = None
    """How long a session of the Bastion service may last. From 1800 to 10800. Default: 10800."""


@dataclass
class OkeKubeconfigArgs:
    """Authentication of the stack at the cluster that it creates."""

    mode: str | None = None
    """`exec`: by the OCI command line, which must be installed where the stack runs; `token`: by a service account's
    token. Default: exec."""
    endpoint: str | None = None
    """Which address to use. One of private, public. Default: the public one if there is one."""


@dataclass
class OkeClusterArgs:
    """An Oracle Kubernetes Engine cluster with GPU pools on a cluster network."""

    region: str
    """Region, such as us-ashburn-1."""
    compartment_id: str
    """Id of the compartment."""
    version: str
    """Kubernetes version, such as 1.34.1."""
    pools: list[OkePoolArgs]
    """The GPU pools."""
    settings: dict[str, pulumi.Input[str]] | None = None
    """Settings of the provider `oci` by their names, such as tenancyOcid and privateKey, which are kept as secrets.
    Default: a provider of the package oci in the options, or what the provider itself finds, such as a profile of the
    OCI command line."""
    kubeconfig_token: pulumi.Input[str] | None = None
    """Token of a service account in the cluster, for a kubeconfig of mode token, which is kept as a secret. Default:
    none."""
    shapes: dict[str, ShapeArgs] | None = None
    """Machine types that are not in the catalog, by name, with the catalog's fields. Default: none."""
    ranges: RangesArgs | None = None
    """Ranges that the cluster already uses, which the fabric must not overlap. Default: the defaults of its fields."""
    prices: dict[str, PriceArgs] | None = None
    """Prices of machine types, by name; they take precedence over list prices. Default: none."""
    installed: list[str] | None = None
    """Software that the cluster already has, and that the stack must not install. Default: none."""
    tenancy_id: str | None = None
    """Id of the tenancy. Default: that of the provider's settings, oci:tenancyOcid."""
    enhanced: bool | None = None
    """An enhanced cluster, which self-managed nodes need. Default: yes."""
    cni: str | None = None
    """The pod network. One of flannel, vcn-native. Default: flannel."""
    vcn: VcnArgs | None = None
    """The network: a new one with the range `ranges.nodes`, or an existing one by its ids. Default: the defaults of
    its fields."""
    endpoint: ApiEndpointArgs | None = None
    """Access to the API server, which always has a private address. Default: the defaults of its fields."""
    system_pool: FlexPoolArgs | None = None
    """The CPU pool for system pods; a node pool that Oracle manages. Default: the defaults of its fields."""
    other_pools: list[OkeOtherPoolArgs] | None = None
    """Node pools outside the fabric: CPU nodes, GPU nodes for inference, preemptible nodes. Default: none."""
    identity: IdentityArgs | None = None
    """Permissions of machines and services in the compartment. Default: the defaults of its fields."""
    gpu_plugin: str | None = None
    """Who advertises the GPUs: Oracle's add-on (`managed`), or the GPU Operator. One of managed, operator. Default:
    the GPU Operator for NVIDIA's GPUs, Oracle's add-on for AMD's."""
    addons: list[ManagedAddonArgs] | None = None
    """Add-ons that Oracle installs and keeps. Default: none."""
    access: AccessArgs | None = None
    """Access for people to machines without public addresses. Default: the defaults of its fields."""
    kubeconfig: OkeKubeconfigArgs | None = None
    """Authentication of the stack at the cluster that it creates. Default: the defaults of its fields."""
    adopt: dict[str, str] | None = None
    """Ids of existing resources that the stack adopts and later destroys as its own, by the resources' names in the
    plan, such as cluster, vcn, subnet-workers, system-pool and pool-NAME; while a name is in the list, nothing of that
    resource is changed. Default: none."""
    kms_key_id: str | None = None
    """Id of a key that encrypts the cluster's secrets. Default: none."""
    name: str | None = None
    """Name of the cluster. Default: the component's."""
    create_minutes: int | None = None
    """Time limit for creating the cluster, and for each pool. From 30 to 720. Default: 180."""
    join_minutes: int | None = None
    """Time limit for machines to become nodes after Oracle has created them. From 10 to 720. Default: 60."""
    protect: bool | None = None
    """Refuse to delete or replace the cluster; set it in production. Default: no."""
