"""Several stacks on one cluster, held against each other; operators that it has are in rows/sharing.yaml."""

from typing import Any

import pytest
from changes import changed
from committed_stacks import folder_of

from gpu_fabric.findings import ConfigurationError
from gpu_fabric.k8s.mellanox import NicClusterPolicy
from gpu_fabric.plan import Plan
from gpu_fabric.plan.operators.sharing import SHARED, STACK_ANNOTATION
from gpu_fabric.plan.records import PlannedAdoption, PlannedSharing
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.load import read_document

THERE = "existing-operators"


def planned(stack: str, changes: dict[str, Any] | None = None, name: str | None = None) -> Plan:
    """A committed stack's plan with some values changed, and under another name."""
    document = changed(read_document(stack, folder_of(stack)), changes or {})
    made = document.model_copy(update={"name": name or stack})
    return prepare(made, for_up=False).plan


def names(plan: Plan) -> set[tuple[str, str | None, str]]:
    """Kind, namespace and name of every object."""
    found = (entry.object for entry in plan.objects)
    return {(item.kind, item.metadata.namespace, item.metadata.name) for item in found}


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


@pytest.mark.parametrize("policy", ["adopt", "theirs"])
def test_ways_to_use_an_operator_need_one_that_is_there(policy: str) -> None:
    with pytest.raises(ConfigurationError, match=f"policy: {policy} is for a cluster that has the operator"):
        planned("host-device", {"software.networkOperator": {"policy": policy}})


PREFIXED: dict[str, dict[str, Any]] = {
    "host-device": {"fabric.hostPreparation": {"disableAcs": True}, "fabric.readiness": {"pair": {}}},
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


def test_a_second_platform_on_a_cluster_stack_has_objects_of_its_own() -> None:
    first = planned("doks-split-platform")
    more = {"fabric.prefix": "blue", "software.multus.install": False, "fabric.namespaces": ["blue"]}
    second = planned("doks-split-platform", more, "doks-blue")

    assert names(first) & names(second) == set()
    assert second.record(PlannedSharing, SHARED) is not None
