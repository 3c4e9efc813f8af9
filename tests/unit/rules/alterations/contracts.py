"""Finished plans whose contract has one thing wrong, as only a fault of this program can bring about."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from gpu_fabric.k8s.names import NETWORKS_ANNOTATION
from gpu_fabric.plan import Plan
from rules.alterations.parts import patch_of, with_contract


def requesting_two_devices_of_rail_0(plan: Plan) -> Plan:
    name = plan.rails[0].resource_name or ""
    return with_contract(plan, resources={**plan.workload.resources, name: "2"})


def with_rail_0_attached(**facts: Any) -> Callable[[Plan], Plan]:
    """The contract says something else about its first network."""

    def alter(plan: Plan) -> Plan:
        first, *others = plan.workload.networks
        return with_contract(plan, networks=(first.model_copy(update=facts), *others))

    return alter


def without_namespaces_in_the_contract(plan: Plan) -> Plan:
    return with_contract(plan, namespaces=())


def with_an_annotation_of_300_kibibytes(plan: Plan) -> Plan:
    return with_contract(plan, annotations={NETWORKS_ANNOTATION: "x" * (300 << 10)})


def without_tolerations_of_jobs(plan: Plan) -> Plan:
    return with_contract(plan, tolerations=())


def with_other_limits_than_requests(plan: Plan) -> Plan:
    patch = patch_of(plan)
    patch["spec"]["containers"][0]["resources"]["limits"] = {"nvidia.com/gpu": "8"}
    return with_contract(plan, pod_template_patch=patch)


def with_other_requests_than_limits(plan: Plan) -> Plan:
    patch = patch_of(plan)
    patch["spec"]["containers"][0]["resources"]["requests"] = {"nvidia.com/gpu": "8"}
    return with_contract(plan, pod_template_patch=patch)


def without_capabilities_in_the_patch(plan: Plan) -> Plan:
    patch = patch_of(plan)
    del patch["spec"]["containers"][0]["securityContext"]
    return with_contract(plan, pod_template_patch=patch)


def with_a_patch_for_a_network_namespace_of_its_own(plan: Plan) -> Plan:
    patch = patch_of(plan)
    patch["spec"]["hostNetwork"] = False
    return with_contract(plan, pod_template_patch=patch)


def with_another_annotation_in_the_patch(plan: Plan) -> Plan:
    patch = patch_of(plan)
    patch["metadata"]["annotations"][NETWORKS_ANNOTATION] = "[]"
    return with_contract(plan, pod_template_patch=patch)


def attached_to_nothing(plan: Plan) -> Plan:
    patch = patch_of(plan)
    del patch["metadata"]["annotations"]
    return with_contract(plan, networks=(), annotations={}, pod_template_patch=patch)


def with_an_annotation_of_networks(plan: Plan) -> Plan:
    return with_contract(plan, annotations={NETWORKS_ANNOTATION: "rail-00"})


def with_every_device_after_two_equals_signs(plan: Plan) -> Plan:
    return with_environment("NCCL_IB_HCA", "==" + ",".join(rail.rdma_device or "" for rail in plan.rails))(plan)


def with_environment(name: str, value: str) -> Callable[[Plan], Plan]:
    return lambda plan: with_contract(plan, environment={**plan.workload.environment, name: value})


def without_capabilities(plan: Plan) -> Plan:
    return with_contract(plan, capabilities=())


def on_the_hosts_network(plan: Plan) -> Plan:
    return with_contract(plan, host_network=True)


def with_two_networks_swapped_in_the_annotation(plan: Plan) -> Plan:
    first, second, *others = json.loads(plan.workload.annotations[NETWORKS_ANNOTATION])
    return with_contract(plan, annotations={NETWORKS_ANNOTATION: json.dumps([second, first, *others])})


def with_networks_of_another_namespace(plan: Plan) -> Plan:
    (text,) = plan.workload.networks_from_elsewhere.values()
    return with_contract(plan, networks_from_elsewhere={"jobs": text})


def with_shared_memory_on_disk(plan: Plan) -> Plan:
    patch = patch_of(plan)
    del patch["spec"]["volumes"][0]["emptyDir"]["medium"]
    return with_contract(plan, pod_template_patch=patch)


def without_shared_memory(plan: Plan) -> Plan:
    patch = patch_of(plan)
    del patch["spec"]["containers"][0]["volumeMounts"][0]
    return with_contract(plan, pod_template_patch=patch)
