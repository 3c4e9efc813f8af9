"""amd.com/v1alpha1: NetworkConfig of AMD's Network Operator and DeviceConfig of AMD's GPU Operator.

Sources (ROCm): network-operator v1.2.0, helm-charts-k8s/crds/networkconfig-crd.yaml and internal/validator;
gpu-operator v1.5.1, helm-charts-k8s/crds/deviceconfig-crd.yaml and internal/validator/specValidators.go.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from gpu_fabric.base.grammar import is_label_value
from gpu_fabric.k8s.base import KubernetesModel, KubernetesObject
from gpu_fabric.k8s.core import LocalReference
from gpu_fabric.k8s.field_types import SortedTexts
from gpu_fabric.k8s.scheduling import Toleration

_API_VERSION = "amd.com/v1alpha1"

ImageText = Annotated[
    str,
    Field(
        pattern=r"^([a-z0-9]+(?:[._-][a-z0-9]+)*(:[0-9]+)?)(/[a-z0-9]+(?:[._-][a-z0-9]+)*)*(?::[a-z0-9._-]+)?"
        r"(?:@[a-zA-Z0-9]+:[a-f0-9]+)?$"
    ),
]
"""An image reference; both definitions allow lower-case letters alone in its tag."""


class Driver(KubernetesModel):
    """The kernel modules, which the operator builds and loads by KMM; off where the nodes' image has them."""

    enable: bool


class Switched(KubernetesModel):
    """An operand that can be switched off, with its image and how its pods are scheduled and pulled."""

    enable: bool
    image: ImageText | None = None
    image_registry_secret: LocalReference | None = None
    tolerations: tuple[Toleration, ...] | None = None


class ServiceMonitor(KubernetesModel):
    """The object by which the Prometheus operator finds an exporter."""

    enable: bool


class Prometheus(KubernetesModel):
    """How Prometheus finds an exporter."""

    service_monitor: ServiceMonitor


class MetricsExporter(Switched):
    """The exporter of metrics, with the Service before it."""

    port: int | None = Field(default=None, ge=1, le=65535)
    service_type: Literal["ClusterIP", "NodePort"] | None = None
    node_port: int | None = Field(default=None, ge=30000, le=32767)
    prometheus: Prometheus | None = None

    @model_validator(mode="after")
    def _node_port_is_of_its_type(self) -> Self:
        if self.node_port is not None and self.service_type != "NodePort":
            raise ValueError("nodePort has an effect only with serviceType: NodePort; leave it out, or write the type")
        return self


class SecondaryNetwork(KubernetesModel):
    """The CNI plug-ins that the operator copies to the nodes, `amd-host-device` among them."""

    cni_plugins: Switched


class UtilsContainer(KubernetesModel):
    """The pod that the operator starts on a node to look at its driver."""

    image: ImageText
    image_registry_secret: LocalReference | None = None


class CommonConfig(KubernetesModel):
    """Images that several operands have."""

    init_container_image: str | None = None
    utils_container: UtilsContainer | None = None


class _Selecting(KubernetesModel):
    """A specification for the nodes with some labels."""

    driver: Driver
    metrics_exporter: MetricsExporter | None = None
    common_config: CommonConfig | None = None
    selector: SortedTexts

    @field_validator("selector")
    @classmethod
    def _selects_some_nodes(cls, value: dict[str, str]) -> dict[str, str]:
        if not value:
            raise ValueError("selector is empty, and would select every node of the cluster; write the nodes' labels")
        for key, label in value.items():
            if not is_label_value(label):
                raise ValueError(f"selector {key}={label!r} is not a value that a label can have")
        return value


class NicDevicePlugin(KubernetesModel):
    """The device plug-in of NICs, which always runs, and the node labeller."""

    enable_node_labeller: bool
    device_plugin_image: ImageText | None = None
    node_labeller_image: ImageText | None = None
    device_plugin_tolerations: tuple[Toleration, ...] | None = None
    node_labeller_tolerations: tuple[Toleration, ...] | None = None
    image_registry_secret: LocalReference | None = None


class NetworkConfigSpec(_Selecting):
    """The operands of nodes with AMD's NICs; no other NetworkConfig may select one of the nodes."""

    device_plugin: NicDevicePlugin
    secondary_network: SecondaryNetwork | None = None


class NetworkConfig(KubernetesObject, api_version=_API_VERSION):
    """What AMD's Network Operator runs on nodes with AMD's NICs."""

    spec: NetworkConfigSpec


class GpuDevicePlugin(KubernetesModel):
    """The device plug-in of GPUs and the node labeller."""

    enable_device_plugin: bool
    enable_node_labeller: bool
    device_plugin_image: ImageText | None = None
    node_labeller_image: ImageText | None = None
    device_plugin_tolerations: tuple[Toleration, ...] | None = None
    node_labeller_tolerations: tuple[Toleration, ...] | None = None


class GpuCommonConfig(CommonConfig):
    """The same for GPUs, with the Secrets by which all operands are pulled."""

    image_registry_secrets: tuple[LocalReference, ...] | None = None


class DeviceConfigSpec(_Selecting):
    """The operands of nodes with AMD's GPUs; no other DeviceConfig may select one of the nodes."""

    device_plugin: GpuDevicePlugin
    dra_driver: Switched
    common_config: GpuCommonConfig | None = None

    @model_validator(mode="after")
    def _gpus_have_one_owner(self) -> Self:
        if self.device_plugin.enable_device_plugin and self.dra_driver.enable:
            raise ValueError(
                "devicePlugin.enableDevicePlugin and draDriver.enable are both true, and the operator refuses that: "
                "each hands out every GPU; write one of them"
            )
        return self


class DeviceConfig(KubernetesObject, api_version=_API_VERSION):
    """What AMD's GPU Operator runs on nodes with AMD's GPUs."""

    spec: DeviceConfigSpec
