"""Finished plans with one thing wrong: what only a fault of this program can bring about."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from fabric.k8s.cni import NETWORKS_ANNOTATION, NetworkAttachmentDefinition
from fabric.k8s.core import ConfigMap
from fabric.k8s.device_plugin import DeviceSelectors, SriovResource
from fabric.k8s.mellanox import NicClusterPolicy
from fabric.k8s.spider_networks import SpiderPools
from fabric.k8s.spiderpool import SpiderMultusConfig
from fabric.plan import Plan, PlannedObject


def without_a_device_plugin(plan: Plan) -> Plan:
    return plan.model_copy(update={"sriov_plugin": None, "shared_plugin": None})


def requesting_two_devices_of_rail_0(plan: Plan) -> Plan:
    name = plan.rails[0].resource_name or ""
    return _with_contract(plan, resources={**plan.workload.resources, name: "2"})


def with_selectors_of_rail_0(selectors: DeviceSelectors) -> Callable[[Plan], Plan]:
    def alter(plan: Plan) -> Plan:
        return _with_resource(plan, 0, selectors=selectors)

    return alter


def with_rail_1_selecting_rail_0s_nic_too(plan: Plan) -> Plan:
    assert plan.sriov_plugin is not None
    first, second = (resource.alternatives for resource in plan.sriov_plugin.resource_list[:2])
    return _with_resource(plan, 1, selectors=(*second, *first))


def with_the_nics_of_two_rails_swapped(plan: Plan) -> Plan:
    first, second, *others = plan.rails
    swapped = (first.model_copy(update={"pci": second.pci}), second.model_copy(update={"pci": first.pci}))
    return plan.model_copy(update={"rails": (*swapped, *others)})


def in_rdma_mode(mode: str) -> Callable[[Plan], Plan]:
    def alter(plan: Plan) -> Plan:
        return plan.model_copy(update={"choices": plan.choices.model_copy(update={"rdma_mode": mode})})

    return alter


def with_one_network_that_keeps_the_device_on_the_host(plan: Plan) -> Plan:
    def without_rdma(config: dict[str, Any]) -> None:
        config["plugins"] = [plugin for plugin in config["plugins"] if plugin["type"] != "rdma"]

    return _with_first_network(plan, without_rdma)


def without_the_last_network(plan: Plan) -> Plan:
    return plan.model_copy(update={"networks": plan.networks[:-1]})


def with_one_network_of_mtu(mtu: int) -> Callable[[Plan], Plan]:
    return lambda plan: _with_first_network(plan, _setting_mtu(mtu))


def with_every_network_and_the_contract_of_mtu(mtu: int) -> Callable[[Plan], Plan]:
    def alter(plan: Plan) -> Plan:
        attached = tuple(entry.model_copy(update={"mtu": mtu}) for entry in plan.workload.networks)
        networks = tuple(_with_config(network, _setting_mtu(mtu)) for network in plan.networks)
        return _with_contract(plan.model_copy(update={"networks": networks}), networks=attached)

    return alter


def with_rail_0_of_the_resource_of_rail_1(plan: Plan) -> Plan:
    first, *others = plan.networks
    return plan.model_copy(
        update={"networks": (_with_annotations(first, plan.networks[1].object.metadata.annotations or {}), *others)}
    )


def with_rail_0_of_no_pool(plan: Plan) -> Plan:
    first, *others = plan.rails
    return plan.model_copy(update={"rails": (first.model_copy(update={"pool": None}), *others)})


def with_rail_0_attached(**facts: Any) -> Callable[[Plan], Plan]:
    """The contract says something else about its first network."""

    def alter(plan: Plan) -> Plan:
        first, *others = plan.workload.networks
        return _with_contract(plan, networks=(first.model_copy(update=facts), *others))

    return alter


def with_the_first_network_under_another_name(plan: Plan) -> Plan:
    first, *others = plan.networks
    metadata = first.object.metadata.model_copy(update={"name": "stranger"})
    renamed = first.model_copy(update={"object": first.object.model_copy(update={"metadata": metadata})})
    return plan.model_copy(update={"networks": (renamed, *others)})


def without_nccl_files(plan: Plan) -> Plan:
    return plan.model_copy(update={"nccl_config_maps": ()})


def without_namespaces_in_the_contract(plan: Plan) -> Plan:
    return _with_contract(plan, namespaces=())


def with_an_object_of_300_kibibytes_of_annotations(plan: Plan) -> Plan:
    first, *others = plan.networks
    return plan.model_copy(update={"networks": (_with_annotations(first, {"note": "x" * (300 << 10)}), *others)})


def with_a_device_plugin_configuration_of_two_mebibytes(plan: Plan) -> Plan:
    assert plan.policy is not None
    assert isinstance(plan.policy.object, NicClusterPolicy)
    plugin = plan.policy.object.spec.sriov_device_plugin
    assert plugin is not None
    return _with_policy(plan, sriov_device_plugin=plugin.model_copy(update={"config": "x" * (2 << 20)}))


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


def with_rail_0_in_the_pool_of_rail_1(plan: Plan) -> Plan:
    def other_pool(config: dict[str, Any]) -> None:
        config["plugins"][0]["ipam"]["poolName"] = plan.rails[1].pool

    return _with_first_network(plan, other_pool)


def with_rail_0_on_the_device_of_rail_1(plan: Plan) -> Plan:
    return _with_first_network(plan, lambda config: config.update(device=plan.rails[1].resource))


def with_one_spiderpool_network_of_mtu(mtu: int) -> Callable[[Plan], Plan]:
    def alter(plan: Plan) -> Plan:
        first, *others = plan.networks
        assert isinstance(first.object, SpiderMultusConfig)
        spec = first.object.spec
        assert spec.macvlan is not None
        altered = _with_spec(first, spec.model_copy(update={"macvlan": spec.macvlan.model_copy(update={"mtu": mtu})}))
        return plan.model_copy(update={"networks": (altered, *others)})

    return alter


def with_rail_0_on_the_interface_of_rail_1(plan: Plan) -> Plan:
    def other_master(config: dict[str, Any]) -> None:
        config["plugins"][0]["master"] = plan.rails[1].interface

    return _with_first_network(plan, other_master)


def with_one_object_twice(plan: Plan) -> Plan:
    return plan.model_copy(update={"networks": (*plan.networks, plan.networks[0])})


def with_a_file_of_two_mebibytes(plan: Plan) -> Plan:
    first, *others = plan.nccl_config_maps
    assert isinstance(first.object, ConfigMap)
    data = dict.fromkeys(first.object.data, "x" * (2 << 20))
    large = first.model_copy(update={"object": first.object.model_copy(update={"data": data})})
    return plan.model_copy(update={"nccl_config_maps": (large, *others)})


def with_an_annotation_of_300_kibibytes(plan: Plan) -> Plan:
    return _with_contract(plan, annotations={NETWORKS_ANNOTATION: "x" * (300 << 10)})


def without_the_pool_of_rail_0(plan: Plan) -> Plan:
    return plan.model_copy(update={"ip_pools": plan.ip_pools[1:]})


def with_the_pool_of_rail_0_in_namespace_default(plan: Plan) -> Plan:
    first, *others = plan.ip_pools
    metadata = first.object.metadata.model_copy(update={"namespace": "default"})
    moved = first.model_copy(update={"object": first.object.model_copy(update={"metadata": metadata})})
    return plan.model_copy(update={"ip_pools": (moved, *others)})


def with_pools_of_rail_0_as_ipv6(plan: Plan) -> Plan:
    first, *others = plan.networks
    assert isinstance(first.object, SpiderMultusConfig)
    spec = first.object.spec
    assert spec.macvlan is not None
    section = spec.macvlan.model_copy(update={"ippools": SpiderPools(ipv6=spec.pools.ipv4)})
    altered = _with_spec(first, spec.model_copy(update={"macvlan": section}))
    return plan.model_copy(update={"networks": (altered, *others)})


def without_ipam_of_rail_0(plan: Plan) -> Plan:
    return _with_first_network(plan, lambda config: config["plugins"][0].pop("ipam"))


def with_another_range_of_rail_0(plan: Plan) -> Plan:
    return _with_first_network(plan, lambda config: config["plugins"][0]["ipam"].update(range="203.0.113.0/24"))


def without_nv_ipam(plan: Plan) -> Plan:
    return _with_policy(plan, nv_ipam=None)


def without_tolerations_of_jobs(plan: Plan) -> Plan:
    return _with_contract(plan, tolerations=())


def without_tolerations_of_operands(plan: Plan) -> Plan:
    return _with_policy(plan, tolerations=None)


def with_other_limits_than_requests(plan: Plan) -> Plan:
    patch = _patch(plan)
    patch["spec"]["containers"][0]["resources"]["limits"] = {"nvidia.com/gpu": "8"}
    return _with_contract(plan, pod_template_patch=patch)


def with_other_requests_than_limits(plan: Plan) -> Plan:
    patch = _patch(plan)
    patch["spec"]["containers"][0]["resources"]["requests"] = {"nvidia.com/gpu": "8"}
    return _with_contract(plan, pod_template_patch=patch)


def without_capabilities_in_the_patch(plan: Plan) -> Plan:
    patch = _patch(plan)
    del patch["spec"]["containers"][0]["securityContext"]
    return _with_contract(plan, pod_template_patch=patch)


def with_a_patch_for_a_network_namespace_of_its_own(plan: Plan) -> Plan:
    patch = _patch(plan)
    patch["spec"]["hostNetwork"] = False
    return _with_contract(plan, pod_template_patch=patch)


def with_another_annotation_in_the_patch(plan: Plan) -> Plan:
    patch = _patch(plan)
    patch["metadata"]["annotations"][NETWORKS_ANNOTATION] = "[]"
    return _with_contract(plan, pod_template_patch=patch)


def attached_to_nothing(plan: Plan) -> Plan:
    patch = _patch(plan)
    del patch["metadata"]["annotations"]
    return _with_contract(plan, networks=(), annotations={}, pod_template_patch=patch)


def with_an_annotation_of_networks(plan: Plan) -> Plan:
    return _with_contract(plan, annotations={NETWORKS_ANNOTATION: "rail-00"})


def with_every_device_after_two_equals_signs(plan: Plan) -> Plan:
    return with_environment("NCCL_IB_HCA", "==" + ",".join(rail.rdma_device or "" for rail in plan.rails))(plan)


def with_environment(name: str, value: str) -> Callable[[Plan], Plan]:
    return lambda plan: _with_contract(plan, environment={**plan.workload.environment, name: value})


def without_capabilities(plan: Plan) -> Plan:
    return _with_contract(plan, capabilities=())


def on_the_hosts_network(plan: Plan) -> Plan:
    return _with_contract(plan, host_network=True)


def with_two_networks_swapped_in_the_annotation(plan: Plan) -> Plan:
    first, second, *others = json.loads(plan.workload.annotations[NETWORKS_ANNOTATION])
    return _with_contract(plan, annotations={NETWORKS_ANNOTATION: json.dumps([second, first, *others])})


def _setting_mtu(mtu: int) -> Callable[[dict[str, Any]], None]:
    def set_mtu(config: dict[str, Any]) -> None:
        for plugin in config["plugins"]:
            if "mtu" in plugin:
                plugin["mtu"] = mtu

    return set_mtu


def _patch(plan: Plan) -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(json.dumps(plan.workload.pod_template_patch))
    return copy


def _with_annotations(planned: PlannedObject, annotations: dict[str, str]) -> PlannedObject:
    metadata = planned.object.metadata.model_copy(update={"annotations": annotations})
    return planned.model_copy(update={"object": planned.object.model_copy(update={"metadata": metadata})})


def _with_contract(plan: Plan, **fields: Any) -> Plan:
    return plan.model_copy(update={"workload": plan.workload.model_copy(update=fields)})


def _with_policy(plan: Plan, **fields: Any) -> Plan:
    assert plan.policy is not None
    policy = plan.policy.object
    assert isinstance(policy, NicClusterPolicy)
    altered = policy.model_copy(update={"spec": policy.spec.model_copy(update=fields)})
    return plan.model_copy(update={"policy": plan.policy.model_copy(update={"object": altered})})


def _with_resource(plan: Plan, place: int, **fields: Any) -> Plan:
    assert plan.sriov_plugin is not None
    resources: list[SriovResource] = list(plan.sriov_plugin.resource_list)
    resources[place] = resources[place].model_copy(update=fields)
    plugin = plan.sriov_plugin.model_copy(update={"resource_list": tuple(resources)})
    return plan.model_copy(update={"sriov_plugin": plugin})


def _with_first_network(plan: Plan, change: Callable[[dict[str, Any]], Any]) -> Plan:
    first, *others = plan.networks
    return plan.model_copy(update={"networks": (_with_config(first, change), *others)})


def _with_config(network: PlannedObject, change: Callable[[dict[str, Any]], Any]) -> PlannedObject:
    made = network.object
    assert isinstance(made, NetworkAttachmentDefinition)
    config = json.loads(made.spec.config)
    change(config)
    return _with_spec(network, made.spec.model_copy(update={"config": json.dumps(config)}))


def _with_spec(planned: PlannedObject, spec: Any) -> PlannedObject:
    return planned.model_copy(update={"object": planned.object.model_copy(update={"spec": spec})})
