"""mellanox.com/v1alpha1: the NicNodePolicy, a driver or device plug-in for the nodes of one selector (line 26.4)."""

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from fabric.k8s.base import KubernetesModel, KubernetesObject
from fabric.k8s.mellanox import (
    OfedDriver,
    OperandImage,
    PolicyStatus,
    RdmaSharedDevicePlugin,
    SriovDevicePlugin,
)
from fabric.k8s.scheduling import Toleration

LONGEST_NAME = 30
"""Characters of a policy's name: the operator appends it to the names of what it makes, and refuses a longer one."""


class NicNodePolicySpec(KubernetesModel):
    """Operands of the selected nodes; a section here must stay out of the NicClusterPolicy.

    Labels, annotations and tolerations are those of the operands' DaemonSets. There is no `global` section:
    every image says its repository and version.
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
        for path, operand in sections.items():
            for part in ("repository", "version"):
                if getattr(operand, part) is None:
                    raise ValueError(f"{path}.{part} is missing: a NicNodePolicy takes none from a global section")
        return self

    def operands(self) -> dict[str, OperandImage]:
        """Every section that is present, by its name under spec."""
        sections: dict[str, OperandImage | None] = {
            "ofedDriver": self.ofed_driver,
            "rdmaSharedDevicePlugin": self.rdma_shared_device_plugin,
            "sriovDevicePlugin": self.sriov_device_plugin,
        }
        return {path: operand for path, operand in sections.items() if operand is not None}


class NicNodePolicy(KubernetesObject):
    """The operands of one group of nodes; the selectors of two policies must not overlap."""

    api_version: ClassVar[str] = "mellanox.com/v1alpha1"
    kind: ClassVar[str] = "NicNodePolicy"
    plural: ClassVar[str] = "nicnodepolicies"
    scope: ClassVar[Literal["Namespaced", "Cluster"]] = "Cluster"
    short_names: ClassVar[tuple[str, ...]] = ("nicnode", "nnp")
    printer_columns: ClassVar[dict[str, str]] = {"Status": ".status.state"}

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
