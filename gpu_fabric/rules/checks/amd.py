"""Checks of the group `amd`: what AMD's Network Operator offers and copies is what the plan relies on."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.catalog.distribution import USUAL_NETWORKS, USUAL_PLUGINS
from gpu_fabric.plan.case import Case, NodeGroup
from gpu_fabric.rules.chart_values import ChartValues, chart_in_use
from gpu_fabric.rules.planned_nodes import node_groups
from gpu_fabric.rules.registry import Problem, check, check_each, check_of, in_cluster, in_fabric, in_software

# What the chart's configuration of the device plug-in selects as amd.com/nic (device-plugin-config.yaml of v1.2.0).
_VENDOR, _DEVICE, _DRIVER = "1dd8", "1002", "ionic"


def _groups_of_one_pool(case: Case) -> tuple[NodeGroup, ...]:
    return tuple(node_groups(case)) if case.choices.one_pool else ()


@check_each("AMD001", _groups_of_one_pool)
def nics_are_those_that_the_plug_in_selects(case: Case, group: NodeGroup) -> Iterator[Problem]:
    """The NICs have the vendor, and as far as they are stated the device and driver, that the plug-in selects."""
    model, name = group.shape.nic_model, group.shape.name
    remedy = "choose another manager"
    if model is None or model.vendor_id is None:
        yield Problem(
            in_fabric("manager"),
            f"the vendor of the NICs of {name} is not known, and the plug-in selects vendor {_VENDOR}",
            f'describe the server in cluster.shapes with nicModel.vendorId: "{_VENDOR}" if they are AMD\'s; '
            f"else {remedy}",
        )
        return
    selected = {"vendor": (model.vendor_id, _VENDOR), "device": (model.device_id, _DEVICE)}
    for what, (own, wanted) in {**selected, "driver": (model.driver, _DRIVER)}.items():
        if own is not None and own != wanted:
            yield Problem(
                in_fabric("manager"),
                f"the NICs of {name} are of {what} {own}, and the plug-in selects {wanted}",
                remedy,
            )
            return


@check("AMD002")
def plug_ins_are_where_the_runtime_reads(case: Case) -> Iterator[Problem]:
    """The runtime reads CNI's files in the folders that the operator knows."""
    stated = case.cni_folders
    if stated is None or not case.choices.one_pool:
        return
    if stated.plugins != USUAL_PLUGINS:
        yield Problem(
            in_cluster("cniFolders", "plugins"),
            f"the runtime reads {stated.plugins}, and the operator copies amd-host-device to {USUAL_PLUGINS}",
        )
    if stated.networks != USUAL_NETWORKS:
        yield Problem(
            in_cluster("cniFolders", "networks"),
            f"the runtime reads {stated.networks}, and the device plug-in waits for Multus in {USUAL_NETWORKS}",
        )


@check_of("AMD004", chart_in_use("amd-network-operator"))
def webhooks_of_kmm_have_certificates(case: Case, chart: ChartValues) -> Iterator[Problem]:
    """It is stated that the cluster has cert-manager, or KMM."""
    if "cert-manager" not in case.spec.cluster.installed and chart.value("kmm", "enabled") is not False:
        yield Problem(in_cluster("installed"))


@check_each("AMD003", _groups_of_one_pool)
def nodes_offer_their_rails_alone(case: Case, group: NodeGroup) -> Iterator[Problem]:
    """It is known which NICs a node has besides its rails, and none of them is AMD's."""
    others, name = group.shape.front_end_nics, group.shape.name
    read = r"`kubectl get node NODE -o jsonpath='{.status.allocatable.amd\.com/nic}'`"
    remedy = f"{read} must print {group.shape.rails}"
    if others is None:
        yield Problem(
            in_cluster("pools"),
            f"it is not known which NICs {name} has besides its {group.shape.rails} rails",
            f"{remedy}; or describe the server in cluster.shapes, with its frontEndNics",
        )
        return
    own = [nic.rdma_device for nic in others if nic.rdma_device is not None and nic.rdma_device.startswith(_DRIVER)]
    if own:
        yield Problem(in_cluster("pools"), f"{name} has {', '.join(own)} besides its rails", remedy)


@check("AMD005")
def gpu_operators_have_gpus(case: Case) -> Iterator[Problem]:
    """AMD's GPU Operator is stated only where the stack has AMD's GPUs, and no cloud hands them out."""
    if case.spec.software.amd_gpu_operator is None:
        return
    providers = {shape.provider for shape in case.shapes if shape.gpus.vendor == "amd"}
    place, cloud = in_software("amdGpuOperator"), case.spec.cluster.provider
    if not providers:
        yield Problem(place, "no pool has GPUs of AMD", "leave it out")
    elif cloud != "existing" or "doks" in providers:
        owner = "Oracle's add-on" if cloud == "oke" else "DigitalOcean's device plug-in"
        yield Problem(place, f"{owner} hands out AMD's GPUs on these nodes", "leave it out")
