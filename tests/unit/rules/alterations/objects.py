"""Finished plans in which one thing about networks, pools or files is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from planned_steps import with_items

from gpu_fabric.k8s.core import ConfigMap
from gpu_fabric.k8s.names import RDMA_RESOURCE_INJECT_ANNOTATION
from gpu_fabric.k8s.spiderpool import SpiderIPPool, SpiderMultusConfig, SpiderPools
from gpu_fabric.k8s.sriov_operator import SriovNetwork
from gpu_fabric.plan import Plan
from gpu_fabric.plan.records import PlannedGroup
from rules.alterations.parts import (
    setting_mtu,
    with_annotations,
    with_config,
    with_contract,
    with_first_network,
    with_spec,
)


def with_one_network_that_keeps_the_device_on_the_host(plan: Plan) -> Plan:
    def without_rdma(config: dict[str, Any]) -> None:
        config["plugins"] = [plugin for plugin in config["plugins"] if plugin["type"] != "rdma"]

    return with_first_network(plan, without_rdma)


def without_the_last_network(plan: Plan) -> Plan:
    return with_items(plan, "networks", plan.applied("networks")[:-1])


def with_one_network_of_mtu(mtu: int) -> Callable[[Plan], Plan]:
    return lambda plan: with_first_network(plan, setting_mtu(mtu))


def with_every_network_and_the_contract_of_mtu(mtu: int) -> Callable[[Plan], Plan]:
    def alter(plan: Plan) -> Plan:
        attached = tuple(entry.model_copy(update={"mtu": mtu}) for entry in plan.workload.networks)
        networks = tuple(with_config(network, setting_mtu(mtu)) for network in plan.applied("networks"))
        return with_contract(with_items(plan, "networks", networks), networks=attached)

    return alter


def with_rail_0_of_the_resource_of_rail_1(plan: Plan) -> Plan:
    first, *others = plan.applied("networks")
    return with_items(
        plan,
        "networks",
        (with_annotations(first, plan.applied("networks")[1].object.metadata.annotations or {}), *others),
    )


def with_the_first_network_under_another_name(plan: Plan) -> Plan:
    first, *others = plan.applied("networks")
    metadata = first.object.metadata.model_copy(update={"name": "stranger"})
    renamed = first.model_copy(update={"object": first.object.model_copy(update={"metadata": metadata})})
    return with_items(plan, "networks", (renamed, *others))


def without_nccl_files(plan: Plan) -> Plan:
    return with_items(plan, "nccl", ())


def with_an_object_of_300_kibibytes_of_annotations(plan: Plan) -> Plan:
    first, *others = plan.applied("networks")
    return with_items(plan, "networks", (with_annotations(first, {"note": "x" * (300 << 10)}), *others))


def with_rail_0_in_the_pool_of_rail_1(plan: Plan) -> Plan:
    def other_pool(config: dict[str, Any]) -> None:
        config["plugins"][0]["ipam"]["poolName"] = plan.rails[1].pool

    return with_first_network(plan, other_pool)


def with_rail_0_on_the_device_of_rail_1(plan: Plan) -> Plan:
    return with_first_network(plan, lambda config: config.update(device=plan.rails[1].resource))


def with_one_spiderpool_network_of_mtu(mtu: int) -> Callable[[Plan], Plan]:
    def alter(plan: Plan) -> Plan:
        first, *others = plan.applied("networks")
        assert isinstance(first.object, SpiderMultusConfig)
        spec = first.object.spec
        assert spec.macvlan is not None
        altered = with_spec(first, spec.model_copy(update={"macvlan": spec.macvlan.model_copy(update={"mtu": mtu})}))
        return with_items(plan, "networks", (altered, *others))

    return alter


def with_rail_0_on_the_interface_of_rail_1(plan: Plan) -> Plan:
    def other_master(config: dict[str, Any]) -> None:
        config["plugins"][0]["master"] = plan.rails[1].interface

    return with_first_network(plan, other_master)


def with_one_object_twice(plan: Plan) -> Plan:
    return with_items(plan, "networks", (*plan.applied("networks"), plan.applied("networks")[0]))


def with_a_file_of_two_mebibytes(plan: Plan) -> Plan:
    first, *others = plan.applied("nccl")
    assert isinstance(first.object, ConfigMap)
    data = dict.fromkeys(first.object.data, "x" * (2 << 20))
    large = first.model_copy(update={"object": first.object.model_copy(update={"data": data})})
    return with_items(plan, "nccl", (large, *others))


def without_the_pool_of_rail_0(plan: Plan) -> Plan:
    return with_items(plan, "ip-pools", plan.applied("ip-pools")[1:])


def with_the_pool_of_rail_0_in_namespace_default(plan: Plan) -> Plan:
    first, *others = plan.applied("ip-pools")
    metadata = first.object.metadata.model_copy(update={"namespace": "default"})
    moved = first.model_copy(update={"object": first.object.model_copy(update={"metadata": metadata})})
    return with_items(plan, "ip-pools", (moved, *others))


def with_pools_of_rail_0_as_ipv6(plan: Plan) -> Plan:
    first, *others = plan.applied("networks")
    assert isinstance(first.object, SpiderMultusConfig)
    spec = first.object.spec
    assert spec.macvlan is not None
    section = spec.macvlan.model_copy(update={"ippools": SpiderPools(ipv6=spec.pools.ipv4)})
    altered = with_spec(first, spec.model_copy(update={"macvlan": section}))
    return with_items(plan, "networks", (altered, *others))


def without_ipam_of_rail_0(plan: Plan) -> Plan:
    return with_first_network(plan, lambda config: config["plugins"][0].pop("ipam"))


def with_another_range_of_rail_0(plan: Plan) -> Plan:
    return with_first_network(plan, lambda config: config["plugins"][0]["ipam"].update(range="203.0.113.0/24"))


def with_rail_0_of_the_operator_in_the_pool_of_rail_1(plan: Plan) -> Plan:
    first, *others = plan.applied("networks")
    assert isinstance(first.object, SriovNetwork)
    ipam = json.dumps({**json.loads(first.object.spec.ipam or "{}"), "poolName": plan.rails[1].pool})
    altered = with_spec(first, first.object.spec.model_copy(update={"ipam": ipam}))
    return with_items(plan, "networks", (altered, *others))


def with_rail_0_of_the_operator_keeping_its_device_on_the_host(plan: Plan) -> Plan:
    first, *others = plan.applied("networks")
    assert isinstance(first.object, SriovNetwork)
    altered = with_spec(first, first.object.spec.model_copy(update={"meta_plugins": None}))
    return with_items(plan, "networks", (altered, *others))


def with_two_networks_injected_by_another_word(plan: Plan) -> Plan:
    *others, seventh, eighth = plan.applied("networks")
    other = [with_annotations(entry, {RDMA_RESOURCE_INJECT_ANNOTATION: "other"}) for entry in (seventh, eighth)]
    return with_items(plan, "networks", (*others, *other))


def with_the_last_pool_in_the_subnet_of_the_first(plan: Plan) -> Plan:
    return _with_last_pool(plan, subnet="172.16.0.0/25", ips=("172.16.0.9",))


def with_two_pools_of_one_address(plan: Plan) -> Plan:
    first = plan.applied("ip-pools")[0].object
    assert isinstance(first, SpiderIPPool)
    return _with_last_pool(plan, ips=first.spec.ips)


def _with_last_pool(plan: Plan, **fields: Any) -> Plan:
    *others, last = plan.applied("ip-pools")
    assert isinstance(last.object, SpiderIPPool)
    altered = with_spec(last, last.object.spec.model_copy(update=fields))
    return with_items(plan, "ip-pools", (*others, altered))


def without_the_pools_of_all_nodes_on_rail_0(plan: Plan) -> Plan:
    return with_items(plan, "node-pools", plan.records(PlannedGroup, "node-pools")[1:])


def with_tables_of_two_mebibytes(plan: Plan) -> Plan:
    first, *others = plan.records(PlannedGroup, "node-pools")
    *pools, table = first.objects
    assert isinstance(table.object, ConfigMap)
    large = table.object.model_copy(update={"data": dict.fromkeys(table.object.data, "x" * (2 << 20))})
    group = first.model_copy(update={"objects": (*pools, table.model_copy(update={"object": large}))})
    return with_items(plan, "node-pools", (group, *others))


def with_plug_in(plugin: str) -> Callable[[Plan], Plan]:
    return lambda plan: with_first_network(plan, lambda config: config.update(type=plugin))


def with_addresses_on_rail_0(plan: Plan) -> Plan:
    return with_first_network(plan, lambda config: config.update(ipam={"type": "host-local"}))


def without_cni_plugins(plan: Plan) -> Plan:
    return with_items(plan, "cni-plugins", ())
