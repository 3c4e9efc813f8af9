"""AMD's GPU Operator: its chart, and a DeviceConfig for the nodes of each fabric with AMD's GPUs.

GPUs come from the device plug-in, or from the DRA driver where pods claim them; the operator refuses both at once. Its
condition Ready says nothing of nodes, so the GPUs that nodes offer are waited for, too.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import JsonValue

from gpu_fabric.k8s import amd
from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.k8s.core import LocalReference
from gpu_fabric.plan.case import Case, has_lasting_nodes
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.operators.operator import Operator, OwnChart, operand_images
from gpu_fabric.plan.operators.releases import node_tolerations
from gpu_fabric.plan.records import PlannedCapacity, PlannedObject
from gpu_fabric.plan.steps import NODES, Context, Step, Words, kinds

_NAME = "gpu-fabric"
_COMPONENT, _KIND = "device-config", "operators:DeviceConfig"


def _values(case: Case) -> dict[str, JsonValue]:
    """What differs from what every stack states: the class of its DRA driver, where pods claim GPUs."""
    return {"draDriver": {"deviceClass": {"create": manager_of(case).claims_gpus}}}


def _needed(case: Case) -> bool:
    # AMD005 refuses the section without such GPUs.
    return case.spec.software.amd_gpu_operator is not None and bool(served_fabrics(case))


CHART = OwnChart("amd-gpu-operator", _values, _needed)


def served_fabrics(case: Case) -> tuple[Case, ...]:
    """The fabrics with AMD's GPUs, one for each choice of nodes: a storage fabric is on nodes of another."""
    found: dict[tuple[tuple[str, str], ...], Case] = {}
    for fabric in case.fabrics:
        if fabric.shape.gpus.vendor == "amd" and fabric.node_selector:
            found.setdefault(tuple(fabric.node_selector.items()), fabric)
    return tuple(found.values())


def device_config(case: Case, namespace: str) -> amd.DeviceConfig:
    """The operands of a fabric's nodes; drivers are those of the nodes."""
    images, accepted = operand_images(case, CHART), node_tolerations(case) or None
    section, by_claims = case.spec.software.amd_gpu_operator, manager_of(case).claims_gpus
    secrets = tuple(LocalReference(name=entry.name) for entry in case.spec.software.image_pull_secrets)
    monitored = "prometheus-operator" in case.spec.cluster.installed
    exporter = amd.MetricsExporter(enable=False)
    if section is not None and section.metrics_exporter:
        exporter = amd.MetricsExporter(
            enable=True,
            image=images["metricsExporter"],
            tolerations=accepted,
            prometheus=amd.Prometheus(service_monitor=amd.ServiceMonitor(enable=True)) if monitored else None,
        )
    driver = amd.Switched(enable=False)
    if by_claims:
        driver = amd.Switched(enable=True, image=images["draDriver"], tolerations=accepted)
    return amd.DeviceConfig(
        metadata=ObjectMeta(name=case.own_copy(_NAME), namespace=namespace),
        spec=amd.DeviceConfigSpec(
            driver=amd.Driver(enable=False),
            device_plugin=amd.GpuDevicePlugin(
                enable_device_plugin=not by_claims,
                enable_node_labeller=True,
                device_plugin_image=images["devicePlugin"],
                node_labeller_image=images["nodeLabeller"],
                device_plugin_tolerations=accepted,
                node_labeller_tolerations=accepted,
            ),
            dra_driver=driver,
            metrics_exporter=exporter,
            common_config=amd.GpuCommonConfig(
                init_container_image=images["initContainer"],
                utils_container=amd.UtilsContainer(image=images["utilsContainer"]),
                image_registry_secrets=secrets or None,
            ),
            selector=case.node_selector,
        ),
    )


def _steps(context: Context) -> Iterator[Step]:
    case = context.case
    release = CHART.release(case)
    yield CHART.step(release)
    planned = tuple(
        PlannedObject(
            object=device_config(fabric, release.namespace), wait_for="condition=Ready", timeout=release.timeout
        )
        for fabric in served_fabrics(case)
    )
    words = (Words(title="GPUs", what=kinds(planned), waits="the condition Ready, and GPUs on the nodes"),)
    after = ("namespaces", NODES, CHART.name)
    yield Step(name=_COMPONENT, component=_COMPONENT, kind=_KIND, items=planned, after=after, words=words)
    yield from _capacity(case, (*after, _COMPONENT))


def _steps_of_present(context: Context) -> Iterator[Step]:
    return _capacity(context.case, (NODES,))


def _capacity(case: Case, after: tuple[str, ...]) -> Iterator[Step]:
    """GPUs that nodes offer; none where pods claim them, since a DRA driver publishes those."""
    items = tuple(
        PlannedCapacity(
            nodes=fabric.node_selector,
            count=int(has_lasting_nodes(fabric)),
            resources={fabric.shape.gpus.resource: None},
            timeout=case.line.charts[CHART.name].timeout,
        )
        for fabric in served_fabrics(case)
        if not manager_of(fabric).claims_gpus
    )
    yield Step(name="amd-gpu-capacity", component=_COMPONENT, kind=_KIND, items=items, after=after)


OPERATOR = Operator(_steps, CHART, steps_of_present=_steps_of_present)
