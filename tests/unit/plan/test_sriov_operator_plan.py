"""The SR-IOV operator's objects held against each other; each by itself is in rows/sriov_operator.yaml."""

import json
from typing import Any

from planned_fabrics import plan_of

from gpu_fabric.plan import Plan
from gpu_fabric.plan.records import PlannedWait


def by_kind(plan: Plan, kind: str) -> dict[str, dict[str, Any]]:
    """Specs of the planned objects of a kind, by name."""
    return {entry.name: entry.object.manifest().get("spec", {}) for entry in plan.objects if entry.object.kind == kind}


def test_the_operators_networks_chain_what_the_stacks_own_would_chain() -> None:
    theirs = json.loads(f"[{by_kind(plan_of('externally-managed'), 'SriovNetwork')['rail-00']['metaPlugins']}]")
    ours = json.loads(by_kind(plan_of("oke-h100-26-4"), "NetworkAttachmentDefinition")["rail-00"]["config"])["plugins"]

    assert theirs == ours[1:]
    assert [plugin["type"] for plugin in theirs] == ["tuning", "rdma", "sbr"]


def test_every_policy_is_looked_for_in_the_specs_of_its_nodes() -> None:
    plan = plan_of("sriov-operator")

    wait = plan.record(PlannedWait, "sriov")
    assert wait is not None
    _, *policies = (entry.object.manifest() for entry in plan.applied("sriov-pool", "sriov-policies"))
    asked = {(entry.policy, entry.resource, entry.addresses, entry.count, entry.mtu) for entry in wait.functions}
    assert asked == {
        (
            policy["metadata"]["name"],
            policy["spec"]["resourceName"],
            tuple(policy["spec"]["nicSelector"].get("rootDevices", ())),
            policy["spec"]["numVfs"],
            policy["spec"].get("mtu"),
        )
        for policy in policies
    }


def test_nodes_that_may_be_drained_one_after_another_are_waited_for_longer_the_more_they_are() -> None:
    def seconds(stack: str, nodes: int) -> int:
        wait = plan_of(stack, {"cluster.pools[0].nodes": nodes}).record(PlannedWait, "sriov")
        assert wait is not None
        return wait.timeout

    assert seconds("sriov-operator", 30) > seconds("sriov-operator", 3)
    assert seconds("externally-managed", 30) == seconds("externally-managed", 3)
