"""Which operators all stacks have, and how values are merged; single values are in rows/operators.yaml."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, get_args

import pytest
from program_lists import SCHEDULERS
from pydantic.alias_generators import to_camel
from rules.tables import bad, found_in

from gpu_fabric.k8s.scheduling import JobController
from gpu_fabric.plan import Plan
from gpu_fabric.plan.operators.releases import merged
from gpu_fabric.plan.records import PlannedObject
from gpu_fabric.spec.cluster import Component
from gpu_fabric.spec.software import SchedulersSpec

PlanWith = Callable[[Any], Plan]
StackPlans = tuple[Any, ...]


def policy(plan: Plan) -> dict[str, Any]:
    spec: dict[str, Any] = plan.record(PlannedObject, "nic-policies").object.manifest()["spec"]
    return spec


def test_only_nv_ipam_is_installed_for_its_own_pools(stack_plans: StackPlans) -> None:
    for plan in stack_plans:
        if plan.record(PlannedObject, "nic-policies") is not None:
            assert ("nvIpam" in policy(plan)) == (plan.choices.ipam == "nv-ipam" and plan.addresses.pools != ())


def test_spiderpool_brings_the_device_plugin_of_its_model(stack_plans: StackPlans) -> None:
    values = {
        plan.choices.model: release.values
        for plan in stack_plans
        if (release := plan.release("spiderpool")) is not None
    }

    assert {model for model, found in values.items() if "sriov" in found} == {"sriov", "ib-sriov"}
    assert {model for model, found in values.items() if "rdma" in found} == {"macvlan"}
    plugin = values["macvlan"]["rdma"]["rdmaSharedDevicePlugin"]
    assert len(plugin["deviceConfig"]["configList"]) == 8
    assert len(plugin["podAnnotations"]["gpu-fabric/configuration"]) == 16


def test_spiderpool_plans_have_no_network_operator_and_doks_plans_no_chart_at_all(stack_plans: StackPlans) -> None:
    brought = {
        (plan.choices.manager, *(release.name for release in plan.releases if release.name not in SCHEDULERS))
        for plan in stack_plans
    }

    assert brought == {
        ("network-operator", "gpu-operator", "network-operator"),
        ("network-operator", "gpu-operator", "network-operator", "whereabouts"),
        ("network-operator", "gpu-operator"),
        ("spiderpool", "gpu-operator", "spiderpool"),
        ("spiderpool", "gpu-operator", "ofed-driver", "spiderpool"),
        ("doks",),
    }
    assert {plan.step("nic-policies") for plan in stack_plans if plan.choices.manager != "network-operator"} == {None}


def test_an_existing_cluster_of_digitaloceans_machines_gets_no_chart_either(plan_with: PlanWith) -> None:
    shape = "gpu-h200x8-1128gb-fabric-contracted"

    assert plan_with({"cluster.pools[0].shape": shape, "fabric": {"manager": "doks"}}).releases == ()


def test_spiderpools_shared_plugin_is_rolled_when_its_configuration_changes(plan_with: PlanWith) -> None:
    def annotations(pods: int) -> Any:
        fabric = {"manager": "spiderpool", "model": "macvlan", "podsPerNic": pods}
        plan = plan_with({"fabric": {**fabric, "addressing": {"supernet": "192.168.0.0/16"}}})
        return plan.release("spiderpool").values["rdma"]["rdmaSharedDevicePlugin"]["podAnnotations"]

    assert annotations(2) == annotations(2)
    assert annotations(2) != annotations(3)


def test_the_policy_carries_the_planned_device_plugin_configuration(dev_plan: Plan) -> None:
    config = json.loads(policy(dev_plan)["sriovDevicePlugin"]["config"])

    assert config == dev_plan.sriov_plugin.to_dict()


def test_layers_merge_deeply_and_a_list_replaces_a_list() -> None:
    assert merged({"a": {"b": 1, "c": [1, 2]}, "d": 1}, {"a": {"c": [3]}}, {"d": {"e": 2}}) == {
        "a": {"b": 1, "c": [3]},
        "d": {"e": 2},
    }


def test_merging_changes_none_of_its_layers() -> None:
    first = {"a": {"b": 1}}

    merged(first, {"a": {"b": 2}})

    assert first == {"a": {"b": 1}}


def test_every_scheduler_can_be_one_that_the_cluster_has_and_all_but_the_queue_are_controllers_of_jobs() -> None:
    names = {field.replace("_", "-") for field in SchedulersSpec.model_fields}

    assert names <= set(get_args(Component))
    assert names - {"kueue"} == set(get_args(JobController))


@pytest.mark.parametrize("field", SchedulersSpec.model_fields)
def test_a_scheduler_is_refused_where_the_cluster_has_it(field: str) -> None:
    path = f"software.schedulers.{to_camel(field)}"
    case = bad("SCH001", "host-device", {path: {}, "cluster.installed": [field.replace("_", "-")]}, path)

    assert [finding.path for finding in found_in(case)] == [f"gpu-fabric:{path}"]


@pytest.mark.parametrize("name", get_args(JobController))
def test_a_job_learns_which_controllers_of_jobs_there_are(plan_with: PlanWith, name: str) -> None:
    section = f"software.schedulers.{to_camel(name.replace('-', '_'))}"

    for change in ({section: {}}, {"cluster.installed": [name]}):
        assert plan_with(change).workload.scheduler_hints.controllers == (name,)
