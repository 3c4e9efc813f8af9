"""Rules about waves: what changes nodes beside them, and whose machines they replace."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.catalog.chart import value_at
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.operators.gpu_operator import CHART as GPU_OPERATOR
from gpu_fabric.plan.operators.ofed_driver import CHART as OFED_DRIVER
from gpu_fabric.plan.startup_taint import startup_taints
from gpu_fabric.plan.waves import REPLACED
from gpu_fabric.rules.registry import Problem, check, in_cluster, in_software
from gpu_fabric.spec.oke import OkeClusterSpec
from gpu_fabric.spec.places import dotted

_MACHINES = dotted(("upgrade", "machines"))
_AUTOMATIC, _STRATEGY = "driver.upgradePolicy.autoUpgrade", "daemonsets.updateStrategy"


@check("UPG001")
def gpu_operator_leaves_nodes_to_the_waves(case: Case) -> Iterator[Problem]:
    """Chart values do not give the GPU Operator an upgrade of its own."""
    if case.spec.upgrade is None or not GPU_OPERATOR.is_installed(case):
        return
    values = case.spec.software.gpu_operator.values
    for path, wanted in ((_AUTOMATIC, False), (_STRATEGY, "OnDelete")):
        if (found := value_at(values, path)) is not None and found != wanted:
            message = f"{found!r} has the GPU Operator change nodes beside the waves of the section upgrade"
            place = in_software("gpuOperator", "values", *path.split("."))
            yield Problem(place, message, "leave it out, or leave the section upgrade out")


@check("UPG002")
def sriov_operator_drains_by_itself(case: Case) -> Iterator[Problem]:
    """Only the waves drain nodes."""
    if case.spec.upgrade is not None and case.choices.virtual_functions == "sriov-operator":
        yield Problem(dotted(("upgrade",)))


@check("UPG003")
def ofed_drivers_are_of_the_policy(case: Case) -> Iterator[Problem]:
    """Network drivers are replaced by waves."""
    if case.spec.upgrade is not None and OFED_DRIVER.is_installed(case):
        yield Problem(in_software("ofedDriver"))


@check("UPG004")
def machines_are_of_managed_pools(case: Case) -> Iterator[Problem]:
    """Waves replace machines where Oracle can replace one by one."""
    if not _replaces(case):
        return
    if not isinstance(case.spec.cluster, OkeClusterSpec):
        message = "waves replace machines of managed node pools at Oracle alone"
        yield Problem(_MACHINES, message, "leave it out; docs/upgrading.md has the order by hand")
        return
    for number, pool in enumerate(case.spec.cluster.pools):
        if pool.placement not in REPLACED:
            message = f"placement {pool.placement} is not a managed pool, whose machines waves could replace"
            remedy = f"write {' or '.join(REPLACED)}, or leave upgrade.machines out"
            yield Problem(in_cluster("pools", number, "placement"), message, remedy)


@check("UPG005")
def only_the_waves_replace_machines(case: Case) -> Iterator[Problem]:
    """Pools whose machines waves replace are left alone by Oracle's cycling and its autoscaler."""
    if not _replaces(case) or not isinstance(case.spec.cluster, OkeClusterSpec):
        return
    for number, pool in enumerate(case.spec.cluster.pools):
        if pool.cycling is not None:
            message = "cycling renews nodes as soon as the pool changes, before a wave has waited for their jobs"
            yield Problem(in_cluster("pools", number, "cycling"), message, "leave it out, or upgrade.machines")
        if pool.auto_scale is not None:
            message = "the autoscaler makes the pool smaller while a wave has emptied a node"
            yield Problem(in_cluster("pools", number, "autoScale"), message, "leave it out, or upgrade.machines")


@check("UPG006")
def successors_join_with_a_taint(case: Case) -> Iterator[Problem]:
    """No job lands on a machine between its join and its wave."""
    cluster = case.spec.cluster
    if not _replaces(case) or not isinstance(cluster, OkeClusterSpec):
        return
    if not all(startup_taints(case.spec, pool) for pool in cluster.pools):
        yield Problem(_MACHINES)


def _replaces(case: Case) -> bool:
    return case.spec.upgrade is not None and case.spec.upgrade.machines
