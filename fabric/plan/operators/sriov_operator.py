"""The SR-IOV operator: which virtual functions it makes, and how it may disturb the nodes for it."""

from __future__ import annotations

from fabric.k8s.base import ObjectMeta
from fabric.k8s.mellanox import NIC_LABEL
from fabric.k8s.scheduling import LabelSelector
from fabric.k8s.sriov_operator import (
    RESOURCE_PREFIX,
    NicSelector,
    SriovNetworkNodePolicy,
    SriovNetworkNodePolicySpec,
    SriovNetworkPoolConfig,
    SriovNetworkPoolConfigSpec,
)
from fabric.k8s.sriov_state import SriovNetworkNodeState
from fabric.plan.case import Case, NodeGroup
from fabric.plan.devices import rails_by_resource
from fabric.plan.rails import Rail, group_rails, plan_rails
from fabric.plan.records import PlannedObject, PlannedWait

_NAME = "gpu-fabric"
# The vendor's own examples; lower numbers win, and room on both sides is left for policies of others.
_PRIORITY = 90
# A node may be drained and rebooted, which takes tens of minutes on bare metal; without that its daemon needs minutes.
_WAIT, _WAIT_PER_NODE = 1800, 1200


def sriov_policies(case: Case) -> tuple[PlannedObject, ...]:
    """One pool of nodes, and one policy per resource and kind of nodes, in the operator's own namespace."""
    return (
        PlannedObject(object=_pool(case)),
        *(
            PlannedObject(object=_policy(case, group, name, rails))
            for group in case.groups
            for name, rails in rails_by_resource(group_rails(case, group)).items()
        ),
    )


def sriov_synced(case: Case) -> PlannedWait:
    """The node states in which the operator's daemon says that a node is as the policies want it."""
    reconfigures = case.choices.virtual_functions == "sriov-operator"
    return PlannedWait(
        api_version=SriovNetworkNodeState.api_version,
        plural=SriovNetworkNodeState.plural,
        namespace=_namespace(case),
        nodes=case.node_labels or {NIC_LABEL: "true"},
        having=case.shape.gpus.resource,
        resources={
            f"{RESOURCE_PREFIX}/{resource}": len(rails) * max(1, case.shape.vfs_per_nic)
            for resource, rails in rails_by_resource(plan_rails(case)).items()
        },
        field="status.syncStatus",
        value="Succeeded",
        failed="Failed",
        reason="status.lastSyncError",
        timeout=_WAIT + (_WAIT_PER_NODE * case.nodes if reconfigures else 0),
    )


def _namespace(case: Case) -> str:
    return case.line.charts["network-operator"].namespace


def _pool(case: Case) -> SriovNetworkPoolConfig:
    external = case.choices.virtual_functions == "externally-managed"
    exclusive = case.choices.rdma_mode == "exclusive" and not external
    return SriovNetworkPoolConfig(
        metadata=ObjectMeta(name=_NAME, namespace=_namespace(case)),
        spec=SriovNetworkPoolConfigSpec(
            node_selector=LabelSelector(match_labels=case.node_labels or {NIC_LABEL: "true"}),
            # Nothing is drained where the functions are there already; else one node at a time.
            max_unavailable="100%" if external else 1,
            # Stated, it is a kernel argument and a reboot; shared is what nodes start in.
            rdma_mode="exclusive" if exclusive else None,
        ),
    )


def _policy(case: Case, group: NodeGroup, resource: str, rails: list[Rail]) -> SriovNetworkNodePolicy:
    nic = group.shape.nic_model
    addresses = tuple(rail.pci for rail in rails if rail.pci) or None
    interfaces = tuple(rail.interface for rail in rails if rail.interface) or None
    name = resource.replace("_", "-") + (f"-{group.name}" if len(case.groups) > 1 else "")
    ethernet = case.choices.link_type == "ether"
    return SriovNetworkNodePolicy(
        metadata=ObjectMeta(name=name, namespace=_namespace(case)),
        spec=SriovNetworkNodePolicySpec(
            resource_name=resource,
            node_selector=group.labels or {NIC_LABEL: "true"},
            nic_selector=NicSelector(
                vendor=nic.vendor_id if nic else None,
                # Interface names differ between node images.
                root_devices=addresses,
                pf_names=interfaces if addresses is None else None,
            ),
            num_vfs=max(1, group.shape.vfs_per_nic),
            priority=_PRIORITY,
            mtu=case.mtu if ethernet else None,
            device_type="netdevice",
            is_rdma=True,
            link_type="eth" if ethernet else "ib",
            externally_managed=True if case.choices.virtual_functions == "externally-managed" else None,
        ),
    )
