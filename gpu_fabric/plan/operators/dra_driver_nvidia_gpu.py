"""NVIDIA's DRA driver for GPUs: a DaemonSet that publishes the GPUs of every node, and prepares those that are claimed.

For domains of NVLink it publishes channels, and its controller runs IMEX daemons; GPUs then come from the device
plug-in if nothing else is stated. It comes after the GPU Operator, which labels the nodes that have GPUs, may install
their driver, and since 26.7 has definitions of the same names: Helm leaves definitions that exist as they are.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import JsonValue

from gpu_fabric.plan.case import Case
from gpu_fabric.plan.domains import compute_domains, has_domains
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.operators.operator import LABELLED, Operator, OwnChart
from gpu_fabric.plan.operators.releases import extra_tolerations
from gpu_fabric.plan.steps import NODES, Context, Step, Words, kinds

OPERATORS_ROOT = "/run/nvidia/driver"
"""Where the GPU driver is that the GPU Operator installs; one of the node image is at `/`, the chart's default."""


def _needed(case: Case) -> bool:
    wanted = manager_of(case).claims_gpus or any(map(has_domains, case.fabrics))
    return case.spec.software.gpu_dra_driver is not None and wanted


def _values(case: Case) -> dict[str, JsonValue]:
    """What differs from the chart's defaults and from what every stack states.

    The driver runs on all nodes with GPUs, those outside the fabric as well: where GPUs are claimed, the device plug-in
    is off on all of them.
    """
    values: dict[str, JsonValue] = {}
    if any(map(has_domains, case.fabrics)):
        values["resources"] = {"computeDomains": {"enabled": True}}
        if not manager_of(case).claims_gpus:
            values["resources"] = {"computeDomains": {"enabled": True}, "gpus": {"enabled": False}}
            values["gpuResourcesEnabledOverride"] = False
    if case.spec.software.gpu_operator.driver:
        values["nvidiaDriverRoot"] = OPERATORS_ROOT
    if (accepted := extra_tolerations(case)) is not None:
        values["kubeletPlugin"] = {"tolerations": accepted}
    return values


CHART = OwnChart("dra-driver-nvidia-gpu", _values, _needed)


def _steps(context: Context) -> Iterator[Step]:
    """The chart, then the domains: they are deleted before it, since its controller takes their finalizers off."""
    yield CHART.step(CHART.release(context.case), LABELLED)
    yield from _domains(context)


def _domains(context: Context) -> Iterator[Step]:
    planned = tuple(compute_domains(context.case))
    waits = "nothing: each node's IMEX daemon starts with the first pod there that claims a channel"
    yield Step(
        name="domains",
        component="domains",
        kind="rdma:Domains",
        items=planned,
        after=("namespaces", NODES, CHART.name),
        words=(Words(title="domains of NVLink", what=kinds(planned), waits=waits),),
    )


OPERATOR = Operator(_steps, CHART, steps_of_present=_domains)
