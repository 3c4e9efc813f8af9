"""When the device plug-ins of policies start again; what the policies say is in rows/policies.yaml."""

from typing import Any

import pytest
from changes import Changes
from planned_fabrics import plan_of

from gpu_fabric.plan.records import PlannedConfiguration, PlannedObject, PlannedRollout


def spec(planned: PlannedObject | None) -> dict[str, Any]:
    assert planned is not None
    written: dict[str, Any] = planned.object.manifest()["spec"]
    return written


def marker(policy: PlannedObject) -> str:
    """The toleration of a taint that nobody sets, whose change makes the operator start the plug-in's pods anew."""
    (found,) = [entry for entry in spec(policy)["tolerations"] if entry["key"] == "gpu-fabric/configuration"]
    return str(found["value"])


def test_only_the_plug_ins_of_the_kind_whose_configuration_changed_start_anew() -> None:
    before = {policy.name: marker(policy) for policy in plan_of("node-kinds").applied("nic-node-policies")}
    moved = {"cluster.shapes.new-machine.nics": [{"pci": "0000:0c:00.0"}, {"pci": "0000:5d:00.0"}]}
    after = {policy.name: marker(policy) for policy in plan_of("node-kinds", moved).applied("nic-node-policies")}

    assert before["old"] == after["old"]
    assert before["new"] != after["new"]


_OLD = {"software.releaseLine": "23.10", "fabric.addressing.gateway": "first"}


@pytest.mark.parametrize(
    ("stack", "changes", "anew"),
    [
        ("guide-23-10", {"cluster.pools[0].nodes": 40}, False),
        ("guide-23-10", {"fabric.namespaces": ["default", "jobs"]}, False),
        ("guide-23-10", {"cluster.pools[0].shape": "BM.GPU4.8"}, True),
        ("roce-macvlan", {"fabric.addressing.supernet": "172.16.0.0/16"}, False),
        ("roce-macvlan", {"fabric.podsPerNic": 5}, True),
    ],
)
def test_plug_ins_of_the_old_line_start_anew_with_their_configuration_alone(
    stack: str, changes: Changes, anew: bool
) -> None:
    old = _OLD if stack == "roce-macvlan" else {}
    (before,), (after,) = (plan_of(stack, {**old, **more}).records(PlannedRollout) for more in ({}, changes))

    assert (before.namespace, before.daemon_set) == (after.namespace, after.daemon_set)
    assert (before.annotations != after.annotations) == anew


def test_each_plug_in_is_looked_at_where_the_operator_writes_its_configuration() -> None:
    plan = plan_of("node-kinds")
    policies = {policy.name: policy.object.manifest()["spec"] for policy in plan.applied("nic-node-policies")}
    found = {(entry.config_map, entry.daemon_set): entry.text for entry in plan.records(PlannedConfiguration)}

    assert policies
    assert found == {
        (
            f"network-operator-sriovdp-config-{name}",
            f"network-operator-sriov-device-plugin-{name}",
        ): spec["sriovDevicePlugin"]["config"]
        for name, spec in policies.items()
    }
