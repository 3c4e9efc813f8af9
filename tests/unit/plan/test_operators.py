"""The operators' releases and the policy that makes them install the fabric."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, get_args

import pytest
from planned_fabrics import plan_of
from program_lists import SCHEDULERS
from pydantic.alias_generators import to_camel
from rules.tables import bad, found_in

from gpu_fabric.k8s.scheduling import JobController
from gpu_fabric.plan import Plan
from gpu_fabric.plan.operators.releases import merged
from gpu_fabric.plan.records import PlannedCapacity, PlannedObject, PlannedReadiness
from gpu_fabric.spec.cluster import Component
from gpu_fabric.spec.software import SchedulersSpec

PlanWith = Callable[[Any], Plan]
StackPlans = tuple[Any, ...]

GPU = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
# What Node Feature Discovery's worker tolerates by itself; a list of ours takes the place of all of it.
LABELLED = [{"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"}, GPU]


def policy(plan: Plan) -> dict[str, Any]:
    spec: dict[str, Any] = plan.record(PlannedObject, "nic-policies").object.manifest()["spec"]
    return spec


def test_releases_have_fixed_names_namespaces_and_exact_versions(dev_plan: Plan) -> None:
    assert [
        (release.name, release.namespace, release.chart.name, release.chart.version)
        for release in (dev_plan.release("gpu-operator"), dev_plan.release("network-operator"))
    ] == [
        ("gpu-operator", "gpu-operator", "gpu-operator", "v26.3.3"),
        ("network-operator", "nvidia-network-operator", "network-operator", "26.4.1"),
    ]


@pytest.mark.parametrize(
    ("charts", "repository", "path"),
    [
        ("upstream", "https://helm.ngc.nvidia.com/nvidia", None),
        ("bundled", None, "sandbox/charts/26.4/gpu-operator"),
        ("oci://registry.example/charts", "oci://registry.example/charts", None),
        ("https://mirror.example/helm", "https://mirror.example/helm", None),
    ],
)
def test_charts_come_from_the_vendor_the_sandbox_or_a_mirror(
    plan_with: PlanWith, charts: str, repository: str | None, path: str | None
) -> None:
    chart = plan_with({"software.charts": charts}).release("gpu-operator").chart

    assert (chart.repository, chart.path, chart.version) == (repository, path, "v26.3.3")


def test_one_operator_alone_owns_node_feature_discovery(dev_plan: Plan) -> None:
    assert dev_plan.release("gpu-operator").values["nfd"] == {"enabled": True}
    assert dev_plan.release("network-operator").values["nfd"] == {"enabled": False, "deployNodeFeatureRules": False}


def test_where_the_gpus_are_not_nvidias_the_network_operator_alone_labels_the_nodes_and_reaches_them(
    plan_with: PlanWith,
) -> None:
    plan = plan_with({"cluster.pools[0].shape": "BM.GPU.MI300X.8"})
    own = {"key": "amd.com/gpu", "operator": "Exists", "effect": "NoSchedule"}

    assert [release.name for release in plan.releases] == ["network-operator"]
    assert plan.release("network-operator") is not None
    assert plan.release("network-operator").values["nfd"] == {"enabled": True, "deployNodeFeatureRules": True}
    assert plan.release("network-operator").values["node-feature-discovery"] == {
        "worker": {"tolerations": [*LABELLED, own]}
    }
    assert policy(plan)["tolerations"] == [own]


@pytest.mark.parametrize(
    ("shape", "switch", "chart"),
    [
        ("BM.GPU.H100.8", {"software.gpuOperator.featureDiscovery": False}, "gpu-operator"),
        ("BM.GPU.MI300X.8", {}, "network-operator"),
    ],
)
def test_a_cluster_that_has_node_feature_discovery_gets_no_second_one(
    plan_with: PlanWith, shape: str, switch: dict[str, Any], chart: str
) -> None:
    plan = plan_with({"cluster.installed": ["nfd"], "cluster.pools[0].shape": shape, **switch})
    (values,) = [release.values for release in plan.releases if release.name == chart]

    assert values["nfd"]["enabled"] is False


def test_on_the_hosts_network_there_is_nothing_for_the_network_operator(stack_plans: StackPlans) -> None:
    plan = next(p for p in stack_plans if p.choices.model == "host-network")

    assert ([release.name for release in plan.releases], plan.step("nic-policies")) == (["gpu-operator"], None)
    assert (plan.applied("ip-pools", "networks"), plan.sriov_plugin, plan.shared_plugin) == ((), None, None)


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


def test_a_cluster_that_has_multus_gets_no_second_one(plan_with: PlanWith) -> None:
    present = {"cluster.installed": ["multus"]}
    operator = plan_with({**present, "software.networkOperator.multus": False})
    spiderpool = plan_with({**present, "fabric.manager": "spiderpool", "software.spiderpool.multus": False})

    assert "multus" not in policy(operator)["secondaryNetwork"]
    assert spiderpool.release("spiderpool").values["multus"]["multusCNI"]["install"] is False


def test_nv_ipam_is_not_installed_where_nobody_gets_an_address(plan_with: PlanWith) -> None:
    plan = plan_with({"fabric.model": "host-device", "fabric.vfsPerNic": 0, "fabric.addressing": {"layout": "none"}})

    assert "nvIpam" not in policy(plan)


@pytest.mark.parametrize("switch", [{"toolkit": False}, {"values": {"toolkit": {"enabled": False}}}])
def test_the_container_toolkit_of_the_node_image_can_be_kept(plan_with: PlanWith, switch: dict[str, Any]) -> None:
    assert plan_with({"software.gpuOperator": switch}).release("gpu-operator").values["toolkit"] == {"enabled": False}


def test_a_users_values_win_and_leave_the_rest(plan_with: PlanWith) -> None:
    release = plan_with(
        {
            "cluster.installed": ["nfd"],
            "software.gpuOperator": {
                "driver": True,
                "values": {"toolkit": {"version": "v1"}, "nfd": {"enabled": False}},
            },
        }
    ).release("gpu-operator")

    assert release.values["driver"] == {"enabled": True}
    assert release.values["toolkit"] == {"version": "v1"}
    assert release.values["nfd"] == {"enabled": False}


def test_operands_and_jobs_tolerate_every_taint_of_the_pools_once(plan_with: PlanWith) -> None:
    pool = {"name": "gpu", "shape": "BM.GPU.H100.8", "nodes": 1}
    plan = plan_with(
        {
            "cluster.pools": [
                pool,
                {**pool, "name": "more", "taints": [{"key": "nvidia.com/gpu"}, {"key": "team", "value": "a"}]},
            ]
        }
    )
    team = {"key": "team", "operator": "Exists", "effect": "NoSchedule"}
    wanted = [GPU, team]

    assert policy(plan)["tolerations"] == wanted
    assert plan.release("gpu-operator").values["daemonsets"] == {"tolerations": wanted}
    assert plan.release("gpu-operator").values["node-feature-discovery"] == {
        "worker": {"tolerations": [*LABELLED, team]}
    }
    assert [entry.to_dict() for entry in plan.workload.tolerations] == wanted


def test_the_policy_carries_the_planned_device_plugin_configuration(dev_plan: Plan) -> None:
    config = json.loads(policy(dev_plan)["sriovDevicePlugin"]["config"])

    assert config == dev_plan.sriov_plugin.to_dict()
    assert config["resourceList"][0] == {
        "resourcePrefix": "nvidia.com",
        "resourceName": "rail_00",
        "deviceType": "netDevice",
        "selectors": {
            "vendors": ["15b3"],
            "devices": ["101e"],
            "drivers": ["mlx5_core"],
            "rootDevices": ["0000:0c:00.0"],
            "isRdma": True,
        },
    }


def test_the_policy_has_the_one_name_the_operator_obeys_and_is_waited_for(dev_plan: Plan) -> None:
    assert dev_plan.record(PlannedObject, "nic-policies").name == "nic-cluster-policy"
    assert dev_plan.record(PlannedObject, "nic-policies").wait_for == "jsonpath={.status.state}=ready"
    ready = dev_plan.record(PlannedReadiness, "gpu-operator-ready")
    state, reason = ready.conditions
    assert state == "jsonpath={.status.state}=ready"
    # Without a known GPU node the policy is ready as well, for another reason.
    assert reason == 'jsonpath={.status.conditions[?(@.type=="Ready")].reason}=Reconciled'
    assert (ready.kind, ready.name) == (
        "ClusterPolicy",
        "cluster-policy",
    )


def test_the_policys_operands_are_pinned_to_the_release_line(dev_plan: Plan) -> None:
    spec = policy(dev_plan)
    operands = {
        "sriov-network-device-plugin": spec["sriovDevicePlugin"],
        "nvidia-k8s-ipam": spec["nvIpam"],
        "multus-cni": spec["secondaryNetwork"]["multus"],
        "plugins": spec["secondaryNetwork"]["cniPlugins"],
    }

    for image, operand in operands.items():
        assert (operand["image"], operand["repository"], operand["version"]) == (
            image,
            "nvcr.io/nvidia/mellanox",
            "network-operator-v26.4.1",
        )


def test_operator_namespaces_let_privileged_pods_in(dev_plan: Plan) -> None:
    for namespace in dev_plan.applied("namespaces"):
        assert (namespace.object.metadata.labels or {})["pod-security.kubernetes.io/enforce"] == "privileged"


def test_layers_merge_deeply_and_a_list_replaces_a_list() -> None:
    assert merged({"a": {"b": 1, "c": [1, 2]}, "d": 1}, {"a": {"c": [3]}}, {"d": {"e": 2}}) == {
        "a": {"b": 1, "c": [3]},
        "d": {"e": 2},
    }


def test_merging_changes_none_of_its_layers() -> None:
    first = {"a": {"b": 1}}

    merged(first, {"a": {"b": 2}})

    assert first == {"a": {"b": 1}}


@pytest.mark.parametrize(
    ("values", "waited_for"),
    [
        ({}, ["nvidia.com/gpu"]),
        ({"mig": {"strategy": "single"}}, ["nvidia.com/gpu"]),
        ({"mig": {"strategy": "mixed"}}, None),
        ({"devicePlugin": {"enabled": False}}, None),
        ({"devicePlugin": {"config": {"name": "sharing"}}}, None),
    ],
)
def test_whole_gpus_are_waited_for_where_the_operators_plug_in_offers_them(
    values: dict[str, Any], waited_for: list[str] | None
) -> None:
    gate = plan_of("dev", {"software.gpuOperator.values": values}).record(PlannedCapacity, "gpu-capacity")

    assert (gate and list(gate.resources)) == waited_for
    assert gate is None or gate.nodes["nvidia.com/gpu.present"] == "true"


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
