"""The operators: a module for each that needs code, which decides whether a stack installs it, with what, after what.

An operator that is its chart alone has no module: its file in the catalog says all.
"""

from functools import cache

from gpu_fabric.catalog import catalog
from gpu_fabric.plan.operators import (
    amd_gpu_operator,
    amd_network_operator,
    dra_driver_nvidia_gpu,
    dranet,
    gpu_operator,
    kueue,
    mpi_operator,
    multus,
    network_operator,
    ofed_driver,
    spiderpool,
    sriov_operator,
    volcano,
    whereabouts,
)
from gpu_fabric.plan.operators.operator import Operator, OwnChart, chart_operator

_BEFORE: tuple[Operator, ...] = (
    gpu_operator.OPERATOR,
    amd_gpu_operator.OPERATOR,
    network_operator.OPERATOR,
    amd_network_operator.OPERATOR,
    whereabouts.OPERATOR,
    ofed_driver.OPERATOR,
    spiderpool.OPERATOR,
    dra_driver_nvidia_gpu.OPERATOR,
    dranet.OPERATOR,
    sriov_operator.OPERATOR,
    multus.OPERATOR,
    volcano.OPERATOR,
)
_AFTER: tuple[Operator, ...] = (mpi_operator.OPERATOR, kueue.OPERATOR)


@cache
def operators() -> tuple[Operator, ...]:
    """All of them, in the order in which their steps are listed if nothing else decides."""
    with_code = {entry.chart.operator for entry in (*_BEFORE, *_AFTER) if entry.chart is not None}
    plain = (name for name, facts in catalog().operators.items() if facts.chart is not None and name not in with_code)
    return (*_BEFORE, *(chart_operator(OwnChart(name)) for name in plain), *_AFTER)


@cache
def own_charts() -> tuple[OwnChart, ...]:
    """The operators' charts."""
    return tuple(entry.chart for entry in operators() if entry.chart is not None)


__all__ = ["operators", "own_charts"]
