"""The SR-IOV operator on a simulated node: which NICs a policy means, what it does to them, what it then offers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from played_objects import H100, NAMESPACE, Object, node, operand_pod

from sandbox.hardware.inventory import SimulatedDevice, devices_of, inventory, virtual_function_counts
from sandbox.hardware.node_agent import play
from sandbox.hardware.node_records import Outcome, SriovWorld, StateChange, World, asked_of
from sandbox.hardware.sriov import (
    SyncError,
    observed_interfaces,
    offered_resources,
    rdma_mode,
    synced,
    wanted_interfaces,
)
from sandbox.hardware.sriov_agent import MADE_ANNOTATION
from sandbox.hardware.sriov_operator import CONFIG_DAEMON, OPERATOR_PLUGIN, PLUGIN_LABEL
from sandbox.nodes import RDMA_MODE_ANNOTATION

BARE = inventory(H100.model_copy(update={"vfs_per_nic": 0}))
FIRST, SECOND = "0000:0c:00.0", "0000:0c:00.1"
MADE = json.dumps({NAMESPACE: {"nics": [FIRST], "rdmaMode": "exclusive"}})


def policy(name: str = "rail", nics: Object | None = None, **spec: Any) -> Object:
    asked = {"nodeSelector": {}, "numVfs": 1, "resourceName": name, "isRdma": True}
    return {"metadata": {"name": name}, "spec": {**asked, "nicSelector": nics or {"rootDevices": [FIRST]}, **spec}}


def wanted(*policies: Object, devices: tuple[SimulatedDevice, ...] = BARE) -> dict[str, int]:
    return {item["pciAddress"]: item["numVfs"] for item in wanted_interfaces(policies, {}, devices)}


def after(*policies: Object, devices: tuple[SimulatedDevice, ...] = BARE) -> tuple[SimulatedDevice, ...]:
    return synced(wanted_interfaces(policies, {}, devices), (), devices)


def offer(*policies: Object) -> dict[str, int]:
    return offered_resources(wanted_interfaces(policies, {}, BARE), after(*policies), "nvidia.com")


def node_with(*policies: Object, state: Object | None = None, over: bool = True, **world: Any) -> Outcome:
    machine, pods = world.pop("machine", node(0)), world.pop("pods", {"daemon": operand_pod(CONFIG_DAEMON)})
    sriov = SriovWorld(prefix="nvidia.com", policies=policies, **world)
    states = {NAMESPACE: state} if state else {}
    return play(machine, pods, states, World(sriov={NAMESPACE: sriov}), sync_is_over=over)


def change(outcome: Outcome) -> StateChange:
    return outcome.states.get(NAMESPACE, StateChange())


def state_after(outcome: Outcome, state: Object | None = None) -> Object:
    spec = change(outcome).spec
    asked = spec if spec is not None else asked_of(state)
    status = {**((state or {}).get("status") or {}), **(change(outcome).status or {})}
    return {"metadata": {"annotations": {"sandbox.gpu-fabric/asked": json.dumps(asked)}}, "status": status}


@pytest.mark.parametrize(
    "nics",
    [
        {"rootDevices": [FIRST, SECOND]},
        {"pfNames": ["rdma0", "rdma1"]},
        {"vendor": "15b3", "deviceID": "1021", "pfNames": ["rdma0", "rdma1", "eth0"]},
    ],
)
def test_a_policy_means_the_nics_that_meet_all_of_its_selectors(nics: Object) -> None:
    assert wanted(policy(nics=nics)) == {FIRST: 1, SECOND: 1}


def test_a_policy_whose_nics_are_not_there_asks_for_nothing() -> None:
    assert wanted(policy(nics={"rootDevices": ["0000:77:00.0"]}), policy(nics={"deviceID": "101b"})) == {}


def test_the_nics_of_the_nodes_own_network_are_never_meant() -> None:
    assert len(wanted(policy(nics={"vendor": "15b3"}))) == H100.rails


def test_a_policy_means_nodes_with_its_labels() -> None:
    only = policy(nodeSelector={"pool": "a"})
    assert wanted_interfaces([only], {"pool": "b"}, BARE) == []
    assert len(wanted_interfaces([only], {"pool": "a", "more": "x"}, BARE)) == 1


def test_virtual_functions_come_and_are_offered_under_the_policys_resource() -> None:
    assert virtual_function_counts(after(policy(numVfs=4))) == {FIRST: 4}
    assert offer(policy(numVfs=4)) == {"nvidia.com/rail": 4}


def test_a_range_offers_a_part_and_another_policy_the_rest() -> None:
    first = policy("first", {"pfNames": ["rdma0#0-2"]}, numVfs=4)
    rest = policy("rest", {"pfNames": ["rdma0#3"]}, numVfs=4)
    assert offer(first, rest) == {"nvidia.com/first": 3, "nvidia.com/rest": 1}


def test_where_two_policies_overlap_the_lower_priority_number_wins() -> None:
    assert offer(policy("low", priority=90), policy("high", priority=10)) == {"nvidia.com/high": 1}


def test_more_virtual_functions_than_the_nic_can_have_fail() -> None:
    with pytest.raises(SyncError, match=r"rdma0 .*: 128 virtual functions asked for, the NIC has at most 127"):
        after(policy(numVfs=128))


def test_a_nic_that_is_no_longer_asked_for_loses_its_virtual_functions() -> None:
    made = after(policy(numVfs=2))
    assert virtual_function_counts(synced((), [{"pciAddress": FIRST}], made)) == {}


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"numVfs": 2}, "2 virtual functions asked for, and the NIC's manager created 1"),
        ({"mtu": 9000}, "MTU 9000 asked for"),
        ({"linkType": "ib"}, "link type IB asked for, the NIC's is ETH"),
    ],
)
def test_on_nics_that_others_manage_nothing_more_is_possible_than_they_did(spec: Object, problem: str) -> None:
    with pytest.raises(SyncError, match=problem):
        after(policy(externallyManaged=True, **spec), devices=inventory(H100))


def test_on_nics_that_others_manage_nothing_is_changed() -> None:
    assert after(policy(externallyManaged=True), devices=inventory(H100)) == inventory(H100)


def test_a_nodes_state_shows_its_nics_and_their_virtual_functions() -> None:
    shown = {item["name"]: item for item in observed_interfaces(after(policy(numVfs=2)))}
    assert [entry["pciAddress"] for entry in shown["rdma0"]["Vfs"]] == ["0000:0c:00.2", "0000:0c:00.4"]
    assert (shown["rdma0"]["numVfs"], shown["rdma0"]["totalvfs"]) == (2, 127)
    assert "numVfs" not in shown["rdma1"]


@pytest.mark.parametrize(("stated", "seen"), [(None, 4200), (1500, 4200), (9000, 9000)])
def test_a_nic_has_the_mtu_that_a_policy_asks_for_or_a_larger_one_of_its_own(stated: int | None, seen: int) -> None:
    nics = tuple(device.model_copy(update={"mtu": stated}) for device in inventory(H100))
    made = after(policy(numVfs=2, mtu=4200), devices=nics)
    assert next(entry for entry in observed_interfaces(made) if entry["name"] == "rdma0")["mtu"] == seen


def test_one_pool_configuration_sets_a_nodes_mode_and_two_leave_it_alone() -> None:
    pool = {"spec": {"nodeSelector": {"matchLabels": {"pool": "a"}}, "rdmaMode": "exclusive"}}
    assert rdma_mode([pool], {"pool": "a"}) == "exclusive"
    assert rdma_mode([pool], {"pool": "b"}) is None
    assert rdma_mode([pool, pool], {"pool": "a"}) is None


def test_a_sync_is_in_progress_before_it_succeeds_and_only_then_are_the_virtual_functions_there() -> None:
    begun = node_with(policy(numVfs=2))
    assert (change(begun).status, begun.annotations, begun.waits) == ({"syncStatus": "InProgress"}, {}, True)
    state = state_after(begun)

    assert node_with(policy(numVfs=2), state=state, over=False).annotations == {}
    done = node_with(policy(numVfs=2), state=state)
    assert (change(done).status or {})["syncStatus"] == "Succeeded"
    assert virtual_function_counts(devices_of({k: v or "" for k, v in done.annotations.items()})) == {FIRST: 2}
    assert json.loads(done.annotations[MADE_ANNOTATION] or "") == {NAMESPACE: {"nics": [FIRST]}}
    assert done.labels[PLUGIN_LABEL] == "Enabled"


def test_a_changed_policy_finds_the_old_status_beside_its_new_spec_until_the_daemon_looks() -> None:
    two = state_after(node_with(policy(numVfs=2)))
    done = state_after(node_with(policy(numVfs=2), state=two), two)

    changed = node_with(policy(numVfs=3), state=done)
    spec = change(changed).spec or {}
    assert ([nic["numVfs"] for nic in spec["interfaces"]], change(changed).status) == ([3], None)
    assert (changed.annotations, changed.waits) == ({}, True)

    stale = state_after(changed, done)
    assert stale["status"]["syncStatus"] == "Succeeded"
    begun = node_with(policy(numVfs=3), state=stale)
    assert change(begun).status == {"syncStatus": "InProgress"}


def test_a_synced_node_shows_the_mode_that_its_pool_asks_for() -> None:
    pools = ({"spec": {"nodeSelector": {}, "rdmaMode": "exclusive"}},)
    begun = state_after(node_with(policy(), pools=pools))
    assert (change(node_with(policy(), pools=pools, state=begun)).status or {})["system"] == {"rdmaMode": "exclusive"}


def test_what_is_impossible_fails_with_its_reason_and_changes_nothing() -> None:
    impossible = policy(numVfs=128)
    failed = node_with(impossible, state=state_after(node_with(impossible)))
    assert (change(failed).status or {})["syncStatus"] == "Failed"
    assert "at most 127" in (change(failed).status or {})["lastSyncError"]
    assert failed.annotations == {}


def test_a_node_that_is_as_its_policies_ask_is_left_alone() -> None:
    begun = node_with()
    state = state_after(begun)
    assert (change(begun).status or {})["syncStatus"] == "Succeeded"
    again = node_with(state=state, machine=node(0, labels={PLUGIN_LABEL: "Disabled"}))
    assert again == Outcome()


def test_without_the_config_daemon_on_a_node_nothing_happens_there() -> None:
    assert node_with(policy(), pods={}) == Outcome()


def test_when_the_policies_are_gone_the_node_is_as_before_even_if_the_operator_is_gone_too() -> None:
    machine = node(1, rdma_mode="exclusive", made_by_sriov_operator=MADE)
    outcome = node_with(machine=machine, pods={})
    left = virtual_function_counts(devices_of({k: v or "" for k, v in outcome.annotations.items()}))
    assert FIRST not in left
    assert len(left) == H100.rails - 1
    assert outcome.annotations[RDMA_MODE_ANNOTATION] == "shared"
    assert outcome.annotations[MADE_ANNOTATION] is None


def test_the_operators_plugin_waits_for_the_sync_and_is_restarted_when_its_resources_change() -> None:
    pods = {"daemon": operand_pod(CONFIG_DAEMON), "plugin": operand_pod(OPERATOR_PLUGIN)}
    machine = node(1, labels={PLUGIN_LABEL: "Enabled"})
    state = state_after(node_with(policy(), machine=machine))
    synced_state = state_after(node_with(policy(), machine=machine, state=state), state)

    assert node_with(policy(), machine=machine, state=state, pods=pods).ready == []
    assert node_with(policy(), machine=machine, state=synced_state, pods=pods).loads == {
        "plugin": {"nvidia.com/rail": 1}
    }
    pods["plugin"] = operand_pod(OPERATOR_PLUGIN, loaded='{"nvidia.com/other":1}')
    assert node_with(policy(), machine=machine, state=synced_state, pods=pods).restarts == ["plugin"]


def test_each_operator_has_its_own_policies_states_and_functions_on_a_node() -> None:
    other = "spiderpool"
    pods = {"nvidia": operand_pod(CONFIG_DAEMON), "spiderpool": operand_pod(CONFIG_DAEMON)}
    pods["spiderpool"] = {**pods["spiderpool"], "metadata": {**pods["spiderpool"]["metadata"], "namespace": other}}
    world = World(
        sriov={
            NAMESPACE: SriovWorld(prefix="nvidia.com", policies=(policy(numVfs=2),)),
            other: SriovWorld(prefix="spidernet.io", policies=(policy(nics={"rootDevices": [SECOND]}, numVfs=3),)),
        }
    )
    begun = play(node(0), pods, {}, world, sync_is_over=True)
    asked = {name: [nic["numVfs"] for nic in (part.spec or {})["interfaces"]] for name, part in begun.states.items()}
    assert asked == {NAMESPACE: [2], other: [3]}

    states = {
        name: {"metadata": {"annotations": {"sandbox.gpu-fabric/asked": json.dumps(part.spec)}}, "status": part.status}
        for name, part in begun.states.items()
    }
    done = play(node(0), pods, states, world, sync_is_over=True)
    after = virtual_function_counts(devices_of({k: v or "" for k, v in done.annotations.items()}))
    assert after == {FIRST: 2, SECOND: 3}
    assert json.loads(done.annotations[MADE_ANNOTATION] or "") == {
        NAMESPACE: {"nics": [FIRST]},
        other: {"nics": [SECOND]},
    }
    assert done.labels == {PLUGIN_LABEL: "Enabled"}


def test_a_pool_configuration_of_an_operator_that_knows_no_rdma_mode_leaves_the_mode_alone() -> None:
    pool = {"spec": {"nodeSelector": {}, "maxUnavailable": 1}}
    begun = node_with(policy(), pools=(pool,))
    done = node_with(policy(), state=state_after(begun), pools=(pool,))
    assert RDMA_MODE_ANNOTATION not in done.annotations
