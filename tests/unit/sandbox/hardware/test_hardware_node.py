"""What happens on one node: drivers, plug-ins that load once, virtual functions created by the stack's DaemonSet."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from played_objects import IMAGE, Object, config_maps, node, operand_pod, shared_config, sriov_config

from gpu_fabric.prepare import prepare_stack
from sandbox.hardware.device_plugins import LOADED_ANNOTATION, readiness_patch, started
from sandbox.hardware.inventory import devices_of, virtual_function_counts
from sandbox.hardware.node_agent import play
from sandbox.hardware.node_records import ADVERTISED_ANNOTATION, Outcome, World, node_patch
from sandbox.hardware.operands import DRIVER, DRIVER_WAIT_LABEL, RDMA_PLUGIN, SRIOV_PLUGIN
from sandbox.hardware.virtual_functions import COMPONENT, COMPONENT_LABEL, setup_of
from sandbox.nodes import RDMA_MODE_ANNOTATION

STACKS = Path(__file__).resolve().parents[3] / "stacks"
SETTLED = {DRIVER_WAIT_LABEL: "false"}


def on(machine: Object, *pods: Object, **world: Any) -> Outcome:
    return play(machine, {f"pod-{n}": pod for n, pod in enumerate(pods)}, {}, World(**world), sync_is_over=True)


def setup_pod(**environment: str) -> Object:
    pod = operand_pod("none")
    pod["metadata"]["labels"] = {"gpu-fabric/component": "virtual-functions"}
    pod["spec"]["containers"][0]["env"] = [{"name": name, "value": text} for name, text in environment.items()]
    return pod


def test_a_plugin_offers_what_its_configuration_matches_when_it_starts() -> None:
    outcome = on(node(), operand_pod(SRIOV_PLUGIN, "config"), config_maps=config_maps(sriov_config()))
    assert outcome.resources == outcome.loads["pod-0"] == {"nvidia.com/vf": 16}
    assert outcome.ready == ["pod-0"]


def test_a_plugin_that_has_started_takes_no_notice_of_another_configuration() -> None:
    running = operand_pod(SRIOV_PLUGIN, "config", loaded='{"nvidia.com/vf":16}')
    other = sriov_config({"resourceName": "other", "selectors": {"vendors": ["15b3"]}})
    outcome = on(node(), running, config_maps=config_maps(other))
    assert outcome.resources == {"nvidia.com/vf": 16}
    assert outcome.loads == {}


def test_a_plugin_that_has_started_takes_no_notice_of_virtual_functions_that_come_later() -> None:
    early = operand_pod(SRIOV_PLUGIN, "config", loaded="{}")
    assert on(node(vfs_per_nic=1), early, config_maps=config_maps(sriov_config())).resources == {}


def test_what_a_plugin_loaded_is_remembered_on_its_pod() -> None:
    assert json.loads(started({"a/b": 2})["metadata"]["annotations"][LOADED_ANNOTATION]) == {"a/b": 2}


def test_the_resources_go_with_the_plugins_pod() -> None:
    leaving = operand_pod(SRIOV_PLUGIN, "config", loaded='{"nvidia.com/vf":16}')
    leaving["metadata"]["deletionTimestamp"] = "now"
    assert on(node(), leaving).resources == {}


def test_two_plugins_on_a_node_offer_their_resources_together() -> None:
    pods = [operand_pod(SRIOV_PLUGIN, loaded='{"a/a":1}'), operand_pod(RDMA_PLUGIN, loaded='{"b/b":2}')]
    assert on(node(), *pods).resources == {"a/a": 1, "b/b": 2}


WITHOUT_NICS = node()
del WITHOUT_NICS["metadata"]["annotations"]["sandbox.gpu-fabric/nics"]


@pytest.mark.parametrize(
    ("plugin", "text", "said"),
    [
        *((SRIOV_PLUGIN, text, "the configuration") for text in ("{", '{"resourceList":[]}')),
        (SRIOV_PLUGIN, '{"resourceList":[{"resourceName":"a-b"}]}', "the configuration"),
        (RDMA_PLUGIN, '{"configList":[]}', "configList"),
        (SRIOV_PLUGIN, None, "there is no configuration"),
    ],
)
def test_a_plugin_without_a_usable_configuration_does_not_come_up(plugin: str, text: str | None, said: str) -> None:
    maps = {} if text is None else {"config_maps": config_maps(text)}
    outcome = on(node(), operand_pod(plugin, "config"), **maps)
    assert (outcome.resources, outcome.ready) == ({}, [])
    assert said in outcome.failures["pod-0"]


def test_the_shared_plugin_runs_on_a_machine_without_its_nics_and_offers_none() -> None:
    outcome = on(WITHOUT_NICS, operand_pod(RDMA_PLUGIN, "config"), config_maps=config_maps(shared_config()))
    assert (outcome.resources, outcome.ready) == ({"rdma/shared": 0}, ["pod-0"])


def test_the_shared_plugin_does_not_start_in_rdma_mode_exclusive() -> None:
    pod, maps = operand_pod(RDMA_PLUGIN, "config"), config_maps(shared_config())
    assert on(node(rdma_mode="shared"), pod, config_maps=maps).resources == {"rdma/shared": 63}
    assert on(node(rdma_mode="exclusive"), pod, config_maps=maps).ready == []


def test_nodes_with_the_nic_are_free_for_plugins_as_soon_as_a_policy_without_a_driver_is_there() -> None:
    assert on(node(), drivers=()).labels == {DRIVER_WAIT_LABEL: "false"}
    assert on(node(), drivers=None).labels == {}


def test_with_a_driver_in_the_policy_plugins_wait_for_its_pod() -> None:
    assert on(node(), drivers=({},)).labels == {DRIVER_WAIT_LABEL: "true"}
    assert on(node(), operand_pod(DRIVER), drivers=({},)).labels == {DRIVER_WAIT_LABEL: "false"}
    assert on(node(labels={"pool": "b"}), drivers=({"pool": "a"},)).labels == {DRIVER_WAIT_LABEL: "false"}


def test_a_node_without_the_nic_has_no_label_about_its_driver() -> None:
    bare = node(labels={"feature.node.kubernetes.io/pci-15b3.present": "false", **SETTLED})
    assert on(bare, drivers=()).labels == {DRIVER_WAIT_LABEL: None}


def test_our_daemon_set_makes_virtual_functions_and_sets_the_mode_and_only_then_is_ready() -> None:
    addresses = "0000:0c:00.0,0000:0c:00.1"
    outcome = on(node(0), setup_pod(PCI_ADDRESSES=addresses, VFS_PER_NIC="2", RDMA_MODE="exclusive"))
    after = virtual_function_counts(devices_of({k: v or "" for k, v in outcome.annotations.items()}))
    assert after == {"0000:0c:00.0": 2, "0000:0c:00.1": 2}
    assert outcome.annotations[RDMA_MODE_ANNOTATION] == "exclusive"
    assert outcome.ready == ["pod-0"]


def test_our_daemon_set_makes_the_device_plugin_look_again_when_virtual_functions_came() -> None:
    early, maps = operand_pod(SRIOV_PLUGIN, "config", loaded="{}"), config_maps(sriov_config())
    told = {"PCI_ADDRESSES": "0000:0c:00.0", "VFS_PER_NIC": "2"}
    made = on(node(0), early, setup_pod(**told, PLUGIN_POD="pod-"), config_maps=maps)
    assert made.resources == made.loads["pod-0"] == {"nvidia.com/vf": 2}
    assert on(node(0), early, setup_pod(**told), config_maps=maps).loads == {}
    assert on(node(2), early, setup_pod(**told, PLUGIN_POD="pod-"), config_maps=maps).loads == {}


def test_the_pods_that_a_plan_makes_for_virtual_functions_are_understood() -> None:
    plan = prepare_stack("guide-23-10", STACKS)
    (daemon_set,) = (
        entry.object.manifest() for entry in plan.applied("virtual-functions") if entry.object.kind == "DaemonSet"
    )
    template = daemon_set["spec"]["template"]
    assert template["metadata"]["labels"][COMPONENT_LABEL] == COMPONENT
    assert setup_of(template).vfs_per_nic == 1
    assert setup_of(template).plugin_pod.endswith("sriov-device-plugin")


def test_our_daemon_set_passes_over_nics_that_the_node_does_not_have() -> None:
    outcome = on(node(0), setup_pod(PCI_ADDRESSES="0000:77:00.0", VFS_PER_NIC="1"))
    assert (outcome.annotations, outcome.ready) == ({}, ["pod-0"])


@pytest.mark.parametrize(
    ("environment", "problem"),
    [
        ({"PCI_ADDRESSES": "0000:0c:00.0", "VFS_PER_NIC": "200"}, "200 virtual functions of at most 127"),
        ({"PCI_ADDRESSES": "0000:0c:00.0", "VFS_PER_NIC": "many"}, "VFS_PER_NIC is not a number"),
        ({"PCI_ADDRESSES": "0000:0c:00.0"}, "'VFS_PER_NIC' is not set"),
    ],
)
def test_our_daemon_sets_pod_is_not_ready_where_its_work_fails(environment: dict[str, str], problem: str) -> None:
    outcome = on(node(0), setup_pod(**environment))
    assert problem in outcome.failures["pod-0"]
    assert (outcome.annotations, outcome.ready) == ({}, [])


def test_a_node_is_patched_with_its_resources_and_the_memory_of_them() -> None:
    assert node_patch(node(), Outcome(resources={"nvidia.com/vf": 16})) == {
        "status": {"capacity": {"nvidia.com/vf": "16"}, "allocatable": {"nvidia.com/vf": "16"}},
        "metadata": {"annotations": {ADVERTISED_ANNOTATION: '["nvidia.com/vf"]'}},
    }


def test_a_node_that_has_come_to_what_it_should_be_is_left_alone() -> None:
    there = node(advertised='["nvidia.com/vf"]')
    there["status"] = {part: {"nvidia.com/vf": "16"} for part in ("capacity", "allocatable")}
    assert node_patch(there, Outcome(resources={"nvidia.com/vf": 16})) == {}


def test_what_is_no_longer_offered_is_withdrawn_and_other_resources_stay() -> None:
    before = node(advertised='["nvidia.com/old"]')
    before["status"] = {part: {"nvidia.com/old": "16", "nvidia.com/gpu": "8"} for part in ("capacity", "allocatable")}
    patch = node_patch(before, Outcome())
    assert patch["status"] == {"capacity": {"nvidia.com/old": None}, "allocatable": {"nvidia.com/old": None}}
    assert patch["metadata"]["annotations"] == {ADVERTISED_ANNOTATION: "[]"}


def test_a_resource_that_somebody_dropped_from_the_status_is_put_back() -> None:
    dropped = node_patch(node(advertised='["nvidia.com/vf"]'), Outcome(resources={"nvidia.com/vf": 16}))
    assert dropped == {"status": {"capacity": {"nvidia.com/vf": "16"}, "allocatable": {"nvidia.com/vf": "16"}}}


def test_a_pod_that_is_held_back_becomes_ready_once() -> None:
    held = operand_pod(SRIOV_PLUGIN)
    held["status"] |= {
        "conditions": [{"type": "Initialized", "status": "True"}, {"type": "Ready", "status": "False"}],
        "containerStatuses": [{"name": "c", "ready": False, **IMAGE}],
    }
    patch = readiness_patch(held, "now")["status"]
    assert patch["conditions"] == [{"type": "Ready", "status": "True", "lastTransitionTime": "now"}]
    assert [item["ready"] for item in patch["containerStatuses"]] == [True]
    held["status"]["conditions"][1]["status"] = "True"
    assert readiness_patch(held, "now") == {}
