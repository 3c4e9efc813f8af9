"""Finished plans in which one thing about rails, device plug-ins or the operator's policies is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from planned_steps import with_items

from gpu_fabric.k8s.apps import DaemonSet
from gpu_fabric.k8s.device_plugin import DeviceSelectors
from gpu_fabric.k8s.mellanox import NicClusterPolicy, NicNodePolicy, RdmaSharedDevicePlugin
from gpu_fabric.k8s.sriov_operator import SriovNetworkNodePolicy
from gpu_fabric.plan import Plan
from gpu_fabric.plan.records import PlannedObject
from rules.alterations.parts import with_policy, with_resource, with_spec


def without_a_device_plugin(plan: Plan) -> Plan:
    return plan.model_copy(update={"sriov_plugin": None, "shared_plugin": None})


def with_selectors_of_rail_0(selectors: DeviceSelectors) -> Callable[[Plan], Plan]:
    def alter(plan: Plan) -> Plan:
        return with_resource(plan, 0, selectors=selectors)

    return alter


def with_rail_1_selecting_rail_0s_nic_too(plan: Plan) -> Plan:
    assert plan.sriov_plugin is not None
    first, second = (resource.alternatives for resource in plan.sriov_plugin.resource_list[:2])
    return with_resource(plan, 1, selectors=(*second, *first))


def with_the_nics_of_two_rails_swapped(plan: Plan) -> Plan:
    first, second, *others = plan.rails
    swapped = (first.model_copy(update={"pci": second.pci}), second.model_copy(update={"pci": first.pci}))
    return plan.model_copy(update={"rails": (*swapped, *others)})


def in_rdma_mode(mode: str) -> Callable[[Plan], Plan]:
    def alter(plan: Plan) -> Plan:
        return plan.model_copy(update={"choices": plan.choices.model_copy(update={"rdma_mode": mode})})

    return alter


def with_rail_0_of_no_pool(plan: Plan) -> Plan:
    first, *others = plan.rails
    return plan.model_copy(update={"rails": (first.model_copy(update={"pool": None}), *others)})


def with_a_device_plugin_configuration_of_two_mebibytes(plan: Plan) -> Plan:
    planned = plan.record(PlannedObject, "nic-policies")
    assert planned is not None
    assert isinstance(planned.object, NicClusterPolicy)
    plugin = planned.object.spec.sriov_device_plugin
    assert plugin is not None
    return with_policy(plan, sriov_device_plugin=plugin.model_copy(update={"config": "x" * (2 << 20)}))


def with_the_nearest_gpus_of_two_rails_swapped(plan: Plan) -> Plan:
    first, *others, last = plan.rails
    swapped = (
        first.model_copy(update={"nearest_gpu": last.nearest_gpu}),
        last.model_copy(update={"nearest_gpu": first.nearest_gpu}),
    )
    return plan.model_copy(update={"rails": (swapped[0], *others, swapped[1])})


def without_the_last_rail(plan: Plan) -> Plan:
    return plan.model_copy(update={"rails": plan.rails[:-1]})


def with_rail_0_shared_by_the_interface_of_rail_1(plan: Plan) -> Plan:
    assert plan.shared_plugin is not None
    first, second, *others = plan.shared_plugin.config_list
    first = first.model_copy(update={"selectors": second.selectors})
    plugin = plan.shared_plugin.model_copy(update={"config_list": (first, second, *others)})
    return plan.model_copy(update={"shared_plugin": plugin})


def without_nv_ipam(plan: Plan) -> Plan:
    return with_policy(plan, nv_ipam=None)


def without_tolerations_of_operands(plan: Plan) -> Plan:
    return with_policy(plan, tolerations=None)


def with_the_shared_plugin_in_a_node_policy(plan: Plan) -> Plan:
    image = {"image": "k8s-rdma-shared-dev-plugin", "repository": "mirror.example.com", "version": "1"}
    return _with_node_policy(plan, rdma_shared_device_plugin=RdmaSharedDevicePlugin(**image))


def with_a_node_policy_of_two_mebibytes(plan: Plan) -> Plan:
    policy = plan.applied("nic-node-policies")[0].object
    assert isinstance(policy, NicNodePolicy)
    plugin = policy.spec.sriov_device_plugin
    assert plugin is not None
    return _with_node_policy(plan, sriov_device_plugin=plugin.model_copy(update={"config": "x" * (2 << 20)}))


def without_tolerations_of_a_node_policy(plan: Plan) -> Plan:
    return _with_node_policy(plan, tolerations=None)


def without_tolerations_of_cni_plugins(plan: Plan) -> Plan:
    return with_items(plan, "cni-plugins", map(_intolerant, plan.applied("cni-plugins")))


def without_tolerations_of_virtual_functions(plan: Plan) -> Plan:
    return with_items(plan, "virtual-functions", map(_intolerant, plan.applied("virtual-functions")))


def without_tolerations_of_host_preparation(plan: Plan) -> Plan:
    for name in ("host-preparation", "check"):
        if plan.step(name) is not None:
            plan = with_items(plan, name, map(_intolerant, plan.applied(name)))
    return plan


def without_node_policies(plan: Plan) -> Plan:
    return with_items(plan, "sriov-policies", ())


def with_two_node_policies_for_one_nic(plan: Plan) -> Plan:
    policies = [entry for entry in plan.applied("sriov-policies") if isinstance(entry.object, SriovNetworkNodePolicy)]
    first, second, *others = policies
    assert isinstance(first.object, SriovNetworkNodePolicy)
    assert isinstance(second.object, SriovNetworkNodePolicy)
    spec = second.object.spec.model_copy(update={"nic_selector": first.object.spec.nic_selector})
    return with_items(plan, "sriov-policies", (first, with_spec(second, spec), *others))


def with_a_node_policy_in_namespace_default(plan: Plan) -> Plan:
    *others, last = plan.applied("sriov-policies")
    metadata = last.object.metadata.model_copy(update={"namespace": "default"})
    moved = last.model_copy(update={"object": last.object.model_copy(update={"metadata": metadata})})
    return with_items(plan, "sriov-policies", (*others, moved))


def _with_node_policy(plan: Plan, **fields: Any) -> Plan:
    first, *others = plan.applied("nic-node-policies")
    assert isinstance(first.object, NicNodePolicy)
    altered = with_spec(first, first.object.spec.model_copy(update=fields))
    return with_items(plan, "nic-node-policies", (altered, *others))


def _intolerant(planned: PlannedObject) -> PlannedObject:
    made = planned.object
    if not isinstance(made, DaemonSet):
        return planned
    pods = made.spec.template.spec.model_copy(update={"tolerations": None})
    template = made.spec.template.model_copy(update={"spec": pods})
    return with_spec(planned, made.spec.model_copy(update={"template": template}))
