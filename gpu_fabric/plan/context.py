"""What steps are made from: a stack's case, and what of its plan is decided before any of them."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_fabric.contract import FabricContract
from gpu_fabric.k8s.device_plugin import RdmaSharedDevicePluginConfig, SriovDevicePluginConfig
from gpu_fabric.plan.addresses import AddressPlan
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.devices import PlannedNodes
from gpu_fabric.plan.nccl_files import NcclFiles
from gpu_fabric.plan.rail import Rail


@dataclass(frozen=True)
class Context:
    """A case with its addresses, rails, files and contract.

    `sriov_plugin` and `shared_plugin` configure the device plug-ins of all nodes; where node groups need their own,
    both are None and `node_groups` has them. `charts` are those that the stack installs; `namespaces` those of its
    operators, with whether privileged pods run there.
    """

    case: Case
    addresses: AddressPlan
    rails: tuple[Rail, ...]
    sriov_plugin: SriovDevicePluginConfig | None
    shared_plugin: RdmaSharedDevicePluginConfig | None
    node_groups: tuple[PlannedNodes, ...]
    nccl: NcclFiles
    contract: FabricContract
    charts: tuple[str, ...]
    namespaces: dict[str, bool]
