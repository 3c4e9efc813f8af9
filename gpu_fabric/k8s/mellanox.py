"""mellanox.com/v1alpha1: NicClusterPolicy and NicNodePolicy, which configure the Network Operator (line 26.4)."""

import re
from typing import Annotated, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from gpu_fabric.base.grammar import ImageMirror
from gpu_fabric.k8s.base import KubernetesModel, KubernetesObject
from gpu_fabric.k8s.device_plugin import RdmaSharedDevicePluginConfig, SriovDevicePluginConfig
from gpu_fabric.k8s.scheduling import EnvVar, NodeAffinity, Toleration, vendor_label

_API_VERSION = "mellanox.com/v1alpha1"

NIC_CLUSTER_POLICY_NAME = "nic-cluster-policy"
"""The only name that the operator reconciles; any other object gets state `ignore`."""

NVIDIA = "15b3"
"""PCI vendor id of NVIDIA's NICs."""

NIC_LABEL = vendor_label(NVIDIA)
"""Written by Node Feature Discovery on nodes with NVIDIA's NICs; the operator's DaemonSets select nodes by it."""

ImageName = Annotated[str, Field(pattern=r"^[a-zA-Z0-9-]+$")]

_OFED_VERSION = re.compile(
    r"([0-9]+\.[0-9]+-[0-9]+(\.[0-9]+){3}(-[0-9]+.*)?|doca[0-9]+\.[0-9]+(\.[0-9]+)?-[0-9]+\.[0-9]+-[0-9]+(\.[0-9]+){3}-[0-9]+.*|sha256:[0-9a-f]{64})"
)
_GUID = re.compile(r"[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){7}")


class OperandImage(KubernetesModel):
    """The image of an operand."""

    image: ImageName
    # The CRD's pattern has no anchors, so it matches any name; the operator's webhook validates names as runtimes do.
    # Source: the operator's CRD of NicClusterPolicy and its validator.
    repository: ImageMirror
    version: str
    image_pull_secrets: tuple[str, ...] | None = Field(
        default=None, description="Names of Secrets in the operator's namespace."
    )


class OfedDriver(OperandImage):
    """The DOCA-OFED driver container; left out if the host image contains the driver."""

    env: tuple[EnvVar, ...] | None = None

    @field_validator("version")
    @classmethod
    def _version(cls, value: str) -> str:
        if not _OFED_VERSION.fullmatch(value):
            raise ValueError(
                f"ofedDriver version {value!r}: allowed are YY.MM-a.b.c.d, YY.MM-a.b.c.d-n, "
                "docaX.Y.Z-YY.MM-a.b.c.d-n and sha256:<digest>"
            )
        return value


def _config_of(model: type[KubernetesModel]) -> AfterValidator:
    """Checks a text as the JSON of a device plug-in's configuration."""

    def check(value: str) -> str:
        model.model_validate_json(value)
        return value

    return AfterValidator(check)


class RdmaSharedDevicePlugin(OperandImage):
    """Shares whole NICs between pods; refuses to start where the RDMA mode is exclusive."""

    config: Annotated[str, _config_of(RdmaSharedDevicePluginConfig)] | None = Field(
        default=None, description="RdmaSharedDevicePluginConfig as JSON text."
    )


class SriovDevicePlugin(OperandImage):
    """Advertises virtual functions as extended resources."""

    config: Annotated[str, _config_of(SriovDevicePluginConfig)] | None = Field(
        default=None, description="SriovDevicePluginConfig as JSON text."
    )


class IbKubernetes(OperandImage):
    """Assigns InfiniBand partition keys through UFM."""

    p_key_guid_pool_range_start: str
    p_key_guid_pool_range_end: str
    ufm_secret: str

    @model_validator(mode="after")
    def _guid_range(self) -> Self:
        for guid in (self.p_key_guid_pool_range_start, self.p_key_guid_pool_range_end):
            if not _GUID.fullmatch(guid):
                raise ValueError(
                    f"{guid!r} is not a GUID: write eight bytes as hex with colons, 02:00:00:00:00:00:00:00"
                )
        if self.p_key_guid_pool_range_start.lower() >= self.p_key_guid_pool_range_end.lower():
            raise ValueError("pKeyGUIDPoolRangeStart must be before pKeyGUIDPoolRangeEnd")
        return self


class SecondaryNetwork(KubernetesModel):
    """What pods need for a second interface."""

    multus: OperandImage | None = None
    cni_plugins: OperandImage | None = None
    ipoib: OperandImage | None = None


class NvIpamOperand(OperandImage):
    """NVIDIA's IPAM; its webhook needs cert-manager or own certificates."""

    enable_webhook: bool | None = None


class NicConfigurationOperator(KubernetesModel):
    """Configures the NICs' firmware by objects of its own."""

    operator: OperandImage
    configuration_daemon: OperandImage


class SpectrumXOperator(OperandImage):
    """Makes rails and planes; the service xPlane is needed where the NICs balance the load over planes."""

    x_plane: OperandImage | None = None


class NicClusterPolicySpec(KubernetesModel):
    """Operands to run; a section that is left out is not deployed."""

    tolerations: tuple[Toleration, ...] | None = None
    node_affinity: NodeAffinity | None = None
    ofed_driver: OfedDriver | None = None
    rdma_shared_device_plugin: RdmaSharedDevicePlugin | None = None
    sriov_device_plugin: SriovDevicePlugin | None = None
    ib_kubernetes: IbKubernetes | None = None
    secondary_network: SecondaryNetwork | None = None
    nv_ipam: NvIpamOperand | None = None
    nic_configuration_operator: NicConfigurationOperator | None = None
    spectrum_x_operator: SpectrumXOperator | None = None


class NicClusterPolicy(KubernetesObject, api_version=_API_VERSION, scope="Cluster"):
    """The one policy of the Network Operator."""

    spec: NicClusterPolicySpec

    @model_validator(mode="after")
    def _the_reconciled_name(self) -> Self:
        if self.metadata.name != NIC_CLUSTER_POLICY_NAME:
            raise ValueError(
                f"NicClusterPolicy {self.metadata.name!r} would be ignored: the only allowed name is "
                f"{NIC_CLUSTER_POLICY_NAME}"
            )
        return self


LONGEST_NAME = 30
"""Limit of a policy's name: the operator appends it to the names of its objects, and refuses a longer one."""


class NicNodePolicySpec(KubernetesModel):
    """Operands of the selected nodes; a section here must stay out of the NicClusterPolicy."""

    node_selector: dict[str, str] = Field(min_length=1)
    tolerations: tuple[Toleration, ...] | None = None
    ofed_driver: OfedDriver | None = None
    rdma_shared_device_plugin: RdmaSharedDevicePlugin | None = None
    sriov_device_plugin: SriovDevicePlugin | None = None

    @model_validator(mode="after")
    def _has_a_section(self) -> Self:
        if not (self.ofed_driver or self.rdma_shared_device_plugin or self.sriov_device_plugin):
            raise ValueError(
                "a NicNodePolicy needs at least one of ofedDriver, rdmaSharedDevicePlugin and sriovDevicePlugin"
            )
        return self


class NicNodePolicy(KubernetesObject, api_version=_API_VERSION, scope="Cluster"):
    """The operands of one group of nodes; the selectors of two policies must not overlap."""

    spec: NicNodePolicySpec

    @model_validator(mode="after")
    def _short_name(self) -> Self:
        name = self.metadata.name
        if len(name) > LONGEST_NAME:
            raise ValueError(
                f"NicNodePolicy {name!r} has a name of {len(name)} characters: allowed are at most {LONGEST_NAME}"
            )
        return self
