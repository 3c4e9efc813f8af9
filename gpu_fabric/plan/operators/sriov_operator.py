"""The SR-IOV operator: which virtual functions it creates, and how it may drain nodes for it."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.catalog.chart import value_at
from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.k8s.scheduling import LabelSelector
from gpu_fabric.k8s.sriov_operator import (
    NicSelector,
    SriovNetworkNodePolicy,
    SriovNetworkNodePolicySpec,
    SriovNetworkPoolConfig,
    SriovNetworkPoolConfigSpec,
)
from gpu_fabric.plan.case import Case, NodeGroup
from gpu_fabric.plan.devices import rails_by_resource
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.operators.operator import LABELLED, Operator, manager_steps
from gpu_fabric.plan.operators.spectrum_x import rail_pool
from gpu_fabric.plan.rail import Rail
from gpu_fabric.plan.rails import group_rails, plan_rails
from gpu_fabric.plan.records import Item, PlannedObject, PlannedWait, PlannedWebhookCleanup, WantedFunctions
from gpu_fabric.plan.steps import Context, Step, Words, kinds
from gpu_fabric.spec.upgrade import UpgradeSpec

_NAME = "gpu-fabric"
# The operator's DaemonSet (controllers/sriovoperatorconfig_controller.go of v1.3.0).
_WEBHOOK = "operator-webhook"
# Its webhook configurations (pkg/consts/constants.go of v1.3.0 and of v1.6.0).
_WEBHOOK_CONFIGURATIONS = "sriov-operator-webhook-config"
_WEBHOOK_SWITCH = "sriov.operatorConfig.enableOperatorWebhook"
# The vendor's own examples; lower numbers win, and room on both sides is left for policies of others.
_PRIORITY = 90
# A node may be drained and rebooted, which takes tens of minutes on bare metal; without that its daemon needs minutes.
_WAIT, _WAIT_PER_NODE = 1800, 1200
# Of all nodes that it selects (Spectrum-X operator, aggregateSyncStatus).
_RAILS = "jsonpath={.status.syncStatus}=Succeeded"


def _steps(context: Context) -> Iterator[Step]:
    """The pool of nodes, then the policies, until every GPU node is as they want it.

    Creating or changing a policy may drain and reboot nodes, so how they may be drained is said first. The operator
    takes its functions back while it still runs.
    """
    case = context.case
    if not case.choices.by_sriov_operator:
        return
    pool = tuple(PlannedObject(object=each) for each in _pools(case))
    policies = tuple(PlannedObject(object=each) for each in _policies(case))
    before = (*LABELLED, *manager_steps(case))
    if case.planes is not None:
        # The Spectrum-X operator makes pool, policies and networks of it, and looks at the pools of addresses.
        planned = PlannedObject(
            object=rail_pool(case, case.planes), wait_for=_RAILS, timeout=sriov_synced(case).timeout
        )
        pool, policies, before = (), (planned,), (*before, "nic-configuration", "ip-pools")
    synced, discovered = sriov_synced(case), sriov_discovered(case)
    # It may register its webhooks once more after its chart's last Job has deleted them.
    cleanup = PlannedWebhookCleanup(name=_WEBHOOK_CONFIGURATIONS, namespace=manager_of(case).sriov_namespace)
    kind = "operators:WebhookCleanup"
    if not manager_of(case).sriov_operator_is_present:
        yield Step(name="webhook-cleanup", component="webhook-cleanup", kind=kind, items=(cleanup,))
    yield _step("sriov-discovered", () if discovered is None else (discovered,), before)
    before = (*before, "sriov-discovered")
    yield _step("sriov-pool", pool, before)
    yield _step("sriov-policies", policies, (*before, "sriov-pool"))
    waits = f"{synced.field} {synced.value} on every GPU node"
    words = (Words(title="SR-IOV", what=kinds((*pool, *policies)), waits=waits),)
    yield _step("sriov", (synced,), ("sriov-pool", "sriov-policies"), words)


OPERATOR = Operator(_steps)


def _step(name: str, items: tuple[Item, ...], after: tuple[str, ...], words: tuple[Words, ...] = ()) -> Step:
    return Step(name=name, component="sriov", kind="operators:SriovPolicies", items=items, after=after, words=words)


def sriov_synced(case: Case) -> PlannedWait:
    """The node states in which the operator's daemon says that a node is as the policies want it."""
    reconfigures = case.choices.virtual_functions == "sriov-operator"
    # The NICs' firmware is configured by another operator, with a reboot of its own.
    reboots = reconfigures + (case.planes is not None)
    return PlannedWait(
        api_version=SriovNetworkNodePolicy.api_version,
        plural="sriovnetworknodestates",
        namespace=manager_of(case).sriov_namespace,
        nodes=case.node_selector,
        having=case.shape.gpus.resource,
        resources={
            f"{manager_of(case).resource_prefix}/{resource}": len(rails) * max(1, case.shape.vfs_per_nic)
            for resource, rails in rails_by_resource(plan_rails(case)).items()
            if not manager_of(case).answers_by_claims
        },
        field="status.syncStatus",
        value="Succeeded",
        failed="Failed",
        reason="status.lastSyncError",
        functions=_functions(case),
        timeout=_WAIT + _WAIT_PER_NODE * case.nodes * reboots,
    )


def sriov_discovered(case: Case) -> PlannedWait | None:
    """The node states in which the daemon says that it knows a node's NICs; None where nothing has to wait for them.

    Spiderpool's chart has the operator's webhook on, which refuses a policy that selects no NIC it knows of, and every
    policy while it has no pod.
    """
    if not manager_of(case).sriov_operator_has_webhook:
        return None
    written = value_at(case.spec.software.spiderpool.values, _WEBHOOK_SWITCH)
    is_on = not case.choices.control_plane_apart if written is None else written is True
    changes = {"resources": {}, "functions": (), "timeout": _WAIT, "served_by": _WEBHOOK if is_on else None}
    return sriov_synced(case).model_copy(update=changes)


def _pools(case: Case) -> Iterator[SriovNetworkPoolConfig]:
    """The pool of a fabric's nodes; none for a storage fabric whose nodes are in pools of their compute fabrics.

    The operator refuses a node that is in two pools.
    """
    if case.compute and all(entry.choices.by_sriov_operator for entry in case.compute):
        return
    external = case.choices.virtual_functions == "externally-managed"
    yield SriovNetworkPoolConfig(
        metadata=ObjectMeta(name=case.own_copy(_NAME), namespace=manager_of(case).sriov_namespace),
        spec=SriovNetworkPoolConfigSpec(
            node_selector=LabelSelector(match_labels=case.node_selector),
            # Nothing is drained where the functions exist; else one node at a time, or as many as a wave has. Of a
            # share that is less than one node the operator would never drain any.
            max_unavailable="100%" if external else (case.spec.upgrade or UpgradeSpec()).at_a_time(case.nodes),
            # Nodes start in shared.
            rdma_mode="exclusive" if manager_of(case).sriov_operator_reboots else None,
        ),
    )


def _policies(case: Case) -> Iterator[SriovNetworkNodePolicy]:
    """One policy per resource and node group, in the operator's own namespace."""
    for group in case.groups:
        for name, rails in rails_by_resource(group_rails(case, group)).items():
            yield _policy(case, group, name, rails)


def _functions(case: Case) -> tuple[WantedFunctions, ...]:
    """What the policies ask for, as the operator writes it into the spec of a node's state."""
    if case.planes is not None:
        return tuple(
            WantedFunctions(
                policy=rail.network or "",
                resource=rail.resource or "",
                nodes=group.selector,
                addresses=() if rail.pci is None else (rail.pci,),
                count=1,
                mtu=case.mtu,
            )
            for group in case.groups
            for rail in group_rails(case, group)
        )
    return tuple(
        WantedFunctions(
            policy=policy.metadata.name,
            resource=policy.spec.resource_name,
            nodes=policy.spec.node_selector,
            addresses=policy.spec.nic_selector.root_devices or (),
            count=policy.spec.num_vfs,
            mtu=policy.spec.mtu,
        )
        for policy in _policies(case)
    )


def _policy(case: Case, group: NodeGroup, resource: str, rails: list[Rail]) -> SriovNetworkNodePolicy:
    nic = group.shape.nic_model
    addresses = tuple(rail.pci for rail in rails if rail.pci) or None
    interfaces = tuple(rail.interface for rail in rails if rail.interface) or None
    name = case.named(resource.lower().replace("_", "-") + (f"-{group.name}" if len(case.groups) > 1 else ""))
    ethernet = case.choices.link_type == "ether"
    return SriovNetworkNodePolicy(
        metadata=ObjectMeta(name=name, namespace=manager_of(case).sriov_namespace),
        spec=SriovNetworkNodePolicySpec(
            resource_name=resource,
            node_selector=group.selector,
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
