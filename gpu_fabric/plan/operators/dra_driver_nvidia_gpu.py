"""NVIDIA's DRA driver for GPUs: a DaemonSet that publishes the GPUs of every node, and prepares those that are claimed.

It comes after the GPU Operator, which labels the nodes that have GPUs, may install their driver, and since 26.7 has
definitions of the same names: Helm leaves definitions that exist as they are.
"""

from __future__ import annotations

from pydantic import JsonValue

from gpu_fabric.plan.case import Case
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.operators.operator import LABELLED, OwnChart, chart_operator
from gpu_fabric.plan.operators.releases import extra_tolerations

OPERATORS_ROOT = "/run/nvidia/driver"
"""Where the GPU driver is that the GPU Operator installs; one of the node image is at `/`, the chart's default."""


def _needed(case: Case) -> bool:
    return case.spec.software.gpu_dra_driver is not None and manager_of(case).claims_gpus


def _values(case: Case) -> dict[str, JsonValue]:
    """What differs from the chart's defaults and from what every stack states.

    The driver runs on all nodes with GPUs, those outside the fabric as well: the device plug-in is off on all of them.
    """
    values: dict[str, JsonValue] = {}
    if case.spec.software.gpu_operator.driver:
        values["nvidiaDriverRoot"] = OPERATORS_ROOT
    if (accepted := extra_tolerations(case)) is not None:
        values["kubeletPlugin"] = {"tolerations": accepted}
    return values


CHART = OwnChart("dra-driver-nvidia-gpu", _values, _needed)
OPERATOR = chart_operator(CHART, note="", after=LABELLED)
