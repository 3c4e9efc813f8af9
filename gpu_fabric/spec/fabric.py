"""`gpu-fabric:fabric`: how NICs are attached to pods, preparation of the nodes, and NCCL's settings."""

from __future__ import annotations

import re
from operator import attrgetter
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, JsonValue, ValidationInfo, field_validator, model_validator

from gpu_fabric.base.grammar import (
    DnsLabel,
    ImageReference,
    InterfaceName,
    LineText,
    Memory,
    ObjectName,
    PciAddress,
    RdmaDevice,
    Spelled,
)
from gpu_fabric.base.repeats import require_unique
from gpu_fabric.catalog.nccl import ResilienceChoice
from gpu_fabric.catalog.shape import LinkType, PlaneCount, PlaneMode
from gpu_fabric.model import FrozenModel
from gpu_fabric.spec.addressing import AddressingSpec

# NCCL's parser of settings files copies at most this many bytes of a value.
_LONGEST = 1023

TopologyWish = Literal["auto", "none", "lean", "full"]


def _setting(value: Any) -> Any:
    """A value as text; a number may be written without quotes, and a boolean is refused: NCCL reads `true` as 0.

    Values that NCCL's parser of settings files would keep wrongly, cut or split are refused (source: NCCL,
    src/misc/param.cc).
    """
    if isinstance(value, bool):
        raise ValueError(f"{str(value).lower()} is not a value of NCCL; write 1 or 0")
    if isinstance(value, int):
        return str(value)
    if not isinstance(value, str):
        return value
    if not value:
        raise ValueError("an empty value sets nothing; leave the variable out")
    if value != value.strip() or re.search(r"[^\x20-\x7e]", value):
        raise ValueError(f"{value!r} has blanks around it or characters that are not ASCII text; NCCL would keep them")
    if len(value) > _LONGEST:
        raise ValueError(f"{len(value)} characters; NCCL reads {_LONGEST} of them from a settings file")
    return value


VariableName = Annotated[
    str,
    Spelled(r"[A-Za-z][A-Za-z0-9_]{0,126}", "name of a variable", "letters, digits and '_', such as NCCL_IB_TIMEOUT"),
]
SettingValue = Annotated[str, BeforeValidator(_setting, json_schema_input_type=str | int)]


class NcclSpec(FrozenModel):
    """NCCL's settings in the stack's jobs."""

    topology: TopologyWish = Field(
        default="auto",
        description="the topology file that jobs mount: `lean` (`cpu` and `pci` alone), `full` (also ports and links, "
        "for the shapes whose file Oracle published), `none`; `auto` is `lean` for those "
        "where pods hold virtual functions and for a shape whose tree is in the stack file, and none for all others",
    )
    settings: dict[VariableName, SettingValue] = Field(
        default={},
        description="variables of NCCL (RCCL) for the jobs of this stack, merged last; `gpu-fabric explain "
        "NCCL_IB_TC` says what a variable is and what the stack sets by itself",
    )
    version: (
        Annotated[
            str, Spelled(r"2\.[0-9]{1,3}(\.[0-9]{1,3})?", "release of NCCL", "2.MINOR or 2.MINOR.PATCH, such as 2.30.7")
        ]
        | None
    ) = Field(
        default=None,
        description="oldest release of NCCL (RCCL) in the jobs' images, such as 2.27.3, in quotes: settings that it "
        "does not have are pointed out; by default that of the vendor's tests on the release line",
    )


class LosslessSpec(FrozenModel):
    """Lossless RoCE: the traffic class that pauses instead of dropping, and the marking of its packets.

    The switches must be configured alike. A DSCP belongs to the priority of its block of eight.
    """

    priority: int = Field(default=5, ge=0, le=7, description="priority of RDMA traffic, the one with flow control")
    cnp_priority: int = Field(default=6, ge=0, le=7, description="priority of congestion notifications")
    dscp: int | None = Field(default=None, ge=0, le=63, description="mark of RDMA packets; by default 8 x priority")
    cnp_dscp: int | None = Field(
        default=None, ge=0, le=63, description="mark of congestion notifications; by default 8 x cnpPriority"
    )

    @property
    def marks(self) -> tuple[int, int]:
        """The DSCP values of RDMA packets and of congestion notifications."""
        return (
            8 * self.priority if self.dscp is None else self.dscp,
            8 * self.cnp_priority if self.cnp_dscp is None else self.cnp_dscp,
        )

    @model_validator(mode="after")
    def _marks_fit(self) -> Self:
        if self.priority == self.cnp_priority:
            raise ValueError(f"priority and cnpPriority are both {self.priority}; choose two, such as 5 and 6")
        for key, mark, priority in zip(
            ("dscp", "cnpDscp"), self.marks, (self.priority, self.cnp_priority), strict=True
        ):
            if mark // 8 != priority:
                first = 8 * priority
                raise ValueError(f"{key} {mark} is not of priority {priority}; write {first} to {first + 7}")
        return self


class HostPreparationSpec(FrozenModel):
    """Jobs on the GPU nodes, each in a privileged DaemonSet whose pods are ready if their nodes are as specified.

    Only a module option survives a restart of the node; the DaemonSets apply all other settings again.
    """

    dry_run: bool = Field(
        default=False, description="only report, in the pods' logs, what would be changed; nothing waits for it"
    )
    fabric_rule: bool = Field(
        default=False, description="a policy rule that keeps all traffic but the fabric's own off the rails"
    )
    addresses: bool = Field(
        default=False,
        description="an address for every rail's NIC, out of the plan's reserved ones, with MTU and its own route "
        "table; needs nodeNames",
    )
    lossless: LosslessSpec | None = Field(
        default=None, description="RoCE flow control and congestion notification; `{}` for priority 5 and 6"
    )
    disable_acs: bool = Field(
        default=False, description="PCI Access Control Services off, so that NICs reach GPU memory directly"
    )
    rdma_mode: bool = Field(
        default=False, description="the RDMA mode of the fabric; a reboot that it needs is announced, never carried out"
    )
    link_type: Literal["report", "change"] | None = Field(
        default=None, description="the NICs' link layer: `report` where it is another one, or `change` the firmware's"
    )
    ipoib: bool = Field(default=False, description="the module ib_ipoib, which gives InfiniBand NICs an interface")

    @property
    def jobs(self) -> tuple[str, ...]:
        """The enabled jobs, by their keys in the stack file."""
        asked = {
            "fabricRule": self.fabric_rule,
            "addresses": self.addresses,
            "lossless": self.lossless is not None,
            "disableAcs": self.disable_acs,
            "rdmaMode": self.rdma_mode,
            "linkType": self.link_type is not None,
            "ipoib": self.ipoib,
        }
        return tuple(job for job, wanted in asked.items() if wanted)


class FabricCheckSpec(FrozenModel):
    """A pod on every GPU node, which is attached to all rails and checks each of them."""

    image: ImageReference | None = Field(
        default=None, description="image with a shell and `ip`; by default the release line's"
    )


class FabricPairSpec(FrozenModel):
    """Each rail of a node is measured with a neighbour, both ways, before the node takes jobs."""

    when: Literal["boot", "request"] = Field(
        default="boot",
        description="`boot`, after each start of a node and where the annotation gpu-fabric.dev/prove asks for a "
        "proof; `request`, only there",
    )
    percent: int = Field(
        default=92, ge=10, le=100, description="percent of a rail's line rate that each direction must reach"
    )
    seconds: int = Field(default=5, ge=5, le=60, description="length of one measurement: a rail, one way")
    image: ImageReference | None = Field(
        default=None,
        description="image with a shell, `ip`, `awk`, `timeout`, `ib_write_bw` and `ib_read_bw`; by default the "
        "release line's",
    )


TaintManager = Literal["agent", "node-readiness-controller", "none"]


class FabricReadinessSpec(FrozenModel):
    """A pod on every GPU node that proves its fabric, and writes the node's condition `gpu-fabric.dev/FabricReady`.

    Jobs do not tolerate the taint of nodes that are not proven; all software that nodes need does.
    """

    taint: TaintManager = Field(
        default="agent",
        description="who keeps jobs off nodes that are not proven, by a taint: `agent`, the pod itself; "
        "`node-readiness-controller`, Kubernetes' own, which the cluster must have; `none`, the condition alone",
    )
    closes: Literal["node", "rail"] = Field(
        default="node",
        description="what a rail that fails closes to jobs: `node`, the whole node; `rail`, its NIC alone, where pods "
        "claim NICs (manager `dranet`), by a DeviceTaintRule, which the API server must serve",
    )
    startup_taint: bool = Field(
        default=True,
        description="whether nodes of pools that the stack creates join with the taint; otherwise a new node takes "
        "jobs until its pod runs",
    )
    seconds: int = Field(default=30, ge=10, le=600, description="pause between two looks at a node")
    image: ImageReference | None = Field(
        default=None, description="image with Python 3.10 or newer and `ip`; by default the release line's"
    )
    lost_nics: bool = Field(
        default=False,
        description="whether a NIC that moves into pods must be on the host while no pod of the node asks for it; the "
        "account of the pods may then list all pods of the cluster",
    )
    pair: FabricPairSpec | None = Field(
        default=None,
        description="nodes are measured with a neighbour before they take jobs; `{}` for its defaults",
    )


Model = Literal["host-device", "macvlan", "sriov", "ib-sriov", "ipoib", "host-network", "rdma-device"]
Manager = Literal["amd-network-operator", "cloud", "doks", "dranet", "network-operator", "spiderpool"]
RdmaMode = Literal["shared", "exclusive"]
ClaimSize = Literal["node", "numa-node", "pci-root", "pair", "repair"]
VirtualFunctions = Literal["node-image", "daemon-set", "sriov-operator", "externally-managed"]
NetworkReference = Annotated[
    str,
    Spelled(
        r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?/[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?",
        "network",
        "namespace/name in lower case, such as kube-system/calico",
    ),
]


class RailOverrideSpec(FrozenModel):
    """Values of one rail that replace or complete those of the shape."""

    rail: int = Field(ge=0, le=63, description="number of the rail, from 0")
    pci: PciAddress | None = Field(default=None, description="PCI address of the NIC")
    interface: InterfaceName | None = Field(default=None, description="network interface on the host")
    rdma_device: RdmaDevice | None = Field(default=None, description="RDMA device on the host")
    nearest_gpu: int | None = Field(default=None, ge=0, description="number of the nearest GPU")
    network: DnsLabel | None = Field(default=None, description="name of the rail's network and pool")
    resource: LineText | None = Field(default=None, description="name of the rail's resource, without prefix")


class ClaimsSpec(FrozenModel):
    """Claims, by which DRA drivers give pods their NICs and GPUs (manager `dranet`)."""

    sizes: Annotated[tuple[ClaimSize, ...], require_unique(str, "{} is listed twice; list each size once")] = Field(
        default=("node",),
        min_length=1,
        description="what a pod can claim, a template for each: `node`, all NICs of a node; `numa-node`, those of one "
        "NUMA node, without GPUs; `pci-root`, one GPU and all NICs of its PCI root; `pair`, one GPU and one NIC of its "
        "PCI root; `repair`, as `node`, also with NICs on rails that `fabric.readiness` has closed; the first is what "
        "pods get by default",
    )
    gpus: Literal["plugin", "claims"] = Field(
        default="plugin",
        description="how pods get GPUs: `plugin`, by the device plug-in, as an extended resource; `claims`, with their "
        "NICs in one claim, by the GPU vendor's DRA driver (`software.gpuDraDriver`: NVIDIA's; "
        "`software.amdGpuOperator`: AMD's)",
    )
    nri: bool = Field(
        default=False,
        description="states that the nodes' container runtime has NRI on, by which DRANET moves NICs: containerd 2 has "
        "by default, containerd 1.7 has not; the stack never changes or restarts the runtime",
    )
    interface_names: Literal["host", "rails"] = Field(
        default="host",
        description="names of the interfaces in pods that claim a whole node: `host`, as on the node; `rails`, net1 "
        "for rail 0 and so on",
    )
    parameters: dict[str, JsonValue] = Field(
        default={},
        description="DRANET's own configuration of each claimed NIC, such as `{interface: {gsoMaxSize: 65536}}`; keys "
        "that its version does not know are refused",
    )


class DomainsSpec(FrozenModel):
    """Racks whose nodes NVLink connects, each with a ComputeDomain, by which a job's pods get an IMEX channel."""

    imex: Literal["driver", "host"] = Field(
        default="driver",
        description="what runs the IMEX daemon of a node: `driver`, NVIDIA's DRA driver; `host`, the node's own "
        "service nvidia-imex, which the driver's version must know",
    )
    service_masked: bool = Field(
        default=False,
        description="states that the nodes' own service nvidia-imex is disabled and masked, or not installed; the "
        "stack never changes it",
    )
    namespace: DnsLabel | None = Field(
        default=None,
        description="the one of `namespaces` whose jobs use NVLink between nodes; by default the first. A second "
        "domain in a rack would disturb the first",
    )


class PlanesSpec(FrozenModel):
    """Planes: separate fabrics over which each NIC of own machines is split, by NVIDIA's Spectrum-X operator."""

    mode: PlaneMode = Field(
        default="none",
        description="`none`: a NIC has one plane; `swplb`: software balances the load, and pods get an interface a "
        "rail and plane; `hwplb`: the NIC does, and pods get an interface a rail",
    )
    count: PlaneCount = Field(default=1, description="planes of each NIC: 2 or 4 with a mode, as the machine allows")
    profile: ObjectName | None = Field(
        default=None,
        description="ConfigMap with NVIDIA's Spectrum-X profile, in the namespace of the Network Operator; the cluster "
        "must have it before `up`",
    )

    @property
    def shown(self) -> int:
        """The interfaces of one NIC, each a rail of the plan."""
        return self.count if self.mode == "swplb" else 1

    @model_validator(mode="after")
    def _count_fits_mode(self) -> Self:
        if self.mode == "none" and (self.count != 1 or self.profile is not None):
            raise ValueError(
                "count and profile have no effect with mode none; write mode: swplb or hwplb, or leave out"
            )
        if self.mode != "none" and self.count == 1:
            raise ValueError(f"{self.mode} splits each NIC over 2 or 4 planes; write count: 2 or count: 4")
        return self


class DpdkSpec(FrozenModel):
    """Resources of a DPDK pod besides its NICs; requests equal limits, so that the pod gets exclusive processors."""

    huge_pages: Memory = Field(description="memory in huge pages, such as 4Gi")
    page_size: Literal["2Mi", "1Gi"] = Field(default="1Gi", description="size of the pages that the nodes reserve")
    cpus: int = Field(ge=1, description="processors of the container, which a static CPU manager gives it alone")
    memory: Memory = Field(description="ordinary memory of the container, such as 8Gi")


class NamespaceShareSpec(FrozenModel):
    """A namespace's share of the GPU nodes, with their GPUs, NICs and addresses."""

    nodes: int = Field(ge=1, description="GPU nodes that the namespace's jobs can have at any time")
    most_nodes: int | None = Field(
        default=None,
        description="GPU nodes that they can have while others do not use theirs; by default no more than `nodes`",
    )

    @field_validator("most_nodes")
    @classmethod
    def _most_is_no_less(cls, value: int | None, info: ValidationInfo) -> int | None:
        nodes = info.data.get("nodes")
        if value is not None and nodes is not None and value < nodes:
            raise ValueError(f"{value} is less than nodes: {nodes}; write {nodes} or more, or leave it out")
        return value

    @property
    def most(self) -> int:
        """GPU nodes that the namespace's jobs can have at most."""
        return self.most_nodes or self.nodes


class OfferedNamespaceSpec(FrozenModel):
    """A namespace in which jobs can attach to the fabric; `create` makes it part of the stack."""

    name: DnsLabel = Field(description="name of the namespace")
    create: bool = Field(
        default=False, description="whether the stack creates the namespace, and deletes it on destroy"
    )
    share: NamespaceShareSpec | None = Field(
        default=None,
        description="the namespace's own share of the GPU nodes, by a quota and in the queues of schedulers; by "
        "default it shares what others leave",
    )


def _name_alone(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


NamespaceEntry = Annotated[
    OfferedNamespaceSpec, BeforeValidator(_name_alone, json_schema_input_type=str | OfferedNamespaceSpec)
]


class FabricSpec(FrozenModel):
    """The RDMA fabric and its attachment to pods."""

    model: Model | None = Field(
        default=None,
        description="how a NIC gets into a pod; by default `sriov`, on DOKS `host-device`, with a profile the cloud's",
    )
    manager: Manager | None = Field(
        default=None,
        description="who installs and drives the fabric software; by default `network-operator`, on DOKS `doks`, with "
        "`cluster.profile` the `cloud`",
    )
    rdma_mode: RdmaMode | None = Field(
        default=None,
        description="RDMA network-namespace mode that the nodes run in; `exclusive` moves the RDMA device into the "
        "pod; by default the one that the model needs",
    )
    link_type: LinkType | None = Field(
        default=None, description="link layer of the RDMA NICs; by default the shape's own"
    )
    mtu: int | None = Field(default=None, ge=1280, le=9216, description="bytes; by default the shape's own")
    vfs_per_nic: int | None = Field(
        default=None, ge=0, le=128, description="virtual functions per NIC; by default the shape's own"
    )
    virtual_functions: VirtualFunctions | None = Field(
        default=None,
        description="what creates virtual functions: `node-image`; `daemon-set`, one of this stack; `sriov-operator`, "
        "which advertises them too; `externally-managed`, where the cloud creates them and the SR-IOV operator does "
        "the rest; by default `node-image`, on servers that come without functions `daemon-set`, and with Spiderpool "
        "`sriov-operator`",
    )
    devices: Literal["plugin", "claims"] = Field(
        default="plugin",
        description="what answers pods that request virtual functions of the Network Operator's SR-IOV operator: "
        "`plugin`, its device plug-in; `claims`, its DRA driver, by the same names of resources, so that jobs stay as "
        "they are (Kubernetes 1.36 and newer). With the manager `cloud`: what hands out the cloud's NICs",
    )
    planes: PlanesSpec = PlanesSpec()
    dpdk: DpdkSpec | None = Field(
        default=None, description="for pods that drive the NICs from user space: huge pages, processors and memory"
    )
    pods_per_nic: int = Field(
        default=1, ge=1, le=1000, description="pods that share one NIC, in models that share it (macvlan, ipoib)"
    )
    pkey: (
        Annotated[
            str,
            Spelled(
                r"0x([0-9][0-9a-fA-F]{0,2}|[0-7][0-9a-fA-F]{3})",
                "partition key",
                "0x0 to 0x7fff in quotes, with a digit after the x",
            ),
        ]
        | None
    ) = Field(default=None, description="InfiniBand partition key, 0x0 to 0x7fff, with a digit after the x")
    prefix: (
        Annotated[
            str,
            Spelled(
                r"[a-z]([-a-z0-9]{0,13}[a-z0-9])?",
                "beginning of names",
                "at most 15 lower-case letters, digits and '-', the first a letter, such as team-a",
            ),
        ]
        | None
    ) = Field(
        default=None,
        description="beginning of the names of networks, pools, policies and everything else that is named per stack, "
        "followed by a dash; tells the objects of several stacks on one cluster apart. Resources keep their names",
    )
    rails: Annotated[
        tuple[RailOverrideSpec, ...], require_unique(attrgetter("rail"), "rail {} is listed twice; list each rail once")
    ] = Field(default=(), description="what differs on single rails from the shape")
    addressing: AddressingSpec = AddressingSpec()
    claims: ClaimsSpec | None = Field(
        default=None,
        description="what pods claim with the manager `dranet`; by default all NICs of a node, with GPUs of the device "
        "plug-in",
    )
    domains: DomainsSpec | None = Field(
        default=None,
        description="NVLink between the nodes of a rack (GB200, GB300), by NVIDIA's DRA driver "
        "(`software.gpuDraDriver`); each pool is a rack. Without it jobs use the rails between all nodes",
    )
    default_network: NetworkReference | None = Field(
        default=None,
        description="network of the pods' own first interface, as namespace/name; by default the cluster's default",
    )
    host_preparation: HostPreparationSpec = HostPreparationSpec()
    nccl: NcclSpec = NcclSpec()
    resilience: ResilienceChoice = Field(
        default="default",
        description="what jobs do when a link fails: `default`, as the shape's settings and NCCL's own have it; "
        "`fail-fast`, end within seconds; `ride-out-flaps`, wait two minutes for it; `port-failover`, go on over the "
        "other port of the GPU's adapter (NCCL 2.29.7 or later)",
    )
    check: FabricCheckSpec | None = Field(
        default=None, description="a DaemonSet that is attached to all rails and checks each; `{}` for its defaults"
    )
    readiness: FabricReadinessSpec | None = Field(
        default=None,
        description="nodes take jobs once their fabric is proven, and no more when it fails; `{}` for its defaults",
    )
    namespaces: Annotated[
        tuple[NamespaceEntry, ...], require_unique(attrgetter("name"), "{} is listed twice; list each namespace once")
    ] = Field(
        default=(OfferedNamespaceSpec(name="default"),),
        min_length=1,
        description="where networks are offered: names of namespaces that exist, or {name, create: true} for new ones",
    )
