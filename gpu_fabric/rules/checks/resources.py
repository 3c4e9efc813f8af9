"""Checks of the group `resources`: what jobs request is advertised, and each resource selects its own NICs only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import reduce
from operator import and_
from typing import NamedTuple

from gpu_fabric.base.api_objects import field
from gpu_fabric.catalog import Nic, Shape
from gpu_fabric.catalog.shape import FrontEndNic
from gpu_fabric.k8s.device_plugin import (
    DeviceSelectors,
    RdmaSelectors,
    RdmaSharedDevicePluginConfig,
    SriovDevicePluginConfig,
)
from gpu_fabric.k8s.spectrum_x import SpectrumXRailPoolConfig
from gpu_fabric.k8s.sriov_operator import NicSelector, SriovNetworkNodePolicy
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.plan import Plan
from gpu_fabric.plan.rail import NIC_FACTS, Rail
from gpu_fabric.plan.rails import group_rails
from gpu_fabric.rules.registry import Problem, check_plan, in_cluster, in_fabric, in_software
from gpu_fabric.spec.oke import OkeClusterSpec

_OURS = (
    "leave the names and NICs of rails out where the shape states them; if that does not help, this program is wrong"
)


_Selectors = DeviceSelectors | RdmaSelectors | NicSelector


class _Resource(NamedTuple):
    """A resource that a device plug-in of the plan advertises, and how it selects NICs."""

    name: str
    selectors: tuple[_Selectors, ...]

    def takes(self, nic: Nic | FrontEndNic) -> bool:
        return any(_matches(selectors, nic) for selectors in self.selectors)


class _Nodes(NamedTuple):
    """A node group: its machines, the rails' NICs there, and the resources that are advertised."""

    shape: Shape
    rails: tuple[Rail, ...]
    resources: tuple[_Resource, ...]


@check_plan("RES001")
def requests_are_advertised(case: Case, plan: Plan) -> Iterator[Problem]:
    """Every resource that a job requests is advertised on every node, in at least that number."""
    offered = _fewest_devices(case, plan)
    lacking = [
        f"{wanted} of {name} where a node has {offered[name] or 'none'}"
        for name, wanted in plan.workload.devices.items()
        if wanted > offered[name]
    ]
    if lacking:
        yield Problem(in_fabric("rails"), f"a job requests {', '.join(lacking)}", _OURS)


@check_plan("RES002")
def resources_select_their_rails(case: Case, plan: Plan) -> Iterator[Problem]:
    """Every resource selects the NICs of its rails, and no other rail's."""
    for nodes, resource in _node_resources(case, plan):
        own = {rail.index for rail in plan.rails if rail.resource_name == resource.name}
        taken = {number for number, nic in enumerate(nodes.shape.nics) if resource.takes(nic)}
        if own != taken:
            yield Problem(
                in_fabric("rails"),
                f"{resource.name} is for rail {_list(own)}, but selects the NICs of rail {_list(taken)}",
            )


@check_plan("RES003")
def front_end_nics_stay_on_the_host(case: Case, plan: Plan) -> Iterator[Problem]:
    """No resource selects a NIC of the node network."""
    for nodes, resource in _node_resources(case, plan):
        for nic in nodes.shape.front_end_nics or ():
            # Front-end NICs have no virtual functions, so what asks for those by their id passes them by.
            if resource.takes(nic) and not _asks_for_virtual(nodes.shape, resource):
                yield Problem(
                    in_fabric("rails"), f"{resource.name} selects the front-end NIC {nic.interface or nic.pci}", _OURS
                )


@check_plan("RES004")
def no_nic_is_in_two_resources(case: Case, plan: Plan) -> Iterator[Problem]:
    """Every NIC is selected by one resource at most, whichever device plug-in advertises it."""
    for nodes in _node_groups(case, plan):
        for number, nic in enumerate(nodes.shape.nics):
            takers = [resource.name for resource in nodes.resources if resource.takes(nic)]
            if len(takers) > 1:
                yield Problem(in_fabric("rails"), f"{' and '.join(takers)} select the NIC of rail {number}", _OURS)


@check_plan("RES005")
def rails_are_the_shapes_nics(case: Case, plan: Plan) -> Iterator[Problem]:
    """Rail k of the plan is the shape's k-th RDMA NIC: in number, address, names and nearest GPU."""
    for nodes in _node_groups(case, plan):
        rails, nics = nodes.rails, nodes.shape.nics
        if [rail.index for rail in rails] != list(range(len(nics))):
            numbers = [rail.index for rail in rails]
            yield Problem(in_fabric("rails"), f"{len(nics)} NICs, but rails {numbers}", _OURS)
            return
        other = {
            rail.index
            for rail, nic in zip(rails, nics, strict=True)
            if any(getattr(rail, fact) != getattr(nic, fact) for fact in NIC_FACTS)
        }
        if other:
            yield Problem(in_fabric("rails"), f"rail {_list(other)} is not the shape's NIC of its number", _OURS)


@check_plan("RES006")
def gpus_are_advertised(case: Case, plan: Plan) -> Iterator[Problem]:
    """A device plug-in of the stack, or of the provider, advertises the GPUs."""
    # DigitalOcean's own device plug-in does it on its nodes; DOK019 checks a cluster that switches it off.
    by_claim = any(claim.gpus for claim in plan.workload.claims)
    if case.shape.provider == "doks" or manager_of(case).devices_advertised_by is not None or by_claim:
        return
    gpus, release = case.shape.gpus, plan.release("gpu-operator")
    if gpus.vendor == "amd" and case.spec.software.amd_gpu_operator is not None:
        return
    remedy = "nothing to do if the cluster has one, as managed clusters do; else install its vendor's"
    if gpus.vendor == "amd" and isinstance(case.spec.cluster, OkeClusterSpec):
        own = case.known.oke_clusters.instances.amd_gpu_plugin
        if any(addon.name == own for addon in case.spec.cluster.addons):
            return
        remedy = f"add {{name: {own}}} to cluster.addons, unless something else on the cluster hands them out"
    if release is None and "gpu-operator" not in case.spec.present:
        yield Problem(
            in_cluster("pools", 0, "shape"), f"this stack installs no device plug-in for {gpus.resource}", remedy
        )
    elif release is not None and field(release.values, "devicePlugin", "enabled") is False:
        yield Problem(
            in_software("gpuOperator", "values", "devicePlugin", "enabled"),
            f"without the operator's device plug-in nothing in this stack advertises {gpus.resource}",
            "leave it out, unless the cluster has one",
        )


def _node_groups(case: Case, plan: Plan) -> tuple[_Nodes, ...]:
    """Every node group with the resources that its device plug-ins, or the SR-IOV operator's policies, advertise."""
    if plan.node_groups:
        return tuple(
            _Nodes(group.shape, nodes.rails, _plugin_resources(nodes.sriov_plugin, nodes.shared_plugin))
            for group, nodes in zip(case.groups, plan.node_groups, strict=True)
        )
    common = _plugin_resources(plan.sriov_plugin, plan.shared_plugin)
    made = [entry.object for entry in plan.applied("sriov-policies")]
    policies = [entry for entry in made if isinstance(entry, SriovNetworkNodePolicy)]
    prefix = manager_of(case).resource_prefix
    # Of a rail's planes the first function has the virtual one that pods get.
    common = common or tuple(
        _Resource(f"{prefix}/{rail.name}", (NicSelector(pf_names=rail.nic_selector.pf_names[:1]),))
        for entry in made
        if isinstance(entry, SpectrumXRailPoolConfig)
        for rail in entry.spec.rail_topology
    )
    rails = [plan.rails] if len(case.groups) == 1 else [group_rails(case, group) for group in case.groups]
    return tuple(
        _Nodes(
            group.shape,
            own,
            common
            or tuple(
                _Resource(f"{prefix}/{policy.spec.resource_name}", (policy.spec.nic_selector,))
                for policy in policies
                if policy.spec.node_selector == group.selector
            ),
        )
        for group, own in zip(case.groups, rails, strict=True)
    )


def _plugin_resources(
    virtual: SriovDevicePluginConfig | None, shared: RdmaSharedDevicePluginConfig | None
) -> tuple[_Resource, ...]:
    return (
        *(_Resource(entry.name, entry.alternatives) for entry in (virtual.resource_list if virtual else ())),
        *(_Resource(entry.name, (entry.selectors,)) for entry in (shared.config_list if shared else ())),
    )


def _node_resources(case: Case, plan: Plan) -> Iterator[tuple[_Nodes, _Resource]]:
    return ((nodes, resource) for nodes in _node_groups(case, plan) for resource in nodes.resources)


def _asks_for_virtual(shape: Shape, resource: _Resource) -> bool:
    virtual = shape.nic_model.vf_device_id if shape.nic_model else None
    return all(isinstance(entry, DeviceSelectors) and entry.devices == (virtual,) for entry in resource.selectors)


def _fewest_devices(case: Case, plan: Plan) -> Counter[str]:
    """How many of each resource a node has; where node groups differ, the lowest number."""
    return reduce(and_, (_device_counts(case, plan, nodes) for nodes in _node_groups(case, plan)))


def _device_counts(case: Case, plan: Plan, nodes: _Nodes) -> Counter[str]:
    """How many of each resource one node of a group has."""
    shape = nodes.shape
    offered = Counter({shape.gpus.resource: shape.gpus.count})
    per_nic = shape.vfs_per_nic if case.choices.access == "virtual" else 1
    shared = plan.shared_plugin or next((entry.shared_plugin for entry in plan.node_groups), None)
    at_a_time = {entry.name: entry.rdma_hca_max for entry in (shared.config_list if shared else ())}
    for resource in nodes.resources:
        devices = per_nic * sum(resource.takes(nic) for nic in shape.nics)
        offered[resource.name] = at_a_time.get(resource.name, devices)
    if case.choices.one_pool:
        # The manager's own plug-in: one resource for all NICs of the node.
        offered.update(Counter(rail.resource_name for rail in nodes.rails if rail.resource_name is not None))
    if (cloud := case.cloud) is not None:
        # What stands for all NICs of a node is offered more than once, where that is known at all.
        plugin = None if cloud.plugin is None or plan.workload.claims else cloud.plugin
        offered.update({} if plugin is None else Counter(plugin.resources(shape.rails)))
        if plugin is not None and plugin.count == "gpus":
            offered.update(plugin.requested(shape.rails, shape.gpus.count))
    elif manager_of(case).devices_advertised_by is not None:
        # DigitalOcean's own plug-in: rdma/fabric0, rdma/fabric1, … for the NICs of the size.
        nics = case.shapes[0].nics if case.shape.provider == "doks" else case.shape.nics
        offered.update({f"rdma/{nic.interface or f'fabric{number}'}": 1 for number, nic in enumerate(nics)})
    return offered


def _matches(selectors: _Selectors, nic: Nic | FrontEndNic) -> bool:
    """Whether a NIC, or a virtual function of it, can be selected; what is not known about it does not rule it out."""
    if isinstance(selectors, RdmaSelectors):
        return _has_name(selectors.if_names, nic.interface)
    if isinstance(selectors, NicSelector):
        return _has_name(selectors.root_devices, nic.pci) and _has_name(selectors.pf_names, nic.interface)
    addresses = (*(selectors.root_devices or ()), *(selectors.pci_addresses or ())) or None
    return _has_name(addresses, nic.pci) and _has_name(selectors.pf_names, nic.interface)


def _has_name(names: Sequence[str] | None, name: str | None) -> bool:
    """Whether a list selects a name; a list that is not given selects all, and one that is given no unknown name."""
    # A name may end in `#first-last`: some virtual functions of it.
    return names is None or name in {entry.partition("#")[0] for entry in names}


def _list(rails: set[int]) -> str:
    return ", ".join(map(str, sorted(rails))) or "none"
