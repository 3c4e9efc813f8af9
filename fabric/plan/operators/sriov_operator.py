"""The SR-IOV operator: which virtual functions it makes, and how it may disturb the nodes for it."""

from __future__ import annotations

from fabric.k8s.base import ObjectMeta
from fabric.k8s.mellanox import NIC_LABEL
from fabric.k8s.scheduling import LabelSelector
from fabric.k8s.sriov_operator import (
    NicSelector,
    SriovNetworkNodePolicy,
    SriovNetworkNodePolicySpec,
    SriovNetworkPoolConfig,
    SriovNetworkPoolConfigSpec,
)
from fabric.k8s.sriov_state import SriovNetworkNodeState
from fabric.plan.case import Case, NodeGroup
from fabric.plan.devices import rails_by_resource
from fabric.plan.operators.releases import namespace_of
from fabric.plan.rails import Rail, group_rails, plan_rails, resource_prefix
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
        namespace=namespace_of(case),
        nodes=case.node_labels or {NIC_LABEL: "true"},
        having=case.shape.gpus.resource,
        resources={
            f"{resource_prefix(case)}/{resource}": len(rails) * max(1, case.shape.vfs_per_nic)
            for resource, rails in rails_by_resource(plan_rails(case)).items()
        },
        field="status.syncStatus",
        value="Succeeded",
        failed="Failed",
        reason="status.lastSyncError",
        timeout=_WAIT + (_WAIT_PER_NODE * case.nodes if reconfigures else 0),
    )


def sriov_discovered(case: Case) -> PlannedWait | None:
    """The node states in which the daemon says that it knows a node's NICs; None where nothing has to wait for them.

    Spiderpool's chart has the operator's webhook on, which refuses a policy that selects no NIC it knows of.
    """
    if case.choices.manager != "spiderpool":
        return None
    return sriov_synced(case).model_copy(update={"resources": {}, "timeout": _WAIT})


def _pool(case: Case) -> SriovNetworkPoolConfig:
    external = case.choices.virtual_functions == "externally-managed"
    # Spiderpool's operator is an older one that knows no RDMA mode; there the nodes are prepared for it.
    by_operator = case.choices.manager == "network-operator" and not external
    return SriovNetworkPoolConfig(
        metadata=ObjectMeta(name=_NAME, namespace=namespace_of(case)),
        spec=SriovNetworkPoolConfigSpec(
            node_selector=LabelSelector(match_labels=case.node_labels or {NIC_LABEL: "true"}),
            # Nothing is drained where the functions are there already; else one node at a time.
            max_unavailable="100%" if external else 1,
            # Stated, it is a kernel argument and a reboot; shared is what nodes start in.
            rdma_mode="exclusive" if by_operator and case.choices.rdma_mode == "exclusive" else None,
        ),
    )


def _policy(case: Case, group: NodeGroup, resource: str, rails: list[Rail]) -> SriovNetworkNodePolicy:
    nic = group.shape.nic_model
    addresses = tuple(rail.pci for rail in rails if rail.pci) or None
    interfaces = tuple(rail.interface for rail in rails if rail.interface) or None
    name = resource.lower().replace("_", "-") + (f"-{group.name}" if len(case.groups) > 1 else "")
    ethernet = case.choices.link_type == "ether"
    return SriovNetworkNodePolicy(
        metadata=ObjectMeta(name=name, namespace=namespace_of(case)),
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
