"""Kinds and statuses that charts and played operators write, and on which the program only waits."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from gpu_fabric.k8s.base import KubernetesModel, KubernetesObject
from gpu_fabric.k8s.mellanox import NicClusterPolicy, NicNodePolicy
from gpu_fabric.k8s.nv_ipam import CIDRPool, IPPool
from gpu_fabric.k8s.scheduling import EnvVar, Toleration


class Condition(KubernetesModel):
    """A condition in the form that all Kubernetes controllers use."""

    type: str = Field(min_length=1, max_length=316)
    status: Literal["True", "False", "Unknown"]
    reason: str = Field(min_length=1, max_length=1024)
    message: str = Field(max_length=32768)
    last_transition_time: str
    observed_generation: int | None = Field(default=None, ge=0)


class GpuOperandImage(KubernetesModel):
    """Image and start-up settings of an operand of the GPU Operator."""

    repository: str | None = None
    image: str | None = Field(default=None, pattern=r"^[a-zA-Z0-9-]+$")
    version: str | None = None
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] | None = None
    image_pull_secrets: tuple[str, ...] | None = None
    env: tuple[EnvVar, ...] | None = None
    args: tuple[str, ...] | None = None


class Component(GpuOperandImage):
    """An operand that can be switched off."""

    enabled: bool | None = None


class Operator(KubernetesModel):
    """Settings of the operator itself."""

    runtime_class: str | None = None


class RollingUpdate(KubernetesModel):
    """How many pods of an operand may be down: a number or a percentage, as text."""

    max_unavailable: str | None = None


class Daemonsets(KubernetesModel):
    """Settings common to all operand DaemonSets."""

    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    priority_class_name: str | None = None
    tolerations: tuple[Toleration, ...] | None = None
    update_strategy: Literal["RollingUpdate", "OnDelete"] | None = None
    rolling_update: RollingUpdate | None = None


class DriverRdma(KubernetesModel):
    """GPUDirect RDMA through nvidia-peermem."""

    enabled: bool | None = None
    use_host_mofed: bool | None = None


class Driver(Component):
    """The GPU driver container; disabled if the host image contains the driver."""

    kernel_module_type: Literal["auto", "open", "proprietary"] | None = None
    use_precompiled: bool | None = None
    rdma: DriverRdma | None = None


class Toolkit(Component):
    """The container toolkit, which sets up the container runtime."""

    install_dir: str | None = None


class ServiceMonitor(KubernetesModel):
    """A Prometheus scrape job; needs the Prometheus operator's CRDs."""

    enabled: bool | None = None
    interval: str | None = None
    additional_labels: dict[str, str] | None = None


class DcgmExporter(Component):
    """GPU metrics."""

    service_monitor: ServiceMonitor | None = None


class PluginConfig(KubernetesModel):
    """A ConfigMap with device plug-in configurations and the one to use by default."""

    name: str | None = None
    default: str | None = None


class DevicePlugin(Component):
    """Advertises GPUs."""

    config: PluginConfig | None = None


class Mig(KubernetesModel):
    """How multi-instance GPUs are advertised."""

    strategy: Literal["none", "single", "mixed"] | None = None


class Cdi(KubernetesModel):
    """The container device interface."""

    enabled: bool | None = None


class ClusterPolicySpec(KubernetesModel):
    """Operands of the GPU Operator; the sections without a default are required by the API."""

    operator: Operator
    daemonsets: Daemonsets
    driver: Driver
    toolkit: Toolkit
    device_plugin: DevicePlugin
    dcgm: Component
    dcgm_exporter: DcgmExporter
    gfd: Component
    node_status_exporter: Component
    mig: Mig | None = None
    mig_manager: Component | None = None
    cdi: Cdi | None = None
    gdrcopy: Component | None = None
    gds: Component | None = None
    validator: GpuOperandImage | None = None


class ClusterPolicyStatus(KubernetesModel):
    """What the operator reports; `ignored` marks a second instance."""

    state: Literal["ready", "notReady", "ignored"]
    namespace: str | None = None
    conditions: tuple[Condition, ...] | None = None


class ClusterPolicy(KubernetesObject, api_version="nvidia.com/v1", scope="Cluster"):
    """The one policy of the GPU Operator."""

    spec: ClusterPolicySpec
    status: ClusterPolicyStatus | None = None


class IPAllocation(KubernetesModel):
    """Who has an address: a container, and its pod as namespace/name."""

    id: str
    podref: str
    ifname: str | None = None


class WhereaboutsIPPoolSpec(KubernetesModel):
    """A range in CIDR notation, and its addresses in use by their position in it."""

    range: str
    allocations: dict[str, IPAllocation]


class WhereaboutsIPPool(KubernetesObject, api_version="whereabouts.cni.cncf.io/v1alpha1", kind="IPPool"):
    """The addresses of one range, kept by Whereabouts."""

    spec: WhereaboutsIPPoolSpec


class ReservationSpec(KubernetesModel):
    """Who has the address that the object is named after."""

    podref: str
    containerid: str | None = None
    ifname: str | None = None


class OverlappingRangeIPReservation(KubernetesObject, api_version="whereabouts.cni.cncf.io/v1alpha1"):
    """One address in use, so that ranges that overlap do not hand it out twice."""

    spec: ReservationSpec


class NodeSlicePoolSpec(KubernetesModel):
    """A range that is cut into slices of one size, one for each node."""

    range: str
    slice_size: str


class NodeSlice(KubernetesModel):
    """The slice of a node; one without a node's name is free."""

    node_name: str
    slice_range: str


class NodeSlicePoolStatus(KubernetesModel):
    """All slices of the range."""

    allocations: tuple[NodeSlice, ...]


class NodeSlicePool(KubernetesObject, api_version="whereabouts.cni.cncf.io/v1alpha1"):
    """A range shared out among the nodes, kept by Whereabouts."""

    spec: NodeSlicePoolSpec
    status: NodeSlicePoolStatus | None = None


class FeatureExpression(KubernetesModel):
    """A condition on one attribute of a feature."""

    op: Literal[
        "In", "NotIn", "InRegexp", "Exists", "DoesNotExist", "Gt", "Ge", "Lt", "Le", "GtLt", "GeLe", "IsTrue", "IsFalse"
    ]
    value: tuple[str, ...] | None = None


class FeatureMatch(KubernetesModel):
    """A feature, for example `pci.device`, and what its attributes must be."""

    feature: str
    match_expressions: dict[str, FeatureExpression] | None = None


class FeatureRule(KubernetesModel):
    """Labels for nodes on which every feature matches."""

    name: str
    labels: dict[str, str] | None = None
    match_features: tuple[FeatureMatch, ...] | None = None


class NodeFeatureRuleSpec(KubernetesModel):
    """Rules in the order of evaluation."""

    rules: tuple[FeatureRule, ...] = Field(min_length=1)


class NodeFeatureRule(KubernetesObject, api_version="nfd.k8s-sigs.io/v1alpha1", scope="Cluster"):
    """A set of labelling rules, for example the Network Operator's for NVIDIA NICs."""

    spec: NodeFeatureRuleSpec


State = Literal["ready", "notReady", "ignore", "error"]


class AppliedState(KubernetesModel):
    """The state of one operand."""

    name: str
    state: State
    message: str | None = None


class PolicyStatus(KubernetesModel):
    """What the operator reports; wait for state `ready`."""

    state: State
    reason: str | None = None
    applied_states: tuple[AppliedState, ...] | None = None


class IPPoolAllocation(KubernetesModel):
    """The block of one node."""

    node_name: str
    start_ip: str
    end_ip: str


class IPPoolStatus(KubernetesModel):
    """What the IPAM controller handed out."""

    allocations: tuple[IPPoolAllocation, ...]


class CIDRPoolAllocation(KubernetesModel):
    """The prefix of one node."""

    node_name: str
    prefix: str
    gateway: str | None = None


class CIDRPoolStatus(KubernetesModel):
    """What the IPAM controller handed out."""

    allocations: tuple[CIDRPoolAllocation, ...]


STATUSES: dict[type[KubernetesObject], type[KubernetesModel]] = {
    NicClusterPolicy: PolicyStatus,
    NicNodePolicy: PolicyStatus,
    IPPool: IPPoolStatus,
    CIDRPool: CIDRPoolStatus,
}
"""The statuses of kinds whose other fields the program writes."""
