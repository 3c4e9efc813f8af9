"""Checks of virtual functions: what creates them, whether it can, and the effect on the nodes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from gpu_fabric.base.enumeration import quantity
from gpu_fabric.k8s.mellanox import NVIDIA
from gpu_fabric.k8s.sriov_operator import SriovNetworkNodePolicy
from gpu_fabric.plan import Plan
from gpu_fabric.plan.case import Case, NodeGroup
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.rail import one_resource
from gpu_fabric.plan.rails import group_rails
from gpu_fabric.rules.clashes import Stated, clashes
from gpu_fabric.rules.planned_nodes import labels_of_pools, node_groups, rails_without_address
from gpu_fabric.rules.registry import Problem, check, check_each, check_plan, in_fabric, in_software
from gpu_fabric.spec.places import dotted

_MAKER = in_fabric("virtualFunctions")


@check("VFN001")
def creator_of_functions_has_an_effect(case: Case) -> Iterator[Problem]:
    """The creator of virtual functions is stated only where pods get some."""
    stated, choices = case.spec.fabric.virtual_functions, case.choices
    if stated is not None and choices.row is not None and choices.virtual_functions is None:
        yield Problem(_MAKER, f"it has no effect: the model {choices.model} uses none")


@check("VFN002")
def line_has_an_sriov_operator(case: Case) -> Iterator[Problem]:
    """The Network Operator's SR-IOV operator is asked for only in a release line whose chart sets it up."""
    asked = case.choices.by_sriov_operator
    if asked and not manager_of(case).has_sriov_operator:
        able = [line.name for line in case.known.releases.values() if line.sriov_operator]
        yield Problem(
            _MAKER,
            f"release line {case.line.name} has no SR-IOV operator that works: its chart creates no "
            f"SriovOperatorConfig",
            f"write daemon-set, or the release line {' or '.join(able)}",
        )


@check_each("VFN003", node_groups)
def script_knows_the_nics(case: Case, group: NodeGroup) -> Iterator[Problem]:
    """The DaemonSet that creates virtual functions has every NIC's PCI address."""
    if case.choices.virtual_functions == "daemon-set" and (lacking := rails_without_address(group)):
        yield Problem(
            in_fabric("rails"),
            f"{group.shape.name} does not state the PCI address of rail {lacking}, and the script finds "
            "its NICs by nothing else",
        )


@check("VFN004")
def provider_creates_as_many(case: Case) -> Iterator[Problem]:
    """The plan relies on no more existing virtual functions than the machines have at delivery."""
    stated = case.spec.fabric.vfs_per_nic
    there = min((shape.vfs_per_nic for shape in case.shapes), default=0)
    if case.choices.virtual_functions == "externally-managed" and stated is not None and 0 < there < stated:
        yield Problem(
            in_fabric("vfsPerNic"),
            f"the nodes come with {quantity(there, 'virtual function')} per NIC, and the SR-IOV operator "
            "creates none where they are externally managed",
            f"write {there} or leave it out, or write virtualFunctions: sriov-operator",
        )


@check("VFN005")
def nodes_are_rebooted(case: Case) -> Iterator[Problem]:
    """The user knows what the SR-IOV operator reboots nodes for: the RDMA mode, and the firmware of NVIDIA's NICs."""
    choices = case.choices
    if choices.virtual_functions != "sriov-operator":
        return
    if case.planes is not None:
        yield Problem(
            _MAKER,
            "the NIC Configuration Operator writes the planes into the NICs' firmware and reboots the nodes, and the "
            "SR-IOV operator does so for RDMA mode exclusive, one node at a time",
            "run `up` before jobs run; reset the NICs' configuration first where they had other planes",
        )
        return
    # Spiderpool's operator is an older one, which knows no RDMA mode.
    if manager_of(case).sriov_operator_knows_rdma_mode and choices.rdma_mode == "exclusive":
        yield Problem(
            _MAKER,
            "for RDMA mode exclusive the SR-IOV operator writes a kernel argument and reboots the nodes, one at a time",
            "run `up` before jobs run, start the nodes in mode exclusive (kernel argument ib_core.netns_mode=0), or "
            "write rdmaMode: shared, which saves this reboot and no other",
        )
    for count in sorted({max(1, group.shape.vfs_per_nic) for group in case.groups if _is_nvidia(group)}):
        yield Problem(
            _MAKER,
            f"where a NIC's firmware has not exactly {count} virtual functions, the SR-IOV operator writes NUM_OF_VFS "
            "and SRIOV_EN and reboots the node, in every RDMA mode",
            f"run `up` before jobs run, or set NUM_OF_VFS={count} and SRIOV_EN=1 by mlxconfig first; `gpu-fabric "
            "preflight` names such nodes where the operator runs already",
        )


def _is_nvidia(group: NodeGroup) -> bool:
    return group.shape.nic_model is not None and group.shape.nic_model.vendor_id == NVIDIA


@check("VFN006")
def nodes_are_drained(case: Case) -> Iterator[Problem]:
    """The user knows where the nodes are drained."""
    if case.choices.virtual_functions == "sriov-operator":
        yield Problem(_MAKER)


@check("VFN007")
def mode_is_switched_on_an_idle_node(case: Case) -> Iterator[Problem]:
    """The user knows where the RDMA mode cannot be switched on a node in use."""
    if case.choices.virtual_functions == "daemon-set" and case.choices.rdma_mode == "exclusive":
        yield Problem(in_fabric("rdmaMode"))


@check("VFN011")
def infiniband_functions_get_guids(case: Case) -> Iterator[Problem]:
    """The virtual functions of InfiniBand NICs get GUIDs."""
    keys = case.spec.software.network_operator.partition_keys
    by_stack = manager_of(case).sriov_operator_knows_rdma_mode and case.choices.virtual_functions == "daemon-set"
    if by_stack and case.choices.link_type == "infiniband" and keys is None:
        yield Problem(_MAKER)


@check("VFN008")
def image_has_a_daemon_set(case: Case) -> Iterator[Problem]:
    """An image for this project's scripts is named only where one runs."""
    runs = case.choices.virtual_functions == "daemon-set" or case.spec.fabric.host_preparation.jobs
    if case.spec.software.host_image is not None and not runs:
        yield Problem(in_software("hostImage"))


@check_plan("VFN009")
def policies_share_no_nic(case: Case, plan: Plan) -> Iterator[Problem]:
    """No two node policies of the SR-IOV operator select one NIC of one node."""
    policies = [
        entry.object
        for entry in plan.applied("sriov-pool", "sriov-policies")
        if isinstance(entry.object, SriovNetworkNodePolicy)
    ]
    for one, other in combinations(policies, 2):
        shared = sorted(_nics(one) & _nics(other))
        if shared and any(_is_for(one, labels) and _is_for(other, labels) for labels in labels_of_pools(case)):
            yield Problem(
                in_fabric("rails"),
                f"the node policies {one.metadata.name} and {other.metadata.name} both select {', '.join(shared)}",
            )


@check("VFN012")
def spiderpools_functions_are_advertised(case: Case) -> Iterator[Problem]:
    """Virtual functions are handed out by Spiderpool only together with its SR-IOV operator."""
    row, stated = case.choices.row, case.choices.virtual_functions
    if row is not None and stated is not None and stated not in row.virtual_functions:
        yield Problem(_MAKER)


@check("VFN013")
def resources_name_different_policies(case: Case) -> Iterator[Problem]:
    """With an SR-IOV operator the resources of two rails differ in more than capital letters."""
    if not case.choices.by_sriov_operator or one_resource(case):
        return
    rails = group_rails(case, case.groups[0])
    stated = [
        Stated(("fabric", "rails", place, "resource"), (rails[entry.rail].resource or "").lower(), f"rail {entry.rail}")
        for place, entry in enumerate(case.spec.fabric.rails)
        if entry.rail < len(rails) and (entry.resource or entry.network)
    ]
    named = {entry.owner for entry in stated}
    fixed = {(rail.resource or "").lower(): f"rail {rail.index}" for rail in rails if f"rail {rail.index}" not in named}
    equal = [rail.resource for rail in rails]
    for clash in clashes(fixed, stated):
        written = case.spec.fabric.rails[int(clash.stated.place[2])]
        # DEV007 reports two rails with one resource.
        if equal.count(rails[written.rail].resource) == 1:
            yield Problem(
                dotted(clash.stated.place),
                f"a node policy is named after its resource in small letters, and {clash.stated.value} is "
                f"{clash.other}'s already",
            )


def _nics(policy: SriovNetworkNodePolicy) -> set[str]:
    """The NICs that a policy names; of a range of virtual functions the whole NIC, since none is planned."""
    selector = policy.spec.nic_selector
    return {*(selector.root_devices or ()), *(name.partition("#")[0] for name in selector.pf_names or ())}


def _is_for(policy: SriovNetworkNodePolicy, labels: dict[str, str]) -> bool:
    return policy.spec.node_selector.items() <= labels.items()
