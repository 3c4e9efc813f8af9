"""sriovnetwork.openshift.io/v1: what the SR-IOV operator's daemon reports of a node."""

from typing import ClassVar, Literal

from pydantic import Field

from fabric.k8s.base import KubernetesModel, KubernetesObject
from fabric.k8s.sriov_operator import RdmaMode

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


class NodeSystem(KubernetesModel):
    """Settings of the whole node."""

    rdma_mode: RdmaMode | None = None


class SriovNetworkNodeStateStatus(KubernetesModel):
    """What is there; wait for `sync_status` Succeeded, and on Failed read `last_sync_error`."""

    sync_status: SyncStatus | None = None
    last_sync_error: str | None = None
    interfaces: tuple[PhysicalFunction, ...] | None = None
    system: NodeSystem | None = None


class SriovNetworkNodeState(KubernetesObject):
    """A node by its name, in the operator's namespace; written by the operator, never by the program."""

    api_version: ClassVar[str] = "sriovnetwork.openshift.io/v1"
    kind: ClassVar[str] = "SriovNetworkNodeState"
    plural: ClassVar[str] = "sriovnetworknodestates"
    scope: ClassVar[Literal["Namespaced", "Cluster"]] = "Namespaced"
    printer_columns: ClassVar[dict[str, str]] = {"Sync Status": ".status.syncStatus"}

    status: SriovNetworkNodeStateStatus | None = None
