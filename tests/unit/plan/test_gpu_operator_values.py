"""Switches of the GPU Operator: which chart values each one sets, and which it leaves to the chart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from changes import Changes

from gpu_fabric.plan import Plan

PlanWith = Callable[[Changes], Plan]

GPU = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
TEAM = {"key": "team", "operator": "Exists", "effect": "NoSchedule"}
CONTROL_PLANE = {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"}
# The node images of clouds bring the network drivers.
OWN_MACHINES = {"cluster.pools[0].shape": "server.dgx-h100.8", "fabric.linkType": "ether", "fabric.vfsPerNic": 1}
BY_DEFAULT = {
    "driver": {"enabled": False},
    "nfd": {"enabled": True},
    "dcgmExporter": {"serviceMonitor": {"enabled": False}},
}


def values(plan: Plan) -> dict[str, Any]:
    assert plan.release("gpu-operator") is not None
    return plan.release("gpu-operator").values


def test_a_stack_without_switches_leaves_all_but_driver_labels_and_metrics_to_the_chart(plan_with: PlanWith) -> None:
    assert values(plan_with({})) == BY_DEFAULT


@pytest.mark.parametrize(
    ("switches", "wanted"),
    [
        ({"driver": True}, {"driver": {"enabled": True}}),
        ({"toolkit": False}, {"toolkit": {"enabled": False}}),
        ({"toolkit": True}, {}),
        ({"gdrcopy": True}, {"gdrcopy": {"enabled": True}}),
        ({"cdi": True}, {"cdi": {"enabled": True}}),
        ({"cdi": False}, {"cdi": {"enabled": False}}),
        ({"dcgmExporter": False}, {"dcgmExporter": {"enabled": False, "serviceMonitor": {"enabled": False}}}),
        ({"mig": "single"}, {"mig": {"strategy": "single"}}),
        ({"mig": "mixed"}, {"mig": {"strategy": "mixed"}}),
        ({"gpuDirect": "dma-buf"}, {}),
        (
            {"gpuDirect": "peermem", "driver": True},
            {"driver": {"enabled": True, "rdma": {"enabled": True, "useHostMofed": True}}},
        ),
        ({"values": {"devicePlugin": {"enabled": False}}}, {"devicePlugin": {"enabled": False}}),
    ],
    ids=str,
)
def test_a_switch_sets_its_own_values_and_no_others(
    plan_with: PlanWith, switches: dict[str, Any], wanted: dict[str, Any]
) -> None:
    assert values(plan_with({"software.gpuOperator": switches})) == {**BY_DEFAULT, **wanted}


def test_metrics_are_announced_where_the_cluster_has_the_prometheus_operator(plan_with: PlanWith) -> None:
    changes = {"cluster.installed": ["prometheus-operator"], "software.gpuOperator.serviceMonitor": True}

    assert values(plan_with(changes))["dcgmExporter"] == {"serviceMonitor": {"enabled": True}}


def test_a_cluster_with_node_feature_discovery_of_its_own_gets_neither_a_second_one_nor_values_for_it(
    plan_with: PlanWith,
) -> None:
    changes = {
        "cluster.installed": ["nfd"],
        "software.gpuOperator.featureDiscovery": False,
        "cluster.pools[0].taints": [{"key": "team", "value": "a"}],
    }
    found = values(plan_with(changes))

    assert found["nfd"] == {"enabled": False}
    assert "node-feature-discovery" not in found


@pytest.mark.parametrize(("ofed_driver", "host"), [(False, True), (True, False)])
def test_peermem_is_built_against_the_network_drivers_of_the_host_unless_the_operator_loads_them(
    plan_with: PlanWith, ofed_driver: bool, host: bool
) -> None:
    changes: Changes = {
        **OWN_MACHINES,
        "software.gpuOperator": {"driver": True, "gpuDirect": "peermem"},
        "software.networkOperator.ofedDriver": ofed_driver,
    }

    assert values(plan_with(changes))["driver"]["rdma"] == {"enabled": True, "useHostMofed": host}


@pytest.mark.parametrize("taints", [[], [{"key": "nvidia.com/gpu", "value": "present"}]])
def test_taints_that_the_chart_tolerates_by_itself_are_not_repeated(plan_with: PlanWith, taints: Any) -> None:
    found = values(plan_with({"cluster.pools[0].taints": taints}))

    assert "daemonsets" not in found
    assert "node-feature-discovery" not in found


def test_a_taint_of_the_pools_own_is_tolerated_beside_all_that_the_charts_tolerate(plan_with: PlanWith) -> None:
    found = values(plan_with({"cluster.pools[0].taints": [{"key": "team", "value": "a"}]}))

    # A list takes the place of the chart's own.
    assert found["daemonsets"]["tolerations"] == [GPU, TEAM]
    assert found["node-feature-discovery"]["worker"]["tolerations"] == [CONTROL_PLANE, GPU, TEAM]
