"""mellanox.com/v1alpha1: NicClusterPolicy and NicNodePolicy, which configure the Network Operator (line 26.4)."""

import re
from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from gpu_fabric.base.grammar import ImageMirror
from gpu_fabric.k8s.base import KubernetesModel, KubernetesObject, api_name
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
# The CRD's pattern has no anchors, so it matches any name; the operator's webhook validates names as runtimes do.
# Source: the operator's CRD of NicClusterPolicy and its validator.
Repository = ImageMirror
State = Literal["ready", "notReady", "ignore", "error"]

_OFED_VERSION = re.compile(
    r"(\d+\.\d+-\d+(\.\d+){3}(-\d+.*)?|doca\d+\.\d+(\.\d+)?-\d+\.\d+-\d+(\.\d+){3}-\d+.*|sha256:[0-9a-f]{64})"
)
_GUID = re.compile(r"[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){7}")


class ContainerResources(KubernetesModel):
    """CPU and memory of one named container of an operand."""

    name: str
    requests: dict[str, str] | None = None
    limits: dict[str, str] | None = None

    @field_validator("requests", "limits")
    @classmethod
    def _cpu_and_memory(cls, value: dict[str, str] | None) -> dict[str, str] | None:
        other = sorted((value or {}).keys() - {"cpu", "memory"})
        if other:
            raise ValueError(f"unknown resource {', '.join(other)}: allowed are cpu and memory")
        return value


class OperandImage(KubernetesModel):
    """The image of an operand; repository and version may come from `global`."""

    image: ImageName
    repository: Repository | None = None
    version: str | None = None
    image_pull_secrets: tuple[str, ...] | None = None
    container_resources: tuple[ContainerResources, ...] | None = None


class GlobalImage(KubernetesModel):
    """Defaults for every operand's image."""

    repository: Repository | None = None
    version: str | None = None
    image_pull_secrets: tuple[str, ...] | None = None


class ConfigMapName(KubernetesModel):
    """A ConfigMap of the operator's namespace."""

    name: str | None = None


class Probe(KubernetesModel):
    """Timing of a driver pod's probe, in seconds."""

    initial_delay_seconds: int = Field(ge=0)
    period_seconds: int = Field(ge=1)
    failure_threshold: int | None = Field(default=None, ge=1)
    timeout_seconds: int | None = Field(default=None, ge=1)


class DrainPolicy(KubernetesModel):
    """Whether and how a node is drained before its driver is replaced."""

    enable: bool | None = None
    force: bool | None = None
    pod_selector: str | None = None
    timeout_seconds: int | None = Field(default=None, ge=0)
    delete_empty_dir: bool | None = None


class WaitForCompletion(KubernetesModel):
    """Pods to wait for before a driver is replaced; 0 seconds waits for ever."""

    pod_selector: str | None = None
    timeout_seconds: int | None = Field(default=None, ge=0)


class UpgradePolicy(KubernetesModel):
    """How drivers are replaced across nodes; 0 parallel upgrades means no limit."""

    auto_upgrade: bool | None = None
    max_parallel_upgrades: int | None = Field(default=None, ge=0)
    safe_load: bool | None = None
    drain: DrainPolicy | None = None
    wait_for_completion: WaitForCompletion | None = None

    @model_validator(mode="after")
    def _safe_load_needs_auto_upgrade(self) -> Self:
        if self.safe_load and not self.auto_upgrade:
            raise ValueError("safeLoad works only with autoUpgrade: true")
        return self


class OfedDriver(OperandImage):
    """The DOCA-OFED driver container; left out if the host image contains the driver."""

    env: tuple[EnvVar, ...] | None = None
    cert_config: ConfigMapName | None = None
    repo_config: ConfigMapName | None = None
    force_precompiled: bool | None = None
    startup_probe: Probe | None = None
    liveness_probe: Probe | None = None
    readiness_probe: Probe | None = None
    termination_grace_period_seconds: int | None = Field(default=None, ge=0)
    upgrade_policy: UpgradePolicy | None = None

    @field_validator("version")
    @classmethod
    def _version(cls, value: str | None) -> str | None:
        if value is not None and not _OFED_VERSION.fullmatch(value):
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
    use_cdi: bool | None = None


class SriovDevicePlugin(OperandImage):
    """Advertises virtual functions as extended resources."""

    config: Annotated[str, _config_of(SriovDevicePluginConfig)] | None = Field(
        default=None, description="SriovDevicePluginConfig as JSON text."
    )
    use_cdi: bool | None = None


class IbKubernetes(OperandImage):
    """Assigns InfiniBand partition keys through UFM."""

    p_key_guid_pool_range_start: str
    p_key_guid_pool_range_end: str
    ufm_secret: str
    periodic_update_seconds: int | None = Field(default=None, ge=0)

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


class Multus(OperandImage):
    """Attaches secondary networks; `config` replaces the generated CNI configuration."""

    config: str | None = None


class SecondaryNetwork(KubernetesModel):
    """What pods need for a second interface."""

    multus: Multus | None = None
    cni_plugins: OperandImage | None = None
    ipoib: OperandImage | None = None


class NvIpamOperand(OperandImage):
    """NVIDIA's IPAM; its webhook needs cert-manager or own certificates."""

    enable_webhook: bool | None = None


class TelemetryConfig(KubernetesModel):
    """Telemetry settings taken from a ConfigMap of the operator's namespace."""

    from_config_map: str | None = None


class DocaTelemetryService(OperandImage):
    """NIC telemetry for Prometheus."""

    config: TelemetryConfig | None = None


class NicClusterPolicySpec(KubernetesModel):
    """Operands to run; a section that is left out is not deployed."""

    # `global` is a keyword of Python.
    global_: GlobalImage | None = Field(default=None, validation_alias="global", serialization_alias="global")
    node_affinity: NodeAffinity | None = None
    tolerations: tuple[Toleration, ...] | None = None
    deployment_node_affinity: NodeAffinity | None = None
    deployment_tolerations: tuple[Toleration, ...] | None = None
    ofed_driver: OfedDriver | None = None
    rdma_shared_device_plugin: RdmaSharedDevicePlugin | None = None
    sriov_device_plugin: SriovDevicePlugin | None = None
    ib_kubernetes: IbKubernetes | None = None
    secondary_network: SecondaryNetwork | None = None
    nv_ipam: NvIpamOperand | None = None
    nic_feature_discovery: OperandImage | None = None
    doca_telemetry_service: DocaTelemetryService | None = None

    @model_validator(mode="after")
    def _images_are_complete(self) -> Self:
        fallback = self.global_ or GlobalImage()
        for path, part in _missing_parts(self.operands()):
            if getattr(fallback, part) is None:
                raise ValueError(f"{path}.{part} is missing: set it there or in global.{part}")
        return self

    def operands(self) -> dict[str, OperandImage]:
        """All sections that are set, by their path under spec."""
        return _operands(self)


def _operands(section: KubernetesModel, path: str = "") -> dict[str, OperandImage]:
    found: dict[str, OperandImage] = {}
    for name, value in section:
        if isinstance(value, OperandImage):
            found[f"{path}{api_name(name)}"] = value
        elif isinstance(value, SecondaryNetwork):
            found |= _operands(value, f"{api_name(name)}.")
    return found


def _missing_parts(operands: dict[str, OperandImage]) -> Iterator[tuple[str, str]]:
    """The path of each operand whose image lacks its repository or version, and which of them."""
    for path, operand in operands.items():
        yield from ((path, part) for part in ("repository", "version") if getattr(operand, part) is None)


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


class NicClusterPolicy(
    KubernetesObject,
    api_version=_API_VERSION,
    scope="Cluster",
    short_names=("ncp",),
    printer_columns={"Status": ".status.state"},
):
    """The one policy of the Network Operator."""

    spec: NicClusterPolicySpec
    status: PolicyStatus | None = None

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
    """Operands of the selected nodes; a section here must stay out of the NicClusterPolicy.

    Labels, annotations and tolerations are those of the operands' DaemonSets. There is no `global` section:
    every image has its own repository and version.
    """

    node_selector: dict[str, str] = Field(min_length=1)
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    tolerations: tuple[Toleration, ...] | None = None
    ofed_driver: OfedDriver | None = None
    rdma_shared_device_plugin: RdmaSharedDevicePlugin | None = None
    sriov_device_plugin: SriovDevicePlugin | None = None

    @model_validator(mode="after")
    def _has_complete_sections(self) -> Self:
        sections = self.operands()
        if not sections:
            raise ValueError(
                "a NicNodePolicy needs at least one of ofedDriver, rdmaSharedDevicePlugin and sriovDevicePlugin"
            )
        for path, part in _missing_parts(sections):
            raise ValueError(f"{path}.{part} is missing: a NicNodePolicy takes none from a global section")
        return self

    def operands(self) -> dict[str, OperandImage]:
        """All sections that are set, by their name under spec."""
        return _operands(self)


class NicNodePolicy(
    KubernetesObject,
    api_version=_API_VERSION,
    scope="Cluster",
    short_names=("nicnode", "nnp"),
    printer_columns={"Status": ".status.state"},
):
    """The operands of one group of nodes; the selectors of two policies must not overlap."""

    spec: NicNodePolicySpec
    status: PolicyStatus | None = None

    @model_validator(mode="after")
    def _short_name(self) -> Self:
        name = self.metadata.name
        if len(name) > LONGEST_NAME:
            raise ValueError(
                f"NicNodePolicy {name!r} has a name of {len(name)} characters: allowed are at most {LONGEST_NAME}"
            )
        return self
