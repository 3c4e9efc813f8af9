"""Kinds and statuses that the operators write, and on which the program only waits."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from gpu_fabric.k8s.base import KubernetesModel, KubernetesObject
from gpu_fabric.k8s.kueue import ClusterQueue, LocalQueue
from gpu_fabric.k8s.mellanox import NicClusterPolicy, NicNodePolicy
from gpu_fabric.k8s.nv_ipam import CIDRPool, IPPool
from gpu_fabric.k8s.scheduling import EnvVar, Toleration
from gpu_fabric.k8s.spiderpool import SpiderCoordinator, SpiderIPPool
from gpu_fabric.k8s.sriov_operator import RdmaMode
from sandbox.chart_kinds import Condition


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


SyncStatus = Literal["InProgress", "Succeeded", "Failed"]
LinkType = Literal["ETH", "IB"]


class VirtualFunction(KubernetesModel):
    """One virtual function; `vf_id` counts from 0 on its physical function."""

    vf_id: int = Field(ge=0)
    pci_address: str
    name: str | None = None
    vendor: str | None = None
    device_id: str | None = None
    driver: str | None = None
    mac: str | None = None
    mtu: int | None = None
    guid: str | None = None
    # The operator spells this name and two of PhysicalFunction's against the habit.
    vlan: int | None = Field(default=None, validation_alias="Vlan", serialization_alias="Vlan")


class PhysicalFunction(KubernetesModel):
    """One NIC port; `total_vfs` is what its firmware allows, `num_vfs` what is there."""

    pci_address: str
    name: str | None = None
    vendor: str | None = None
    device_id: str | None = None
    driver: str | None = None
    link_type: LinkType | None = None
    mac: str | None = None
    mtu: int | None = None
    e_switch_mode: str | None = None
    externally_managed: bool | None = None
    num_vfs: int | None = None
    total_vfs: int | None = Field(default=None, validation_alias="totalvfs", serialization_alias="totalvfs")
    vfs: tuple[VirtualFunction, ...] | None = Field(default=None, validation_alias="Vfs", serialization_alias="Vfs")


class FunctionGroup(KubernetesModel):
    """Virtual functions of one resource on a NIC port, and the node policy that asks for them."""

    policy_name: str | None = None
    resource_name: str | None = None
    vf_range: str | None = None
    device_type: str | None = None
    mtu: int | None = None
    is_rdma: bool | None = None


class WantedInterface(KubernetesModel):
    """What the node policies together ask of one NIC port."""

    pci_address: str
    name: str | None = None
    num_vfs: int | None = None
    mtu: int | None = None
    link_type: str | None = None
    externally_managed: bool | None = None
    vf_groups: tuple[FunctionGroup, ...] | None = None


class NodeSystem(KubernetesModel):
    """Settings of the whole node."""

    rdma_mode: RdmaMode | None = None


class SriovNetworkNodeStateSpec(KubernetesModel):
    """What the operator asks of the node's daemon."""

    interfaces: tuple[WantedInterface, ...] | None = None
    system: NodeSystem | None = None


class SriovNetworkNodeStateStatus(KubernetesModel):
    """What is there; wait for `sync_status` Succeeded, and on Failed read `last_sync_error`."""

    sync_status: SyncStatus | None = None
    last_sync_error: str | None = None
    interfaces: tuple[PhysicalFunction, ...] | None = None
    system: NodeSystem | None = None


class SriovNetworkNodeState(KubernetesObject, api_version="sriovnetwork.openshift.io/v1"):
    """A node by its name, in the operator's namespace; written by the operator, never by the program."""

    spec: SriovNetworkNodeStateSpec | None = None
    status: SriovNetworkNodeStateStatus | None = None


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


class SpiderCoordinatorStatus(KubernetesModel):
    """What the controller found out about the cluster's own ranges; `reason` says why it could not."""

    phase: str
    reason: str | None = None
    overlay_pod_cidr: tuple[str, ...] | None = None
    service_cidr: tuple[str, ...] | None = None


class SpiderIPPoolStatus(KubernetesModel):
    """What the controller counted; `allocated_ips` is JSON text."""

    allocated_ips: str | None = None
    total_ip_count: int | None = Field(default=None, ge=0)
    allocated_ip_count: int | None = Field(default=None, ge=0)


class QueueStatus(KubernetesModel):
    """The controller's counts."""

    conditions: tuple[Condition, ...] | None = None
    pending_workloads: int | None = None
    reserving_workloads: int | None = None
    admitted_workloads: int | None = None


STATUSES: dict[type[KubernetesObject], type[KubernetesModel]] = {
    NicClusterPolicy: PolicyStatus,
    NicNodePolicy: PolicyStatus,
    IPPool: IPPoolStatus,
    CIDRPool: CIDRPoolStatus,
    SpiderCoordinator: SpiderCoordinatorStatus,
    SpiderIPPool: SpiderIPPoolStatus,
    ClusterQueue: QueueStatus,
    LocalQueue: QueueStatus,
}
"""The statuses of kinds whose other fields the program writes."""
