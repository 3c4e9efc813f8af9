"""Operators that the cluster has, and several stacks on one cluster."""

from __future__ import annotations

from typing import Any

import pytest
from changes import changed
from committed_stacks import folder_of

from gpu_fabric.findings import ConfigurationError
from gpu_fabric.k8s.mellanox import NicClusterPolicy
from gpu_fabric.plan import Plan
from gpu_fabric.plan.operators.sharing import SHARED, STACK_ANNOTATION
from gpu_fabric.plan.records import (
    PlannedAdoption,
    PlannedCapacity,
    PlannedQueues,
    PlannedSharing,
    PlannedState,
    PlannedWebhookCleanup,
)
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.load import read_document

THERE = "existing-operators"
_NETWORK = "software.networkOperator"


def planned(stack: str, changes: dict[str, Any] | None = None, name: str | None = None) -> Plan:
    """A committed stack's plan with some values changed, and under another name."""
    document = changed(read_document(stack, folder_of(stack)), changes or {})
    made = document.model_copy(update={"name": name or stack})
    return prepare(made, for_up=False)


def names(plan: Plan) -> set[tuple[str, str | None, str]]:
    """Kind, namespace and name of every object."""
    found = (entry.object for entry in plan.objects)
    return {(item.kind, item.metadata.namespace, item.metadata.name) for item in found}


def test_operators_that_are_there_are_neither_installed_nor_given_a_namespace() -> None:
    plan = planned(THERE)

    assert plan.releases == ()
    assert [name for kind, _, name in names(plan) if kind == "Namespace"] == []


def test_the_plan_states_versions_namespace_and_kinds_of_each_operator() -> None:
    sharing = planned(THERE).record(PlannedSharing, SHARED)
    assert sharing is not None
    found = {entry.name: entry for entry in sharing.operators}

    assert list(found) == ["gpu-operator", "nfd", "network-operator", "multus"]
    network = found["network-operator"]
    assert (network.tested, str(network.versions)) == ("26.4.1", ">=26.4,<26.5")
    assert network.namespace == "nvidia-network-operator"
    assert [(kind.name, kind.version) for kind in network.definitions] == [
        ("nicclusterpolicies.mellanox.com", "v1alpha1")
    ]


def test_the_words_of_a_plan_say_what_must_be_there() -> None:
    step = planned(THERE).step(SHARED)
    assert step is not None

    (words,) = [words for words in step.words if words.title == "GPU Operator"]
    assert words.what == "not installed, must be there: >=26.3,<26.4, tested with v26.3.3"


def test_an_adopted_policy_gets_the_sections_that_a_policy_of_the_stack_would_have() -> None:
    adopted = planned(THERE).record(PlannedAdoption, "adopted-sections")
    alike = planned("host-device", {"cluster.pools": planned_pools(), "fabric.linkType": "ether"})
    own = alike.applied("nic-policies")[0].object
    assert adopted is not None
    assert isinstance(own, NicClusterPolicy)
    wanted = own.manifest()["spec"]

    assert adopted.spec.keys() == wanted.keys() - {"tolerations"}
    assert adopted.spec["sriovDevicePlugin"] == wanted["sriovDevicePlugin"]
    assert adopted.spec["nvIpam"] == wanted["nvIpam"]


def planned_pools() -> list[dict[str, Any]]:
    pools: list[dict[str, Any]] = read_document(THERE, folder_of(THERE)).sections["cluster"]["pools"]
    return pools


def test_tolerations_are_added_where_the_operators_own_do_not_cover_a_taint() -> None:
    taints = [{"key": "team", "value": "a"}]
    adopted = planned(THERE, {"cluster.pools[0].taints": taints}).record(PlannedAdoption, "adopted-sections")
    assert adopted is not None

    assert adopted.spec["tolerations"] == [{"key": "team", "operator": "Exists", "effect": "NoSchedule"}]


def test_pools_wait_until_the_operator_has_defined_their_kind() -> None:
    states = planned(THERE).records(PlannedState, "nic-policies")

    assert [(state.name, state.value) for state in states] == [
        ("nic-cluster-policy", "ready"),
        ("cidrpools.nv-ipam.nvidia.com", "CIDRPool"),
    ]


def test_a_foreign_policy_is_not_written_and_its_resources_are_listed_with_their_nics() -> None:
    plan = planned(THERE, {f"{_NETWORK}.policy": "theirs"})
    sharing = plan.record(PlannedSharing, SHARED)
    assert sharing is not None
    assert sharing.policy is not None

    assert plan.records(PlannedAdoption) == ()
    assert sharing.policy.sections == ("nvIpam", "secondaryNetwork.cniPlugins")
    first = sharing.policy.resources[0]
    assert (first.name, first.addresses, first.interfaces) == (
        "nvidia.com/rail_00",
        ("0000:18:00.0",),
        ("enp24s0np0",),
    )


def test_a_policy_of_the_stacks_own_is_created_beside_an_operator_that_is_there() -> None:
    plan = planned(THERE, {f"{_NETWORK}.policy": "own"})

    assert ("NicClusterPolicy", None, "nic-cluster-policy") in names(plan)


def test_nodes_must_offer_what_operators_of_the_cluster_advertise() -> None:
    gpus, rails = planned(THERE).records(PlannedCapacity)

    assert (gpus.nodes, list(gpus.resources)) == ({"pool": "gpu"}, ["nvidia.com/gpu"])
    assert (rails.nodes, rails.count, len(rails.resources)) == ({"pool": "gpu"}, 2, 8)


def test_objects_go_into_the_namespace_of_the_operator_that_is_there() -> None:
    plan = planned(THERE, {f"{_NETWORK}.namespace": "network-system"})

    assert {namespace for kind, namespace, _ in names(plan) if kind == "CIDRPool"} == {"network-system"}


def test_policies_of_an_sriov_operator_that_is_there_leave_its_webhooks_alone() -> None:
    section = {"software.sriovOperator": {"install": False, "namespace": "sriov-network-operator"}}
    plan = planned("sriov-operator", section)
    own = planned("sriov-operator")
    chart = plan.release("network-operator")
    assert chart is not None

    assert chart.values.get("sriovNetworkOperator") is None
    assert plan.records(PlannedWebhookCleanup) == ()
    assert len(own.records(PlannedWebhookCleanup)) == 1
    policies = {namespace for kind, namespace, _ in names(plan) if kind == "SriovNetworkNodePolicy"}
    assert policies == {"sriov-network-operator"}


def test_queues_are_created_in_a_kueue_that_is_there_and_its_controller_is_not_stopped() -> None:
    plan = planned("kueue", {"software.schedulers.kueue.install": False})
    (queues,) = plan.records(PlannedQueues)

    assert plan.release("kueue") is None
    assert not queues.stops_controller


@pytest.mark.parametrize("section", ["jobSet", "leaderWorkerSet", "mpiOperator", "volcano"])
def test_a_controller_of_jobs_that_is_there_is_in_the_contract_and_not_installed(section: str) -> None:
    plan = planned("host-device", {f"software.schedulers.{section}.install": False})

    assert len(plan.workload.scheduler_hints.controllers) == 1
    assert {release.name for release in plan.releases} == {"gpu-operator", "network-operator"}
    assert not any(kind in ("Deployment", "CustomResourceDefinition") for kind, _, _ in names(plan))


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"policy": "adopt"}, "policy: adopt is for a cluster that has the operator"),
        ({"policy": "theirs"}, "policy: theirs is for a cluster that has the operator"),
    ],
)
def test_ways_to_use_an_operator_need_one_that_is_there(section: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        planned("host-device", {_NETWORK: section})


PREFIXED: dict[str, dict[str, Any]] = {
    "host-device": {"fabric.hostPreparation": {"disableAcs": True}},
    "sriov-operator": {"fabric.check": {}},
    "sriov-per-node": {"fabric.virtualFunctions": "daemon-set", "fabric.vfsPerNic": 4},
    "spiderpool-ib": {},
    "spiderpool-macvlan": {"fabric.check": {}},
    "node-kinds": {},
    "kueue": {"software.schedulers": {"kueue": {"quotas": {"cpu": "768"}}}},
}


@pytest.mark.parametrize("stack", PREFIXED)
def test_two_stacks_of_other_prefixes_have_no_object_in_common(stack: str) -> None:
    red, blue = (
        planned(stack, {**PREFIXED[stack], "fabric.prefix": prefix, **queue(stack, prefix)}, prefix)
        for prefix in ("red", "blue")
    )
    alone = planned(stack, PREFIXED[stack])
    operators = operators_objects(alone)

    assert names(red) & names(blue) <= operators
    assert names(red) & names(alone) <= operators


def queue(stack: str, prefix: str) -> dict[str, Any]:
    """A queue of the stack's own, which a stack file names itself."""
    return {"software.schedulers.kueue.queue": prefix} if stack == "kueue" else {}


def operators_objects(plan: Plan) -> set[tuple[str, str | None, str]]:
    """What installs the operators themselves, which a further stack on the cluster leaves to the first."""
    kinds = {"Namespace", "NicClusterPolicy"}
    return {entry for entry in names(plan) if entry[0] in kinds}


def test_every_object_on_a_shared_cluster_carries_its_stacks_mark_and_none_elsewhere() -> None:
    shared, alone = planned("second-platform"), planned("host-device")

    marks = {(entry.object.metadata.annotations or {}).get(STACK_ANNOTATION) for entry in shared.objects}
    assert marks == {"second-platform"}
    assert all(STACK_ANNOTATION not in (entry.object.metadata.annotations or {}) for entry in alone.objects)


def test_resources_keep_their_names_under_a_prefix() -> None:
    plan = planned("second-platform")

    assert plan.rails[0].network == "blue-rail-00"
    assert plan.rails[0].resource_name == "nvidia.com/rail_00"


def test_a_second_platform_on_a_cluster_stack_has_objects_of_its_own() -> None:
    first = planned("doks-split-platform")
    more = {"fabric.prefix": "blue", "software.multus.install": False, "fabric.namespaces": ["blue"]}
    second = planned("doks-split-platform", more, "doks-blue")

    assert names(first) & names(second) == set()
    assert second.record(PlannedSharing, SHARED) is not None
