"""What alterations of a plan have in common: a part of it with something else in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from planned_steps import with_items

from gpu_fabric.k8s.cni import NetworkAttachmentDefinition
from gpu_fabric.k8s.device_plugin import SriovResource
from gpu_fabric.k8s.mellanox import NicClusterPolicy
from gpu_fabric.plan import Plan
from gpu_fabric.plan.records import PlannedObject


def setting_mtu(mtu: int) -> Callable[[dict[str, Any]], None]:
    def set_mtu(config: dict[str, Any]) -> None:
        for plugin in config["plugins"]:
            if "mtu" in plugin:
                plugin["mtu"] = mtu

    return set_mtu


def patch_of(plan: Plan) -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(json.dumps(plan.workload.pod_template_patch))
    return copy


def with_annotations(planned: PlannedObject, annotations: dict[str, str]) -> PlannedObject:
    metadata = planned.object.metadata.model_copy(update={"annotations": annotations})
    return planned.model_copy(update={"object": planned.object.model_copy(update={"metadata": metadata})})


def with_contract(plan: Plan, **fields: Any) -> Plan:
    return plan.model_copy(update={"workload": plan.workload.model_copy(update=fields)})


def with_policy(plan: Plan, **fields: Any) -> Plan:
    planned = plan.record(PlannedObject, "nic-policies")
    assert planned is not None
    policy = planned.object
    assert isinstance(policy, NicClusterPolicy)
    altered = policy.model_copy(update={"spec": policy.spec.model_copy(update=fields)})
    return with_items(plan, "nic-policies", (planned.model_copy(update={"object": altered}),))


def with_resource(plan: Plan, place: int, **fields: Any) -> Plan:
    assert plan.sriov_plugin is not None
    resources: list[SriovResource] = list(plan.sriov_plugin.resource_list)
    resources[place] = resources[place].model_copy(update=fields)
    plugin = plan.sriov_plugin.model_copy(update={"resource_list": tuple(resources)})
    return plan.model_copy(update={"sriov_plugin": plugin})


def with_first_network(plan: Plan, change: Callable[[dict[str, Any]], Any]) -> Plan:
    first, *others = plan.applied("networks")
    return with_items(plan, "networks", (with_config(first, change), *others))


def with_config(network: PlannedObject, change: Callable[[dict[str, Any]], Any]) -> PlannedObject:
    made = network.object
    assert isinstance(made, NetworkAttachmentDefinition)
    config = json.loads(made.spec.config)
    change(config)
    return with_spec(network, made.spec.model_copy(update={"config": json.dumps(config)}))


def with_spec(planned: PlannedObject, spec: Any) -> PlannedObject:
    return planned.model_copy(update={"object": planned.object.model_copy(update={"spec": spec})})
