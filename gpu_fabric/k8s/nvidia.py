"""nvidia.com/v1: the ClusterPolicy of the GPU Operator's chart, with the fields that the program uses."""

from typing import Literal

from pydantic import Field

from gpu_fabric.k8s.base import Condition, KubernetesModel, KubernetesObject
from gpu_fabric.k8s.scheduling import EnvVar, Toleration

CLUSTER_POLICY_NAME = "cluster-policy"
"""The name of the chart's only ClusterPolicy."""


GPU_TOLERATION = Toleration(key="nvidia.com/gpu", operator="Exists", effect="NoSchedule")
"""Default tolerations of the operands of NVIDIA's operators, and of Node Feature Discovery's worker."""


class OperandImage(KubernetesModel):
    """Image and start-up settings of an operand of the GPU Operator."""

    repository: str | None = None
    image: str | None = Field(default=None, pattern=r"^[a-zA-Z0-9-]+$")
    version: str | None = None
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] | None = None
    image_pull_secrets: tuple[str, ...] | None = None
    env: tuple[EnvVar, ...] | None = None
    args: tuple[str, ...] | None = None


class Component(OperandImage):
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
    validator: OperandImage | None = None


class ClusterPolicyStatus(KubernetesModel):
    """What the operator reports; `ignored` marks a second instance."""

    state: Literal["ready", "notReady", "ignored"]
    namespace: str | None = None
    conditions: tuple[Condition, ...] | None = None


class ClusterPolicy(
    KubernetesObject, api_version="nvidia.com/v1", scope="Cluster", printer_columns={"Status": ".status.state"}
):
    """The one policy of the GPU Operator."""

    spec: ClusterPolicySpec
    status: ClusterPolicyStatus | None = None
