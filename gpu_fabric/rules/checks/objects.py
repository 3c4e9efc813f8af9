"""Checks of the plan's objects: they the plan's objects agree with each other and with what the API server takes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from gpu_fabric.base.enumeration import grouped
from gpu_fabric.k8s.core import ConfigMap
from gpu_fabric.k8s.mellanox import NicClusterPolicy, NicNodePolicy
from gpu_fabric.k8s.nv_ipam import IPPool
from gpu_fabric.k8s.sriov_operator import SriovNetworkNodePolicy
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.ipam import pool_pattern
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.plan import Plan
from gpu_fabric.plan.rail import Rail
from gpu_fabric.plan.records import PlannedObject
from gpu_fabric.rules.clashes import Stated, clashes
from gpu_fabric.rules.planned_network import PlannedNetwork, planned_networks
from gpu_fabric.rules.planned_nodes import AnyPool, placed_pools
from gpu_fabric.rules.registry import Problem, check, check_each, check_plan, in_cluster, in_fabric
from gpu_fabric.spec.places import dotted

_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
_LONGEST_NAME = 253
_MOST_IN_CONFIG_MAP = 1 << 20
_MOST_IN_ANNOTATIONS = 256 << 10
# Kinds of nv-ipam and of the SR-IOV operator.
_HOME_ONLY = (IPPool.api_version, SriovNetworkNodePolicy.api_version)
_OURS = "leave the names of rails out; if that does not help, this program is wrong"


@check_plan("OBJ001")
def jobs_find_what_they_name(case: Case, plan: Plan) -> Iterator[Problem]:
    """Every network and every file of the contract exists where a job of an offered namespace looks for it."""
    made = {(network.namespace, network.name) for network in planned_networks(plan)}
    made |= {(entry.object.metadata.namespace or "", entry.name) for entry in plan.applied("networks")}
    made |= {(entry.object.metadata.namespace or "", entry.name) for entry in plan.applied("nccl")}
    # Networks that a webhook adds exist once, in a namespace that the contract states.
    named = dict.fromkeys(
        [(network.namespace, network.network) for network in plan.workload.networks]
        + [(None, file.config_map) for file in plan.workload.files]
        + [(None, claim.template) for claim in plan.workload.claims]
    )
    for place, entry in enumerate(case.spec.fabric.namespaces):
        lacking = [name for namespace, name in named if (namespace or entry.name, name) not in made]
        if entry.name not in plan.workload.namespaces:
            lacking.append("its name in the contract")
        if lacking:
            yield Problem(
                in_fabric("namespaces", place), f"the namespace {entry.name} lacks {', '.join(lacking)}", _OURS
            )


@check_plan("OBJ002")
def mtus_agree(case: Case, plan: Plan) -> Iterator[Problem]:
    """Every network states the contract's MTU, which is at most the host's."""
    promised = {entry.mtu for entry in plan.workload.networks}
    stated = {mtu for network in planned_networks(plan) for mtu in network.mtus}
    host = case.shape.mtu
    wrong = sorted(mtu for mtu in stated if promised != {mtu} or (host is not None and mtu > host))
    if len(promised) > 1 or wrong:
        yield Problem(
            in_fabric("mtu"),
            f"networks with an MTU of {_numbers(stated)} bytes, the contract with {_numbers(promised)}, the host with "
            f"{_numbers({host})}",
        )


@check_plan("OBJ003")
def networks_belong_to_their_rails(case: Case, plan: Plan) -> Iterator[Problem]:
    """A network's host interface, resource and pool are those of the rail that the contract gives it to."""
    overrides = {entry.rail: place for place, entry in enumerate(case.spec.fabric.rails)}
    by_name = grouped(plan.rails, lambda rail: rail.network)
    for network in planned_networks(plan):
        rails = by_name.get(network.name, [])
        wrong = _foreign_parts(plan, network, rails)
        if wrong:
            place = overrides.get(rails[0].index) if rails else None
            yield Problem(
                dotted(("fabric", "rails") if place is None else ("fabric", "rails", place)),
                f"network {network.name} in {network.namespace} has {', '.join(wrong)}",
                _OURS,
            )


@check_plan("OBJ004")
def objects_have_names_of_their_own(case: Case, plan: Plan) -> Iterator[Problem]:
    """No two objects of one kind in one namespace have the same name."""
    count = Counter((planned.object.kind, planned.object.metadata.namespace, planned.name) for planned in plan.objects)
    for (kind, namespace, name), number in count.items():
        if number > 1:
            where = f" in {namespace}" if namespace else ""
            yield Problem(in_fabric("rails"), f"{number} objects {kind} {name}{where}", _OURS)


@check_plan("OBJ005")
def objects_are_small_enough(case: Case, plan: Plan) -> Iterator[Problem]:
    """No ConfigMap, policy or set of annotations is larger than the API server takes."""
    shape = in_cluster("pools", 0, "shape")
    for planned in plan.objects:
        size = _config_map_size(planned)
        if size > _MOST_IN_CONFIG_MAP:
            yield Problem(shape, f"the ConfigMap {planned.name} has {size} bytes, above {_MOST_IN_CONFIG_MAP}", _OURS)
    for policy in (entry.object for entry in plan.applied("nic-policies", "nic-node-policies")):
        if not isinstance(policy, (NicClusterPolicy, NicNodePolicy)):
            continue
        plugins = (policy.spec.sriov_device_plugin, policy.spec.rdma_shared_device_plugin)
        size = sum(len(plugin.config or "") for plugin in plugins if plugin is not None)
        # Both become ConfigMaps of the operator.
        if size > _MOST_IN_CONFIG_MAP:
            yield Problem(shape, f"the device plug-ins' configuration in {policy.kind} has {size} bytes", _OURS)
    annotations = [(planned.name, planned.object.metadata.annotations or {}) for planned in plan.objects]
    for name, texts in (*annotations, ("the jobs' pods", plan.workload.annotations)):
        size = sum(len(key) + len(text.encode()) for key, text in texts.items())
        if size > _MOST_IN_ANNOTATIONS:
            yield Problem(shape, f"annotations of {name} have {size} bytes, above {_MOST_IN_ANNOTATIONS}", _OURS)


@check_each("OBJ006", placed_pools)
def nodes_have_legal_names(case: Case, pool: AnyPool) -> Iterator[Problem]:
    """Every node that is listed has a name that a node can have."""
    for place, name in enumerate(pool.spec.node_names):
        if name and (len(name) > _LONGEST_NAME or not _NAME.fullmatch(name)):
            yield Problem(pool.at("nodeNames", place), f"{name!r} is not a valid node name")


@check("OBJ007")
def nodes_are_in_one_pool(case: Case) -> Iterator[Problem]:
    """No node is listed in two pools."""
    stated = [
        Stated(("cluster", "pools", number, "nodeNames", place), name, f"pool {pool.name}")
        for number, pool in enumerate(case.spec.cluster.pools)
        for place, name in enumerate(pool.node_names)
        if name
    ]
    for clash in clashes({}, stated):
        yield Problem(dotted(clash.stated.place), f"{clash.other} lists the node {clash.stated.value} as well")


@check_plan("OBJ008")
def operators_see_their_objects(case: Case, plan: Plan) -> Iterator[Problem]:
    """Objects that nv-ipam and the SR-IOV operator honour in their own namespace only are in that namespace."""
    manager = manager_of(case)
    for planned in plan.objects:
        is_pool = planned.object.api_version == IPPool.api_version
        home = manager.namespace if is_pool else manager.sriov_namespace
        namespace = planned.object.metadata.namespace
        if planned.object.api_version in _HOME_ONLY and namespace != home:
            what = f"the {planned.object.kind} {planned.name} is in {namespace or 'no namespace'}"
            yield Problem(in_fabric("rails"), f"{what}, and its controller looks in {home} only", _OURS)


def _foreign_parts(plan: Plan, network: PlannedNetwork, rails: list[Rail]) -> list[str]:
    """What of a network is not its rails'."""
    if not rails:
        return ["no rail"]
    first, wrong = rails[0], []
    # DigitalOcean names the interface after the resource.
    if network.host_interface is not None and network.host_interface not in {first.interface, first.resource}:
        wrong.append(f"interface {network.host_interface} and not {first.interface}")
    if network.resource is not None and any(rail.resource_name != network.resource for rail in rails):
        wrong.append(f"resource {network.resource} and not {first.resource_name}")
    pool = plan.addresses.pool_of(first.index)
    if pool is not None:
        own = {pool.name, str(pool.subnet), pool_pattern(pool)}
        wrong += [f"pool {entry.name} and not {pool.name}" for entry in network.pools if entry.name not in own]
        if any(rail.pool != pool.name for rail in rails):
            wrong.append(f"rails with pool {', '.join(sorted({rail.pool or 'none' for rail in rails}))}")
    attached = [entry for entry in plan.workload.networks if entry.network == network.name]
    if sorted(entry.resource or "" for entry in attached) != sorted(rail.resource_name or "" for rail in rails):
        wrong.append("another resource than its rail in the contract")
    if any(entry.rail not in (None, rail.index) for entry, rail in zip(attached, rails, strict=False)):
        wrong.append("another rail in the contract")
    return wrong


def _config_map_size(planned: PlannedObject) -> int:
    data = planned.object.data if isinstance(planned.object, ConfigMap) else {}
    return sum(len(key) + len(text.encode()) for key, text in data.items())


def _numbers(values: set[int | None] | set[int]) -> str:
    return ", ".join(sorted(str(value) for value in values if value is not None)) or "none stated"
