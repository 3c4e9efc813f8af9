"""The SR-IOV operator's daemon and device plug-in on a simulated node."""

from __future__ import annotations

import json
from typing import Any

import pytest
from played_objects import H100, NAMESPACE, Object, node, operand_pod

from sandbox.hardware.inventory import SimulatedDevice, devices_of, inventory, virtual_function_counts
from sandbox.hardware.node_agent import play
from sandbox.hardware.node_records import Outcome, World
from sandbox.hardware.operands import CONFIG_DAEMON, OPERATOR_PLUGIN
from sandbox.hardware.sriov import SyncError, observed_interfaces, synced
from sandbox.hardware.sriov_agent import APPLIED_ANNOTATION
from sandbox.nodes import RDMA_MODE_ANNOTATION

BARE = inventory(H100.model_copy(update={"vfs_per_nic": 0}))
FIRST, SECOND = "0000:0c:00.0", "0000:0c:00.1"
EXCLUSIVE = {"rdmaMode": "exclusive"}


def asked(pci: str = FIRST, count: int = 1, **fields: Any) -> Object:
    return {"pciAddress": pci, "numVfs": count, **fields}


def after(*interfaces: Object, devices: tuple[SimulatedDevice, ...] = BARE) -> tuple[SimulatedDevice, ...]:
    return synced(interfaces, (), devices)


def state(*interfaces: Object, generation: int = 2, status: Object | None = None, **system: str) -> Object:
    spec = {"interfaces": list(interfaces), "system": system}
    return {"metadata": {"namespace": NAMESPACE, "generation": generation}, "spec": spec, "status": status or {}}


def pod_of(app: str, namespace: str = NAMESPACE, **fields: Any) -> Object:
    pod = operand_pod("none", **fields)
    pod["metadata"] |= {"labels": {"app": app}, "namespace": namespace}
    return pod


DAEMON = {"daemon": pod_of(CONFIG_DAEMON)}


def on(machine: Object, *states: Object, pods: dict[str, Object] = DAEMON, over: bool = True, **world: Any) -> Outcome:
    by_namespace = {item["metadata"]["namespace"]: item for item in states}
    return play(machine, pods, by_namespace, World(**world), sync_is_over=over)


def machine_after(machine: Object, outcome: Outcome) -> Object:
    kept = {**machine["metadata"]["annotations"], **outcome.annotations}
    annotations = {name: text for name, text in kept.items() if text is not None}
    return {**machine, "metadata": {**machine["metadata"], "annotations": annotations}}


def functions(machine: Object) -> dict[str, int]:
    return virtual_function_counts(devices_of(machine["metadata"]["annotations"]))


def test_more_virtual_functions_than_the_nic_can_have_fail() -> None:
    with pytest.raises(SyncError, match=r"rdma0 .*: 128 virtual functions asked for, the NIC has at most 127"):
        after(asked(count=128))


def test_a_nic_that_is_no_longer_asked_for_loses_its_virtual_functions() -> None:
    made = after(asked(count=2))
    assert virtual_function_counts(made) == {FIRST: 2}
    assert virtual_function_counts(synced((), [{"pciAddress": FIRST}], made)) == {}


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"count": 2}, "2 virtual functions asked for, and the NIC's manager created 1"),
        ({"mtu": 9000}, "MTU 9000 asked for"),
        ({"linkType": "ib"}, "link type IB asked for, the NIC's is ETH"),
    ],
)
def test_on_nics_that_others_manage_nothing_more_is_possible_than_they_did(fields: Any, problem: str) -> None:
    with pytest.raises(SyncError, match=problem):
        after(asked(externallyManaged=True, **fields), devices=inventory(H100))


def test_on_nics_that_others_manage_nothing_is_changed() -> None:
    assert after(asked(externallyManaged=True), devices=inventory(H100)) == inventory(H100)


def test_a_nodes_state_shows_its_nics_and_their_virtual_functions() -> None:
    shown = {item["name"]: item for item in observed_interfaces(after(asked(count=2)))}
    assert [entry["pciAddress"] for entry in shown["rdma0"]["Vfs"]] == ["0000:0c:00.2", "0000:0c:00.4"]
    assert (shown["rdma0"]["numVfs"], shown["rdma0"]["totalvfs"]) == (2, 2)
    assert "numVfs" not in shown["rdma1"]


@pytest.mark.parametrize(("stated", "seen"), [(None, 4200), (1500, 4200), (9000, 9000)])
def test_a_nic_has_the_mtu_that_is_asked_for_or_a_larger_one_of_its_own(stated: int | None, seen: int) -> None:
    nics = tuple(device.model_copy(update={"mtu": stated}) for device in inventory(H100))
    made = after(asked(count=2, mtu=4200), devices=nics)
    assert next(entry for entry in observed_interfaces(made) if entry["name"] == "rdma0")["mtu"] == seen


def test_a_nodes_nics_are_shown_before_anything_is_asked_of_them() -> None:
    first = on(node(0), state(generation=1), over=False)
    shown = first.states[NAMESPACE]
    assert ("rdma0" in {item["name"] for item in shown["interfaces"]}, shown["syncStatus"]) == (True, "InProgress")
    assert (first.waits, first.annotations) == (True, {})


def test_a_sync_is_in_progress_before_it_succeeds_and_only_then_are_the_virtual_functions_there() -> None:
    begun = on(node(0), state(asked(count=2)), over=False)
    at_work = state(asked(count=2), status=begun.states[NAMESPACE])
    assert on(node(0), at_work, over=False).annotations == {}

    done = on(node(0), at_work)
    machine = machine_after(node(0), done)
    assert (done.states[NAMESPACE]["syncStatus"], functions(machine)) == ("Succeeded", {FIRST: 2})
    assert json.loads(done.annotations[APPLIED_ANNOTATION] or "") == {NAMESPACE: {"generation": 2, "nics": [FIRST]}}
    assert on(machine, state(asked(count=2), status=done.states[NAMESPACE])) == Outcome()


def test_a_changed_spec_stands_beside_the_old_status_until_the_daemon_has_looked() -> None:
    machine = machine_after(node(0), on(node(0), state(asked(count=2), status={"syncStatus": "InProgress"})))
    changed = state(asked(count=3), generation=3, status={"syncStatus": "Succeeded"})
    assert on(machine, changed).states[NAMESPACE]["syncStatus"] == "InProgress"
    changed["status"]["syncStatus"] = "InProgress"
    assert functions(machine_after(machine, on(machine, changed))) == {FIRST: 3}


def test_what_others_have_undone_is_done_again() -> None:
    applied = machine_after(node(0), on(node(0), state(asked(count=2), status={"syncStatus": "InProgress"})))
    bare = node(0)["metadata"]["annotations"]
    undone = machine_after(applied, Outcome(annotations={**bare}))
    assert on(undone, state(asked(count=2), status={"syncStatus": "Succeeded"})).waits


def test_a_mode_is_set_shown_and_given_back_when_it_is_no_longer_asked_for() -> None:
    done = on(node(0), state(status={"syncStatus": "InProgress"}, **EXCLUSIVE))
    assert (done.annotations[RDMA_MODE_ANNOTATION], done.states[NAMESPACE]["system"]) == ("exclusive", EXCLUSIVE)
    machine = machine_after(node(0), done)
    back = on(machine, state(generation=3, status={"syncStatus": "InProgress"}))
    assert back.annotations[RDMA_MODE_ANNOTATION] == "shared"


def test_a_mode_that_was_there_before_stays_where_none_is_asked_for() -> None:
    done = on(node(0, rdma_mode="exclusive"), state(status={"syncStatus": "InProgress"}))
    assert RDMA_MODE_ANNOTATION not in done.annotations
    assert done.states[NAMESPACE]["system"] == EXCLUSIVE


def test_the_daemon_of_an_operator_without_modes_shows_none() -> None:
    old = state(asked(), status={"syncStatus": "InProgress"})
    del old["spec"]["system"]
    assert "system" not in on(node(0), old).states[NAMESPACE]


def test_what_is_impossible_fails_with_its_reason_and_changes_nothing() -> None:
    failed = on(node(0), state(asked(count=128)))
    assert failed.states[NAMESPACE]["syncStatus"] == "Failed"
    assert "at most 127" in failed.states[NAMESPACE]["lastSyncError"]
    assert failed.annotations == {}


@pytest.mark.parametrize("pods", [{}, {"other": pod_of(CONFIG_DAEMON, "elsewhere")}])
def test_without_its_daemon_on_a_node_nothing_happens_there(pods: dict[str, Object]) -> None:
    assert on(node(0), state(asked()), pods=pods) == Outcome()


def test_the_plugin_offers_its_nodes_part_of_the_configuration_and_is_restarted_after_a_sync() -> None:
    selectors = {"rootDevices": [FIRST], "IsRdma": True, "NeedVhostNet": False}
    config = {"resourceList": [{"resourceName": "rail", "selectors": selectors, "SelectorObj": None}]}
    maps = {f"{NAMESPACE}/device-plugin-config": {"data": {"gpu-0": json.dumps(config), "gpu-1": "{}"}}}
    plugin = pod_of(OPERATOR_PLUGIN)
    plugin["spec"] |= {"nodeName": "gpu-0", "volumes": [{"configMap": {"name": "device-plugin-config"}}]}
    plugin["spec"]["containers"][0]["args"] = ["--resource-prefix=spidernet.io"]
    early = on(node(0), pods={"plugin": plugin}, config_maps=maps)
    # the NIC itself, as long as it has no functions
    assert early.loads == {"plugin": {"spidernet.io/rail": 1}}

    # one that has just started may have read a configuration of before
    pods = {**DAEMON, "plugin": pod_of(OPERATOR_PLUGIN, loaded="{}"), "just-started": plugin}
    done = on(node(0), state(asked(count=2), status={"syncStatus": "InProgress"}), pods=pods, config_maps=maps)
    assert done.restarts == ["plugin", "just-started"]
    late = on(machine_after(node(0), done), pods={"plugin": plugin}, config_maps=maps)
    assert late.loads == {"plugin": {"spidernet.io/rail": 2}}


def test_each_operator_has_its_own_states_and_functions_on_a_node() -> None:
    other = state(asked(SECOND, 3), status={"syncStatus": "InProgress"})
    other["metadata"]["namespace"] = "spiderpool"
    pods = {**DAEMON, "spiderpool": pod_of(CONFIG_DAEMON, "spiderpool")}
    done = on(node(0), state(asked(count=2), status={"syncStatus": "InProgress"}), other, pods=pods)
    assert functions(machine_after(node(0), done)) == {FIRST: 2, SECOND: 3}
    assert json.loads(done.annotations[APPLIED_ANNOTATION] or "").keys() == {NAMESPACE, "spiderpool"}
