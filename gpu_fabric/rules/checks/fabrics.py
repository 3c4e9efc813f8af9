"""Checks of several fabrics in one stack, each of which is checked alone as well."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations

from gpu_fabric.catalog import Nic
from gpu_fabric.plan import Plan
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.claims import claims_spec
from gpu_fabric.plan.fabrics import (
    display_name,
    fabric_cases,
    is_storage,
    pools_of_fabric,
    share_nodes,
    supernets,
)
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.nccl_settings import DEVICES, storage_devices
from gpu_fabric.plan.rails import plan_rails
from gpu_fabric.rules.planned_nodes import labels_of_pools
from gpu_fabric.rules.registry import Problem, check, check_plan, in_cluster, in_software
from gpu_fabric.spec.further_fabric import FurtherFabricSpec
from gpu_fabric.spec.places import dotted
from gpu_fabric.spec.suggestion import nearest


def _in(fabric: str, *keys: str | int) -> str:
    """The path of keys of a fabric's section."""
    return dotted(("fabrics", fabric, *keys) if fabric else ("fabric", *keys))


@check("FAB001")
def pools_of_fabrics_exist(case: Case) -> Iterator[Problem]:
    """Every pool of a fabric is a GPU pool of the stack."""
    known = [pool.name for pool in case.spec.cluster.pools]
    for fabric, section in case.spec.fabrics.items():
        for place, name in enumerate(section.pools):
            if name not in known:
                remedy = f"{nearest(name, known)}write one of: {', '.join(known)}"
                yield Problem(_in(fabric, "pools", place), f"the stack has no GPU pool {name}", remedy)


@check("FAB002")
def pools_have_one_compute_fabric(case: Case) -> Iterator[Problem]:
    """A pool is in one compute fabric."""
    owners: dict[str, str] = {}
    for fabric, section in case.spec.fabrics.items():
        for place, name in enumerate(section.pools if section.purpose == "compute" else ()):
            if (owner := owners.setdefault(name, fabric)) != fabric:
                yield Problem(_in(fabric, "pools", place), f"pool {name} is in the compute fabric {owner} as well")


@check("FAB003")
def section_fabric_has_pools(case: Case) -> Iterator[Problem]:
    """The section `fabric` has a pool that no other compute fabric has."""
    if case.spec.fabrics and not pools_of_fabric(case.spec, ""):
        first = next(name for name, section in case.spec.fabrics.items() if section.purpose == "compute")
        message = "every pool is in a compute fabric of fabrics, and the section fabric describes none"
        yield Problem(_in(first, "pools"), message, f"move the keys of {first} into the section fabric")


@check("FAB004")
def storage_is_no_compute(case: Case) -> Iterator[Problem]:
    """A storage fabric has NICs of its own, and none of what is NCCL's."""
    for fabric, section in case.spec.fabrics.items():
        if not is_storage(section):
            continue
        if not section.nics:
            message = f"{fabric} lists no NICs, and the shape's RDMA NICs are those of the compute fabric"
            yield Problem(_in(fabric, "nics"), message, "add nics: the PCI address, interface and RDMA device of each")
        for key, written in (
            ("nccl", section.nccl.model_fields_set),
            ("verification", section.verification is not None),
            ("resilience", "resilience" in section.model_fields_set),
        ):
            if written:
                yield Problem(_in(fabric, key), "it has no effect: NCCL uses no storage fabric", "leave it out")
        if section.readiness is not None:
            message = "it has no effect: a node has one condition, that of its compute fabric"
            yield Problem(_in(fabric, "readiness"), message, "leave it out")


def _structure_holds(case: Case) -> bool:
    checks = (pools_of_fabrics_exist, pools_have_one_compute_fabric, section_fabric_has_pools, storage_is_no_compute)
    return bool(case.spec.fabrics) and not any(problem for check in checks for problem in check(case))


@lru_cache(maxsize=1)
def _cases(case: Case) -> tuple[Case, ...]:
    """The fabrics of a stack; none where it has one fabric, or where it is not clear which nodes they have."""
    return fabric_cases(case.spec) if _structure_holds(case) else ()


def _pairs(case: Case) -> Iterator[tuple[Case, Case]]:
    """Every two fabrics of a stack."""
    return combinations(_cases(case), 2)


def _pairs_on_nodes(case: Case) -> Iterator[tuple[Case, Case]]:
    """Every two fabrics that have nodes in common."""
    return (pair for pair in _pairs(case) if share_nodes(case.spec, (one.fabric for one in pair)))


_NIC_FACTS = (("pci", "PCI address"), ("rdma_device", "RDMA device"), ("interface", "interface"))


@check("FAB005")
def nics_have_one_fabric(case: Case) -> Iterator[Problem]:
    """On the same nodes a NIC is in one fabric."""
    for first, second in _pairs_on_nodes(case):
        for place, nic in enumerate(_own_nics(second)):
            for fact, what in _NIC_FACTS:
                value = getattr(nic, fact)
                if value is not None and value in _values(first, fact):
                    yield Problem(
                        _in(second.fabric, "nics", place),
                        f"the {what} {value} is that of a NIC of fabric {display_name(first.fabric)}",
                    )
                    break


def _own_nics(case: Case) -> tuple[Nic, ...]:
    section = case.spec.fabric
    return section.nics if isinstance(section, FurtherFabricSpec) else ()


def _values(case: Case, fact: str) -> set[str | None]:
    nics: list[Nic] = [nic for group in case.groups for nic in group.shape.nics]
    return {getattr(nic, fact) for nic in nics}


@check("FAB006")
def ranges_are_disjoint(case: Case) -> Iterator[Problem]:
    """No address of a fabric is in the range of another."""
    stated = supernets(case.spec) if case.spec.fabrics else {}
    for (first, ours), (second, theirs) in combinations(stated.items(), 2):
        if ours.overlaps(theirs):
            yield Problem(
                _in(second, "addressing", "supernet"), f"{theirs} overlaps {ours} of fabric {display_name(first)}"
            )


@check("FAB007")
def labels_distinguish_fabrics(case: Case) -> Iterator[Problem]:
    """The labels of a fabric's nodes are carried by none of the others."""
    fabrics = _cases(case)
    carried = {
        pool.name: labels
        for fabric in fabrics
        for pool, labels in zip(fabric.spec.cluster.pools, labels_of_pools(fabric), strict=True)
    }
    numbers = {pool.name: number for number, pool in enumerate(case.spec.cluster.pools)}
    for fabric in fabrics:
        own = [pool.name for pool in fabric.spec.cluster.pools]
        wanted = fabric.node_labels
        others = [name for name, labels in carried.items() if name not in own and wanted.items() <= labels.items()]
        if others:
            shown = ", ".join(f"{key}={text}" for key, text in wanted.items())
            yield Problem(
                in_cluster("pools", numbers[own[0]], "labels"),
                f"what all nodes of fabric {display_name(fabric.fabric)} carry ({shown or 'no label'}) also holds on "
                f"the nodes of pool {', '.join(others)}",
            )


@check("FAB008")
def fabrics_have_one_manager(case: Case) -> Iterator[Problem]:
    """All fabrics have one manager that serves several, and GPUs of one vendor."""
    first, *others = _cases(case) or (case,)
    for fabric in others:
        theirs, ours = fabric.choices.manager, first.choices.manager
        if theirs != ours:
            message = f"the manager is {theirs}, and that of fabric {display_name('')} is {ours}"
            yield Problem(_in(fabric.fabric, "manager"), message, f"write manager: {ours}")
        elif not manager_of(fabric).serves_several_fabrics:
            message = f"the manager {theirs} configures all nodes alike, and a stack has one fabric with it"
            remedy = "write manager: network-operator, or dranet, for all of them"
            yield Problem(_in(fabric.fabric, "manager"), message, remedy)
        elif fabric.purpose == "storage" and manager_of(fabric).devices_advertised_by is not None:
            cloud = manager_of(fabric).devices_advertised_by
            message = f"{cloud} advertises the NICs of its fabric, and no others"
            yield Problem(_in(fabric.fabric, "purpose"), message, "leave this fabric out")
        elif manager_of(fabric).dra_driver and claims_spec(fabric).gpus != claims_spec(first).gpus:
            message = f"GPUs come by {claims_spec(fabric).gpus}, and in fabric {display_name('')} by the other way"
            yield Problem(_in(fabric.fabric, "claims", "gpus"), message, f"write gpus: {claims_spec(first).gpus}")
        if fabric.shape.gpus.vendor != first.shape.gpus.vendor:
            yield Problem(
                _in(fabric.fabric, "pools"),
                f"the GPUs are from {fabric.shape.gpus.vendor}, and those of fabric {display_name('')} from "
                f"{first.shape.gpus.vendor}",
                "move the pools to a cluster of their own",
            )


@check("FAB009")
def fabrics_agree_on_their_nodes(case: Case) -> Iterator[Problem]:
    """Fabrics on the same nodes need the same of them."""
    for first, second in _pairs_on_nodes(case):
        name, ours, theirs = display_name(first.fabric), first.choices, second.choices
        if ours.rdma_mode != theirs.rdma_mode:
            message = f"the RDMA mode is {theirs.rdma_mode}, and fabric {name} has {ours.rdma_mode} on the same nodes"
            yield Problem(
                _in(second.fabric, "rdmaMode"), message, f"write rdmaMode: {ours.rdma_mode}, or choose other models"
            )
        functions = (ours.virtual_functions, theirs.virtual_functions)
        if None not in functions and functions[0] != functions[1]:
            yield Problem(
                _in(second.fabric, "virtualFunctions"),
                f"virtual functions are created by {functions[1]}, and those of fabric {name} on the same nodes by "
                f"{functions[0]}",
                f"write virtualFunctions: {functions[0]}",
            )
        for fabric in (first, second):
            if fabric.spec.fabric.host_preparation.fabric_rule:
                yield Problem(
                    _in(fabric.fabric, "hostPreparation", "fabricRule"),
                    "the rule keeps all traffic off the rails but that of one fabric, and the nodes have several",
                    "leave it out",
                )


@check("FAB010")
def storage_has_whole_node_groups(case: Case) -> Iterator[Problem]:
    """A storage fabric has all pools of a node group, or none."""
    for fabric in _cases(case):
        for compute in fabric.compute:
            for group in compute.groups:
                pools = {pool.name for pool in compute.spec.cluster.pools if pool.shape == group.shape.name}
                lacking = pools - {pool.name for pool in fabric.spec.cluster.pools}
                if lacking and lacking != pools:
                    yield Problem(
                        _in(fabric.fabric, "pools"),
                        f"pools {', '.join(sorted(pools - lacking))} are in it, and {', '.join(sorted(lacking))} of "
                        "the same machines and the same compute fabric are not",
                        f"add {', '.join(sorted(lacking))}, or give the others a compute fabric of their own",
                    )


@check("FAB015")
def storage_leaves_the_node_network_alone(case: Case) -> Iterator[Problem]:
    """A storage fabric has none of the NICs that the stack file says are of the node network."""
    for name, section in case.spec.fabrics.items():
        if not is_storage(section):
            continue
        machines = {pool.shape for pool in case.spec.cluster.pools if pool.name in section.pools}
        for machine in sorted(machines & case.spec.cluster.shapes.keys()):
            front = {nic.pci for nic in case.spec.cluster.shapes[machine].front_end_nics or () if nic.pci}
            for place, nic in enumerate(section.nics):
                if nic.pci in front:
                    yield Problem(
                        _in(name, "nics", place),
                        f"{nic.pci} is one of the frontEndNics of {machine}: with a default route it is offered to no "
                        "pod, and without one the node loses it to a pod",
                        f"list another NIC, or take {nic.pci} out of frontEndNics if the node has no address there",
                    )


@check("FAB011")
def nccl_leaves_storage_alone(case: Case) -> Iterator[Problem]:
    """The stack file says which devices of a pod are not those of its compute fabric."""
    for fabric in _cases(case):
        if storage_devices(fabric) is None and DEVICES not in fabric.spec.fabric.nccl.settings:
            names = ", ".join(storage.fabric for storage in fabric.storage)
            yield Problem(
                _in(fabric.fabric, "nccl", "settings"),
                f"pods have virtual functions of this fabric with devices of {names} whose names are not known",
                f"choose model: host-device for {names} and state each rdmaDevice, or write {DEVICES} here",
            )


@check_plan("FAB012")
def fabrics_share_what_they_share(case: Case, plan: Plan) -> Iterator[Problem]:
    """What several fabrics apply is the same object, or one that serves them all."""
    for conflict in plan.conflicts:
        section = conflict.second
        yield Problem(
            _in(section),
            f"{conflict.what} differs in {conflict.place or 'its content'} from that of fabric {conflict.first}",
        )


@check_plan("FAB013")
def names_are_of_one_fabric(case: Case, plan: Plan) -> Iterator[Problem]:
    """No resource and no network belongs to two fabrics, but for devices that a cloud names alike on all nodes."""
    found: dict[str, str] = {}
    for fabric in _cases(case):
        by_cloud, name = manager_of(fabric).devices_advertised_by is not None, fabric.fabric
        for rail in plan_rails(fabric):
            for what, value in (("network", rail.network), ("resource", None if by_cloud else rail.resource_name)):
                if value is not None and (owner := found.setdefault(f"{what} {value}", name)) != name:
                    message = f"the {what} {value} is one of fabric {display_name(owner)} as well"
                    yield Problem(_in(name, "rails"), message)


@check_plan("FAB014")
def line_configures_fabrics(case: Case, plan: Plan) -> Iterator[Problem]:
    """The release line can configure the device plug-ins of several fabrics."""
    if not plan.fabrics or not manager_of(case).configures_node_groups:
        return
    if case.line.policy_by == "stack" and (case.line.nic_node_policies or not plan.applied("nic-node-policies")):
        return
    able = [line.name for line in case.known.releases.values() if line.nic_node_policies]
    yield Problem(
        in_software("releaseLine"),
        f"the fabrics need configurations of their own for the device plug-ins, and release line {case.line.name} has "
        "one for all nodes",
        f"write {' or '.join(able)}",
    )
