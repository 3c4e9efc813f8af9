"""AMD's Network Operator: its chart, and the NetworkConfig of the fabric's nodes.

The chart has KMM on although the stack leaves drivers to the nodes' image: the operator's controller watches KMM's
kinds and does not start without their definitions (ROCm/network-operator v1.2.0, internal/controllers,
SetupWithManager). Its condition Ready says nothing of nodes, so what these offer is waited for before networks.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import JsonValue

from gpu_fabric.k8s import amd
from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.k8s.core import LocalReference
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.operators.operator import ON_NODES, Operator, OwnChart, operand_images
from gpu_fabric.plan.operators.releases import node_tolerations
from gpu_fabric.plan.records import PlannedObject
from gpu_fabric.plan.steps import NODES, Context, Step, Words

_NAME = "gpu-fabric"
_STEP = "network-config"


def _needed(case: Case) -> bool:
    return manager_of(case).chart == CHART.name


def _values(case: Case) -> dict[str, JsonValue]:
    """What differs from the chart's defaults, and from what every stack states."""
    return {"kmm": {"enabled": False}} if "kmm" in case.spec.present else {}


CHART = OwnChart("amd-network-operator", _values, _needed)


def network_config(case: Case) -> amd.NetworkConfig:
    """The operands of the fabric's nodes.

    The driver is that of the nodes: AMD's documentation asks for it there on bare metal (docs/installation/
    networkconfig.md of v1.2.0).
    """
    images, accepted = operand_images(case, CHART), node_tolerations(case) or None
    secrets = case.spec.software.image_pull_secrets
    secret = LocalReference(name=secrets[0].name) if secrets else None
    monitored = "prometheus-operator" in case.spec.cluster.installed
    exporter = amd.MetricsExporter(enable=False)
    if case.spec.software.amd_network_operator.metrics_exporter:
        exporter = amd.MetricsExporter(
            enable=True,
            image=images["metricsExporter"],
            image_registry_secret=secret,
            tolerations=accepted,
            prometheus=amd.Prometheus(service_monitor=amd.ServiceMonitor(enable=True)) if monitored else None,
        )
    return amd.NetworkConfig(
        metadata=ObjectMeta(name=case.named(_NAME), namespace=manager_of(case).namespace),
        spec=amd.NetworkConfigSpec(
            driver=amd.Driver(enable=False),
            device_plugin=amd.NicDevicePlugin(
                enable_node_labeller=True,
                device_plugin_image=images["devicePlugin"],
                node_labeller_image=images["nodeLabeller"],
                device_plugin_tolerations=accepted,
                node_labeller_tolerations=accepted,
                image_registry_secret=secret,
            ),
            metrics_exporter=exporter,
            secondary_network=amd.SecondaryNetwork(
                cni_plugins=amd.Switched(
                    enable=True, image=images["cniPlugins"], image_registry_secret=secret, tolerations=accepted
                )
            ),
            common_config=amd.CommonConfig(
                init_container_image=images["initContainer"],
                utils_container=amd.UtilsContainer(image=images["utilsContainer"], image_registry_secret=secret),
            ),
            selector=case.node_selector,
        ),
    )


def _steps(context: Context) -> Iterator[Step]:
    """The chart, then its object, once the configuration of Multus is on the nodes: the device plug-in waits for it."""
    case = context.case
    yield CHART.step(CHART.release(case))
    if not case.node_selector:
        # OWN009 refuses it.
        return
    timeout = case.line.charts[CHART.name].timeout
    planned = PlannedObject(object=network_config(case), wait_for="condition=Ready", timeout=timeout)
    yield Step(
        name=_STEP,
        component=_STEP,
        kind="operators:NetworkConfig",
        items=(planned,),
        after=("namespaces", NODES, CHART.name, "multus", "multus-daemon", *ON_NODES),
        words=(Words(title="NICs", what=f"NetworkConfig {planned.name}", waits="its condition Ready"),),
    )


OPERATOR = Operator(_steps, CHART)
