"""Rules about waves: what changes nodes outside them, and whose machines they replace."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.catalog.chart import value_at
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.claims import claims_spec
from gpu_fabric.plan.devices import planned_nodes
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.operators.gpu_operator import CHART as GPU_OPERATOR
from gpu_fabric.plan.operators.ofed_driver import CHART as OFED_DRIVER
from gpu_fabric.plan.startup_taint import startup_taints
from gpu_fabric.plan.waves import REPLACED
from gpu_fabric.plan.ways import WAYS
from gpu_fabric.rules.registry import Problem, check, check_of, in_cluster, in_fabric, in_software
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
            message = f"{found!r} has the GPU Operator change nodes outside the waves of the section upgrade"
            place = in_software("gpuOperator", "values", *path.split("."))
            yield Problem(place, message)


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


def _from_manager(case: Case) -> str | None:
    return None if case.spec.upgrade is None else case.spec.upgrade.from_manager


@check_of("UPG008", _from_manager)
def nodes_can_change_their_manager(case: Case, _: str) -> Iterator[Problem]:
    """The software of both managers can be kept off each node, and nothing else needs one of them on all nodes."""
    fabric, software, manager = case.spec.fabric, case.spec.software, case.choices.manager
    operator = software.network_operator
    plugins = {(nodes.sriov_plugin, nodes.shared_plugin) for nodes in (planned_nodes(case, one) for one in case.groups)}
    of_operator, upgrade = WAYS.get(manager) == "plugin", case.spec.upgrade
    assert upgrade is not None, "it has the key"
    rows: tuple[tuple[object, str, str], ...] = (
        (manager not in WAYS, in_fabric("manager"), f"waves take nodes between {' and '.join(WAYS)}, not {manager}"),
        (case.spec.fabrics, "fabrics", "waves take nodes from one manager to another in a stack of one fabric"),
        (not case.node_selector, in_cluster("pools"), "the nodes have no label in common by which waves know them"),
        (upgrade.action == "hold", dotted(("upgrade", "action")), "hold changes no node, and the earlier manager goes"),
        (
            manager in WAYS and (manager_of(case).is_present or case.choices.model == "host-network"),
            in_fabric("manager"),
            "the stack does not install the manager, so that nothing keeps it off single nodes",
        ),
        (
            of_operator and case.line.policy_by == "chart",
            in_software("releaseLine"),
            f"the chart of line {case.line.name} writes its policy",
        ),
        (
            of_operator and case.choices.access == "virtual",
            in_fabric("model"),
            "virtual functions would stay on the NICs that pods then claim",
        ),
        (
            of_operator and len(plugins) > 1,
            in_cluster("pools"),
            "node groups have device plug-ins of their own, which choose nodes by labels that they have",
        ),
        (
            of_operator and operator.ofed_driver,
            in_software("networkOperator", "ofedDriver"),
            "its drivers would leave the node together with the device plug-in",
        ),
        (fabric.check is not None, in_fabric("check"), "its pods would wait on nodes that the waves have not reached"),
        (
            fabric.readiness is not None,
            in_fabric("readiness"),
            "it would close nodes that the waves have reached, or have not",
        ),
        (
            fabric.host_preparation.addresses,
            in_fabric("hostPreparation", "addresses"),
            "it looks for NICs on the host that claims have moved into pods",
        ),
        (
            manager_of(case).dra_driver is not None and claims_spec(case).gpus == "claims",
            in_fabric("claims", "gpus"),
            "the GPUs' device plug-in would leave all nodes at the same time",
        ),
    )
    for holds, place, message in rows:
        if holds:
            yield Problem(place, message)


def _replaces(case: Case) -> bool:
    return case.spec.upgrade is not None and case.spec.upgrade.machines
