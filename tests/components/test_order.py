"""The order in which a stack comes up; its exact reverse is how it goes down."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from each_case import each
from program_lists import SCHEDULERS
from programs import STACKS, run_program, stack_config
from recording import Recording

pytestmark = pytest.mark.components

NAMESPACE, CHART = "core/v1:Namespace", "helm.sh/v3:Release"
ON_NODES = "apps/v1:DaemonSet"
GPUS_READY = "nvidia.com/v1:ClusterPolicyPatch"
# The stack's own object, or the one of the chart that is waited for.
POLICY = ("v1alpha1:NicClusterPolicy", "v1alpha1:NicClusterPolicyPatch")
NODE_POLICY, ROLL_OUT = "v1alpha1:NicNodePolicy", "apps/v1:DaemonSetPatch"
SRIOV_POOL, SRIOV_POLICY = "v1:SriovNetworkPoolConfig", "v1:SriovNetworkNodePolicy"
# IPPool or CIDRPool, by the layout.
POOL = ("IPPool", "CIDRPool")
NETWORK = ("v1:NetworkAttachmentDefinition", "v1:SriovNetwork", "v1:SriovIBNetwork", "v2beta1:SpiderMultusConfig")
CHAIN: list[tuple[str | tuple[str, ...], str | tuple[str, ...]]] = [
    (NAMESPACE, CHART),
    (NAMESPACE, ON_NODES),
    (NAMESPACE, POOL),
    (NAMESPACE, NETWORK),
    (NAMESPACE, "core/v1:ConfigMap"),
    (GPUS_READY, ON_NODES),
    (GPUS_READY, POLICY),
    (POLICY, NODE_POLICY),
    (POLICY, ROLL_OUT),
    (POLICY, SRIOV_POOL),
    (SRIOV_POOL, SRIOV_POLICY),
    (POLICY, POOL),
    (CHART, NETWORK),
    (ON_NODES, NETWORK),
    (NODE_POLICY, NETWORK),
    (SRIOV_POLICY, NETWORK),
    (POOL, NETWORK),
]


@each(("earlier", "later"), CHAIN)
def test_every_resource_of_a_step_waits_for_every_resource_of_the_step_before(
    stack: Recording, earlier: str, later: str
) -> None:
    # The check of the rails and what proves nodes run there, too, and come last; the fabric needs no scheduler.
    beside = ("check", "readiness", *SCHEDULERS)
    first, second = ([r for r in stack.of_type(kind) if r.parent not in beside] for kind in (earlier, later))
    missing = [(b.name, a.name) for b in second for a in first if not stack.comes_after(b.name, a.name)]
    assert missing == []


@each(("earlier", "later"), CHAIN)
def test_every_step_is_in_some_committed_stack(recorded: Callable[[str], Recording], earlier: str, later: str) -> None:
    assert any(recorded(name).of_type(earlier) and recorded(name).of_type(later) for name in STACKS)


def test_the_files_of_nccl_come_last(stack: Recording) -> None:
    files = [r for r in stack.of_type("core/v1:ConfigMap") if r.parent == "nccl"]
    missing = [(b.name, a.name) for b in files for a in stack.of_type(NETWORK) if not stack.comes_after(b.name, a.name)]
    # A cluster alone has no jobs.
    assert bool(files) == ("fabric" in stack.outputs)
    assert missing == []


def test_the_two_charts_are_installed_at_the_same_time(dev: Recording) -> None:
    assert not dev.comes_after("network-operator-network-operator", "gpu-operator-gpu-operator")


def test_virtual_functions_are_there_before_a_device_plug_in_looks_for_them(kubeconfig: Path) -> None:
    config = stack_config(STACKS["dev"], kubeconfig)
    config["gpu-fabric:fabric"]["virtualFunctions"] = "daemon-set"
    recording = run_program("dev", config)
    policy, operator = "nic-policies-nic-cluster-policy", "network-operator-network-operator"
    functions = "virtual-functions-virtual-functions-nvidia-network-operator"
    assert recording.comes_after(policy, functions)
    assert not recording.comes_after(operator, functions)


def test_a_chart_that_makes_the_policy_itself_waits_for_all_that_the_policy_waits_for(
    recorded: Callable[[str], Recording],
) -> None:
    guide = recorded("oke-guide")
    operator = "network-operator-network-operator"
    assert guide.comes_after(operator, "virtual-functions-virtual-functions-network-operator")
    assert guide.comes_after(operator, "gpu-operator-cluster-policy-ready")
    assert guide.comes_after("nic-policies-nic-cluster-policy-ready", operator)


def test_whereabouts_needs_its_namespace_alone(recorded: Callable[[str], Recording]) -> None:
    recording = recorded("whereabouts")
    assert not recording.comes_after("whereabouts-whereabouts", "gpu-operator-gpu-operator")
    assert not recording.comes_after("whereabouts-whereabouts", "nic-policies-nic-cluster-policy")


def test_a_chart_with_a_node_feature_rule_waits_for_the_chart_that_brings_its_definition(kubeconfig: Path) -> None:
    config = stack_config(STACKS["dev"], kubeconfig)
    config["gpu-fabric:software"]["networkOperator"] = {"values": {"nfd": {"deployNodeFeatureRules": True}}}
    recording = run_program("dev", config)
    assert recording.comes_after("network-operator-network-operator", "gpu-operator-gpu-operator")


def test_the_gpu_operators_readiness_is_only_looked_at_once_its_chart_is_there(on_existing: Recording) -> None:
    # NVIDIA's operator is no part of a stack of AMD machines, nor of one whose cluster has it.
    has_operator = bool(on_existing.of_type("GpuOperator"))
    assert [entry.name for entry in on_existing.of_type(GPUS_READY)] == [
        "gpu-operator-cluster-policy-ready"
    ] * has_operator
    if has_operator:
        assert on_existing.comes_after("gpu-operator-cluster-policy-ready", "gpu-operator-gpu-operator")


def test_nothing_waits_for_itself(stack: Recording) -> None:
    assert [resource.name for resource in stack.resources if stack.comes_after(resource.name, resource.name)] == []
