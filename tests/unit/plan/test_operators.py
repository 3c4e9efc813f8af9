"""Which operators all stacks have, and how values are merged; single values are in rows/operators.yaml."""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, get_args

import pytest
from changes import changed
from committed_stacks import folder_of
from program_lists import SCHEDULERS
from pydantic.alias_generators import to_camel

from gpu_fabric.catalog import catalog
from gpu_fabric.findings import ConfigurationError
from gpu_fabric.k8s.scheduling import JobController
from gpu_fabric.plan import Plan
from gpu_fabric.plan.operators import own_charts
from gpu_fabric.plan.operators.releases import merged
from gpu_fabric.plan.operators.sharing import SHARED
from gpu_fabric.plan.records import PlannedSharing
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.cluster import Component
from gpu_fabric.spec.load import read_document
from gpu_fabric.spec.software import SchedulersSpec

PlanWith = Callable[[Any], Plan]
StackPlans = tuple[Any, ...]


def test_spiderpool_plans_have_no_network_operator_and_doks_plans_no_chart_at_all(stack_plans: StackPlans) -> None:
    installed = {
        (plan.choices.manager, *(release.name for release in plan.releases if release.name not in SCHEDULERS))
        for plan in stack_plans
    }

    assert installed == {
        ("network-operator", "gpu-operator", "network-operator"),
        ("network-operator", "gpu-operator", "network-operator", "whereabouts"),
        ("network-operator", "gpu-operator"),
        # AMD's GPUs, which Oracle's add-on hands out.
        ("network-operator", "network-operator"),
        ("spiderpool", "gpu-operator", "spiderpool"),
        ("spiderpool", "gpu-operator", "ofed-driver", "spiderpool"),
        ("dranet", "gpu-operator", "dranet"),
        ("dranet", "gpu-operator", "dra-driver-nvidia-gpu", "dranet"),
        ("amd-network-operator", "amd-gpu-operator", "amd-network-operator"),
        ("doks",),
        ("cloud", "gpu-operator"),
        ("cloud",),
    }
    assert {plan.step("nic-policies") for plan in stack_plans if plan.choices.manager != "network-operator"} == {None}


def test_spiderpools_shared_plugin_is_rolled_when_its_configuration_changes(plan_with: PlanWith) -> None:
    def annotations(pods: int) -> Any:
        fabric = {"manager": "spiderpool", "model": "macvlan", "podsPerNic": pods}
        plan = plan_with({"fabric": {**fabric, "addressing": {"supernet": "192.168.0.0/16"}}})
        return plan.release("spiderpool").values["rdma"]["rdmaSharedDevicePlugin"]["podAnnotations"]

    assert annotations(2) == annotations(2)
    assert annotations(2) != annotations(3)


def test_layers_merge_deeply_and_a_list_replaces_a_list() -> None:
    assert merged({"a": {"b": 1, "c": [1, 2]}, "d": 1}, {"a": {"c": [3]}}, {"d": {"e": 2}}) == {
        "a": {"b": 1, "c": [3]},
        "d": {"e": 2},
    }


def test_every_scheduler_can_be_one_that_the_cluster_has_and_all_but_the_queue_are_controllers_of_jobs() -> None:
    names = {field.replace("_", "-") for field in SchedulersSpec.model_fields}

    assert names <= set(get_args(Component))
    assert names - {"kueue"} == set(get_args(JobController))


@pytest.mark.parametrize("name", get_args(JobController))
def test_a_job_learns_which_controllers_of_jobs_there_are(plan_with: PlanWith, name: str) -> None:
    section = f"software.schedulers.{to_camel(name.replace('-', '_'))}"

    for change in ({section: {}}, {"cluster.installed": [name]}):
        assert plan_with(change).workload.scheduler_hints.controllers == (name,)


def _has_module(name: str) -> bool:
    return find_spec(f"gpu_fabric.plan.operators.{name.replace('-', '_')}") is not None


PLAIN = [chart.operator for chart in own_charts() if not _has_module(chart.operator)]


CHARTS_OF_CLUSTERS = [chart.operator for chart in own_charts() if chart.operator != "ofed-driver"]
"""Of the drivers' container no cluster can have its own."""


@pytest.mark.parametrize("name", CHARTS_OF_CLUSTERS)
@pytest.mark.parametrize("stack", ["host-device", "spiderpool-macvlan", "doks-h200"])
def test_a_chart_that_the_cluster_has_is_not_installed_and_a_value_for_it_is_refused(stack: str, name: str) -> None:
    section = f"software.{catalog().operators[name].section}"

    def refusal(written: dict[str, Any]) -> str:
        try:
            plan = prepare(changed(read_document(stack, folder_of(stack)), {section: written}), for_up=False).plan
        except ConfigurationError as error:
            return str(error)
        return "" if plan.release(str(catalog().operators[name].release)) is None else "installed nevertheless"

    # A stack that does not need the operator has no use for the switch.
    said = refusal({"install": False})
    assert not said or f"{section}.install: the stack installs" in said
    assert f"{section}.values: " in refusal({"install": False, "values": {"some": 1}})


@pytest.mark.parametrize("name", PLAIN)
def test_an_operator_that_is_its_chart_alone_is_installed_or_expected_as_its_section_says(
    plan_with: PlanWith, name: str
) -> None:
    facts = catalog().operators[name]
    installed, present = (plan_with({f"software.{facts.section}": section}) for section in ({}, {"install": False}))

    assert installed.step(facts.release).items == (installed.release(facts.release),)
    assert present.release(facts.release) is None
    sharing = present.record(PlannedSharing, SHARED)
    assert sharing is not None
    assert name in {operator.name for operator in sharing.operators}
