"""Waves in a plan: what they come after, what a node must offer again, and what operators leave to them."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest
from planned_fabrics import plan_of

from gpu_fabric.k8s.mellanox import NicClusterPolicy
from gpu_fabric.plan import Plan
from gpu_fabric.plan.records import PlannedObject, PlannedState, PlannedWaves


def with_waves(stack: str, upgrade: Any = MappingProxyType({}), **changes: Any) -> Plan:
    return plan_of(
        stack, {"upgrade": dict(upgrade), **{name.replace("__", "."): value for name, value in changes.items()}}
    )


def waves(plan: Plan) -> PlannedWaves:
    found = plan.record(PlannedWaves, "waves")
    assert found is not None
    return found


def test_without_the_section_there_are_no_waves_and_operators_change_nodes_themselves() -> None:
    plan = plan_of("host-device", {"software.gpuOperator.driver": True})
    assert plan.step("waves") is None
    release = plan.release("gpu-operator")
    assert release is not None
    assert "daemonsets" not in release.values
    assert release.values["driver"] == {"enabled": True}


def test_waves_come_after_everything_but_the_verification() -> None:
    plan = with_waves("verification")
    names = [step.name for step in plan.steps]
    assert names[-2:] == ["waves", "verification"]
    step = plan.step("waves")
    assert step is not None
    assert set(step.after) == set(names[:-2])


def test_hold_leaves_every_node_as_it_is_and_the_operators_as_with_waves() -> None:
    held, waving = with_waves("host-device", {"action": "hold"}), with_waves("host-device")
    assert held.step("waves") is None
    assert held.releases == waving.releases


def test_the_gpu_operators_pods_and_drivers_are_only_replaced_when_the_waves_delete_them() -> None:
    release = with_waves("host-device", software__gpuOperator__driver=True).release("gpu-operator")
    assert release is not None
    assert release.values["daemonsets"] == {"updateStrategy": "OnDelete"}
    assert release.values["driver"] == {"enabled": True, "upgradePolicy": {"autoUpgrade": False}}


@pytest.mark.parametrize(
    ("stack", "resource", "count"),
    [
        ("host-device", "nvidia.com/rail_00", 1),
        ("roce-macvlan", "rdma/rail_00", 4),
        ("sriov-flat", "nvidia.com/sriov_rdma_vf", 16),
        ("host-device", "nvidia.com/gpu", 8),
    ],
)
def test_a_node_offers_as_much_of_each_resource_as_its_nics_give(stack: str, resource: str, count: int) -> None:
    (proven,) = waves(with_waves(stack)).proven
    assert proven.resources[resource] == count


def test_a_policy_with_drivers_is_ready_only_after_the_waves_and_so_is_not_waited_for_before() -> None:
    plan = with_waves("two-machines", software__networkOperator__ofedDriver=True)
    written = [entry for entry in plan.objects if isinstance(entry.object, NicClusterPolicy)]
    assert [entry.wait_for for entry in written] == [None]
    before = plan.record(PlannedState, "nic-policies")
    assert before is not None
    assert (before.value, before.or_due_in) == ("ready", "nvidia-network-operator")
    after = {entry.name: entry.or_due_in for entry in plan.records(PlannedState, "waves")}
    assert after == {"cluster-policy": None, "nic-cluster-policy": None}


@pytest.mark.parametrize(
    ("size", "most"),
    [({"nodes": 3}, 3), ({"percent": 67}, 2), ({"percent": 10}, 1)],
)
def test_the_sriov_operator_drains_as_many_nodes_as_a_wave_has(size: dict[str, int], most: int) -> None:
    plan = with_waves("sriov-operator", size)
    (pool,) = (entry for entry in plan.objects if entry.object.kind == "SriovNetworkPoolConfig")
    assert pool.object.manifest()["spec"]["maxUnavailable"] == most
    found = waves(plan)
    assert (found.nodes_at_a_time, found.percent) == (size.get("nodes", 1), size.get("percent"))


def test_another_release_line_or_hook_is_another_wave_and_a_deadline_is_not() -> None:
    hook = {"image": "registry.example.com/firmware:1", "command": ["update", "--all"]}
    first, other = (waves(with_waves("host-device", {"hook": {**hook, "command": [name]}})) for name in ("a", "b"))
    assert first.hook is not None
    assert other.hook is not None
    assert first.hook.digest != other.hook.digest
    assert first.revision == waves(with_waves("host-device", {"jobMinutes": 5})).revision
    guide = waves(with_waves("oke-guide"))
    assert guide.revision != first.revision


def test_a_hook_runs_in_a_privileged_pod_that_tolerates_every_taint() -> None:
    hook = waves(with_waves("host-device", {"hook": {"image": "tools:1", "command": ["update"]}})).hook
    assert hook is not None
    spec: Any = hook.manifest["spec"]
    assert spec["restartPolicy"] == "Never"
    assert spec["tolerations"] == [{"operator": "Exists"}]
    assert spec["containers"][0]["securityContext"] == {"privileged": True}


def test_pods_of_the_stacks_own_software_are_no_jobs() -> None:
    found = waves(with_waves("host-device")).namespaces
    assert found == ("gpu-operator", "kube-system", "nvidia-network-operator")


def test_objects_of_a_stack_with_waves_are_those_of_one_without() -> None:
    without, with_them = plan_of("host-device"), with_waves("host-device")
    assert [entry for entry in with_them.objects if isinstance(entry, PlannedObject)] == list(without.objects)
