"""Rules about waves: what changes nodes beside them."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.catalog.chart import value_at
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.operators.gpu_operator import CHART as GPU_OPERATOR
from gpu_fabric.plan.operators.ofed_driver import CHART as OFED_DRIVER
from gpu_fabric.rules.registry import Problem, check, in_software
from gpu_fabric.spec.places import dotted

_AUTOMATIC, _STRATEGY = "driver.upgradePolicy.autoUpgrade", "daemonsets.updateStrategy"


@check("UPG001")
def gpu_operator_leaves_nodes_to_the_waves(case: Case) -> Iterator[Problem]:
    """Chart values do not give the GPU Operator an upgrade of its own."""
    if case.spec.upgrade is None or not GPU_OPERATOR.brought(case):
        return
    values = case.spec.software.gpu_operator.values
    for path, wanted in ((_AUTOMATIC, False), (_STRATEGY, "OnDelete")):
        if (found := value_at(values, path)) is not None and found != wanted:
            message = f"{found!r} has the GPU Operator change nodes beside the waves of the section upgrade"
            place = in_software("gpuOperator", "values", *path.split("."))
            yield Problem(place, message, "leave it out, or leave the section upgrade out")


@check("UPG002")
def sriov_operator_drains_by_itself(case: Case) -> Iterator[Problem]:
    """Nobody but the waves drains nodes."""
    if case.spec.upgrade is not None and case.choices.virtual_functions == "sriov-operator":
        yield Problem(dotted(("upgrade",)))


@check("UPG003")
def ofed_drivers_are_of_the_policy(case: Case) -> Iterator[Problem]:
    """Network drivers are replaced by waves."""
    if case.spec.upgrade is not None and OFED_DRIVER.brought(case):
        yield Problem(in_software("ofedDriver"))
