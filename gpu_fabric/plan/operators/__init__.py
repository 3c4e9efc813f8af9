"""The operators: a module each, which decides whether a stack installs it, with what, and after what."""

from gpu_fabric.plan.operators import (
    gpu_operator,
    jobset,
    kueue,
    leader_worker_set,
    mpi_operator,
    multus,
    network_operator,
    ofed_driver,
    spiderpool,
    sriov_operator,
    volcano,
    whereabouts,
)
from gpu_fabric.plan.operators.operator import Operator

OPERATORS: tuple[Operator, ...] = (
    gpu_operator.OPERATOR,
    network_operator.OPERATOR,
    whereabouts.OPERATOR,
    ofed_driver.OPERATOR,
    spiderpool.OPERATOR,
    sriov_operator.OPERATOR,
    multus.OPERATOR,
    volcano.OPERATOR,
    jobset.OPERATOR,
    leader_worker_set.OPERATOR,
    mpi_operator.OPERATOR,
    kueue.OPERATOR,
)
"""All of them, in the order in which their steps are listed where nothing else decides."""

CHARTS = tuple(entry.chart for entry in OPERATORS if entry.chart is not None)
"""The operators' charts."""

__all__ = ["CHARTS", "OPERATORS"]
