"""The order in which a stack comes up; its exact reverse is how it goes down."""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import STACKS, run_program, stack_config
from recording import Recording

pytestmark = pytest.mark.components

# IPPool or CIDRPool, by the layout.
POOL = "Pool"
CHAIN = [
    ("core/v1:Namespace", "helm.sh/v3:Release"),
    ("core/v1:Namespace", POOL),
    ("core/v1:Namespace", "v1:NetworkAttachmentDefinition"),
    ("core/v1:Namespace", "core/v1:ConfigMap"),
    ("helm.sh/v3:Release", "v1alpha1:NicClusterPolicy"),
    ("nvidia.com/v1:ClusterPolicyPatch", "v1alpha1:NicClusterPolicy"),
    ("v1alpha1:NicClusterPolicy", POOL),
    (POOL, "v1:NetworkAttachmentDefinition"),
    ("v1:NetworkAttachmentDefinition", "core/v1:ConfigMap"),
]


@pytest.mark.parametrize(("earlier", "later"), CHAIN)
def test_every_resource_of_a_step_waits_for_every_resource_of_the_step_before(
    stack: Recording, earlier: str, later: str
) -> None:
    first, second = stack.of_type(earlier), stack.of_type(later)
    assert first
    assert second
    missing = [(b.name, a.name) for b in second for a in first if not stack.comes_after(b.name, a.name)]
    assert missing == []


def test_what_the_network_operator_does_comes_after_the_gpu_operator_that_owns_node_feature_discovery(
    stack: Recording,
) -> None:
    assert stack.comes_after("network-operator-nic-cluster-policy", "gpu-operator-gpu-operator")


def test_the_two_charts_are_installed_at_the_same_time(stack: Recording) -> None:
    assert not stack.comes_after("network-operator-network-operator", "gpu-operator-gpu-operator")


def test_a_chart_with_a_node_feature_rule_waits_for_the_chart_that_brings_its_definition(kubeconfig: Path) -> None:
    config = stack_config(STACKS["dev"], kubeconfig)
    config["gpu-fabric:software"]["networkOperator"] = {"values": {"nfd": {"deployNodeFeatureRules": True}}}
    recording = run_program("dev", config)
    assert recording.comes_after("network-operator-network-operator", "gpu-operator-gpu-operator")


def test_the_gpu_operators_readiness_is_only_looked_at_once_its_chart_is_there(stack: Recording) -> None:
    assert stack.comes_after("gpu-operator-cluster-policy-ready", "gpu-operator-gpu-operator")


def test_nothing_waits_for_itself(stack: Recording) -> None:
    assert [resource.name for resource in stack.resources if stack.comes_after(resource.name, resource.name)] == []
