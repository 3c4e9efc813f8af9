"""Waiting for what the SR-IOV operator reports of each node: when it ends, and what it says when it does not."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pulumi
import pytest
from fast_time import FastTime
from planned_steps import with_items
from programs import ROOT, STACKS, as_engine_config, stack_config
from recording import Recording, record

from components import node_states, waiting
from components.node_states import Look, Seen, wait_until_synced
from components.waiting import NodesError
from gpu_fabric.plan.records import PlannedWait, WantedFunctions

pytestmark = pytest.mark.components

VFS = "nvidia.com/rail_00"
READY = {"nvidia.com/gpu": "8", VFS: "8"}
States = Mapping[str, Mapping[str, Any]]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_PAUSE", 0.01)
    monkeypatch.setattr(waiting, "_PATIENCE", 0.35)
    monkeypatch.setattr(waiting, "time", FastTime())


def wait(seconds: int = 30) -> PlannedWait:
    return PlannedWait(
        api_version="sriovnetwork.openshift.io/v1",
        plural="sriovnetworknodestates",
        namespace="nvidia-network-operator",
        nodes={"pool": "gpu"},
        having="nvidia.com/gpu",
        field="status.syncStatus",
        value="Succeeded",
        failed="Failed",
        reason="status.lastSyncError",
        resources={VFS: 8},
        timeout=seconds,
    )


def states(first: str, second: str, reason: str = "") -> States:
    return {
        "gpu-0": {"status": {"syncStatus": first}},
        "gpu-1": {"status": {"syncStatus": second, "lastSyncError": reason}},
    }


def seen(found: States, second: Mapping[str, str] = READY) -> Seen:
    """Two nodes, of which the first offers all that it should."""
    return Seen({"gpu-0": READY, "gpu-1": second}, found)


DONE = seen(states("Succeeded", "Succeeded"))


def looks(*answers: Seen) -> Look:
    """A cluster that gives these answers one after another, and the last one for ever."""
    rest: Iterator[Seen] = iter(answers)
    now = [answers[0]]

    def look() -> Seen:
        now[0] = next(rest, now[0])
        return now[0]

    return look


def waited(look: Look, seconds: int = 30) -> list[str]:
    """What was said until the wait ended."""
    said: list[str] = []
    asyncio.run(wait_until_synced(wait(seconds), look, said.append))
    return said


def complaint(look: Look, seconds: int = 30) -> str:
    with pytest.raises(NodesError) as raised:
        waited(look, seconds)
    return str(raised.value)


def test_nodes_that_are_all_in_sync_are_not_waited_for() -> None:
    assert waited(looks(DONE)) == []


def test_it_goes_on_looking_and_says_only_what_is_new() -> None:
    nothing, busy, half = seen({}), seen(states("", "InProgress")), seen(states("Succeeded", ""))

    assert waited(looks(nothing, busy, busy, half, half, DONE)) == [
        "0 of 2 nodes have their virtual functions",
        "1 of 2 nodes have their virtual functions",
    ]


def test_a_state_of_an_earlier_wish_is_not_taken_for_done_while_functions_lack() -> None:
    early = seen(states("Succeeded", "Succeeded"), {"nvidia.com/gpu": "8", VFS: "1"})

    assert waited(looks(early, early, DONE)) == ["1 of 2 nodes have their virtual functions"]


def test_functions_that_never_come_are_counted_for_each_node() -> None:
    message = complaint(looks(seen(states("Succeeded", "Succeeded"), {"nvidia.com/gpu": "8"})), seconds=1)

    assert "gpu-1: 0 of 8 nvidia.com/rail_00" in message
    assert "gpu-0" not in message


def test_a_node_that_keeps_failing_ends_the_wait_with_the_operators_reason() -> None:
    message = complaint(looks(seen(states("InProgress", "Failed", "the firmware allows 4 functions"))))

    assert "kept failing" in message
    assert "gpu-1: status.syncStatus is Failed the firmware allows 4 functions" in message
    assert "gpu-0" not in message


def test_a_failure_that_the_operator_gets_over_by_itself_is_no_failure() -> None:
    failed, again = seen(states("Succeeded", "Failed", "busy")), seen(states("Succeeded", "InProgress"))

    assert waited(looks(failed, failed, again, failed, DONE)) == ["1 of 2 nodes have their virtual functions"]


def test_when_the_time_is_over_the_nodes_without_a_state_are_named() -> None:
    message = complaint(looks(seen({"gpu-0": {"status": {"syncStatus": "InProgress"}}})), seconds=1)

    assert "after 1 s" in message
    assert "gpu-0: status.syncStatus is InProgress" in message
    assert "gpu-1: the operator has no sriovnetworknodestates for it" in message


def test_a_node_whose_state_says_nothing_yet_is_named_too() -> None:
    assert "gpu-0: status.syncStatus is not set" in complaint(looks(seen({"gpu-0": {}, "gpu-1": {}})), seconds=1)


def test_labels_that_no_gpu_node_carries_are_named_instead_of_taken_for_done() -> None:
    message = complaint(looks(Seen({}, DONE.states)), seconds=1)

    assert "there is no node with nvidia.com/gpu and the labels {'pool': 'gpu'}" in message


def policies_and_a_network() -> None:
    """The program's part that waits, with resources before it and one behind it."""
    from components.cluster.existing import ExistingCluster
    from components.engine.steps import register_steps
    from stacks.configuration import program_plan

    plan = program_plan(ROOT)
    plan = with_items(plan, "networks", plan.applied("networks")[:1])
    wanted = ("namespaces", "sriov", "networks")
    some = plan.model_copy(update={"steps": tuple(step for step in plan.steps if step.component in wanted)})
    register_steps(some, ExistingCluster("cluster", plan.cluster, ROOT).handle)


def run(kubeconfig: Path, stack: str = "sriov-operator", recording: Recording | None = None) -> Recording:
    config = as_engine_config(stack_config(STACKS[stack], kubeconfig))
    return record(policies_and_a_network, stack=stack, config=config, recording=recording)


def test_a_preview_waits_for_nothing_and_asks_no_cluster(kubeconfig: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(*_: object) -> Look:
        raise AssertionError("a preview asked the cluster")

    monkeypatch.setattr(node_states, "looking", asked)
    monkeypatch.setattr(pulumi.runtime, "is_dry_run", lambda: True)

    assert len(run(kubeconfig).of_type("v1:SriovNetwork")) == 1


def test_a_run_ends_with_the_node_and_its_reason_where_it_does_not_get_in_sync(
    kubeconfig: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = looks(seen(states("Failed", "Failed", "no such NIC")))
    monkeypatch.setattr(node_states, "looking", lambda *_: failing)

    with pytest.raises(Exception, match=r"gpu-1: status\.syncStatus is Failed no such NIC"):
        run(kubeconfig)


def test_policies_that_a_webhook_holds_against_the_nodes_nics_wait_until_the_operator_knows_those(
    kubeconfig: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[PlannedWait] = []

    def failing(wait: PlannedWait, *_: object) -> Look:
        waits.append(wait)
        return looks(seen(states("Failed", "Failed", "no daemon")))

    monkeypatch.setattr(node_states, "looking", failing)
    recording = Recording()
    with pytest.raises(Exception, match="no daemon"):
        run(kubeconfig, "spiderpool-ib", recording)

    # No function is there before the policies are, so none is waited for.
    assert [wait.resources for wait in waits] == [{}]
    assert recording.of_type(("SriovNetworkPoolConfig", "SriovNetworkNodePolicy")) == []


def test_policies_that_nothing_checks_wait_for_no_earlier_states(
    kubeconfig: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[PlannedWait] = []

    def done(wait: PlannedWait, *_: object) -> Look:
        waits.append(wait)
        return looks(Seen({"gpu-0": {name: str(least) for name, least in wait.resources.items()}}, DONE.states))

    monkeypatch.setattr(node_states, "looking", done)
    run(kubeconfig)

    assert [bool(wait.resources) for wait in waits] == [True]


def interface(**fields: Any) -> dict[str, Any]:
    return {"pciAddress": "0000:18:00.0", **fields}


@pytest.mark.parametrize(
    ("wanted", "found", "lack"),
    [
        ({"numVfs": 8}, {"numVfs": 4}, "has 4 of 8 virtual functions"),
        ({"numVfs": 4}, {"numVfs": 8}, "has 8 of 4 virtual functions"),
        ({"numVfs": 8}, {}, "has 0 of 8 virtual functions"),
        ({"numVfs": 8, "mtu": 9000}, {"numVfs": 8, "mtu": 4200}, "has an MTU of 4200, not 9000"),
        ({"numVfs": 4, "externallyManaged": True}, {"numVfs": 8}, ""),
        ({"numVfs": 8, "mtu": 4200}, {"numVfs": 8, "mtu": 9000}, ""),
    ],
)
def test_a_state_of_before_the_change_is_not_taken_for_done(
    wanted: dict[str, Any], found: dict[str, Any], lack: str
) -> None:
    stale = {
        "spec": {"interfaces": [interface(**wanted)]},
        "status": {"syncStatus": "Succeeded", "interfaces": [interface(**found)]},
    }
    look = looks(seen({"gpu-0": stale, "gpu-1": stale}))

    if lack:
        assert f"0000:18:00.0 {lack}" in complaint(look, 1)
    else:
        waited(look)


ADDRESS = "0000:18:00.0"
WANTED = WantedFunctions(
    policy="rail-00", resource="rail_00", nodes={"pool": "gpu"}, addresses=(ADDRESS,), count=8, mtu=9000
)
GROUP = {"policyName": "rail-00", "resourceName": "rail_00", "vfRange": "0-7", "mtu": 9000}


def written(**fields: Any) -> list[dict[str, Any]]:
    return [interface(**{"numVfs": 8, "vfGroups": [GROUP], **fields})]


@pytest.mark.parametrize(
    "before",
    [
        pytest.param([], id="no interface yet"),
        pytest.param(written(pciAddress="0000:2a:00.0"), id="another NIC"),
        pytest.param(written(numVfs=4), id="fewer functions"),
        pytest.param(written(numVfs=16, vfGroups=[{**GROUP, "vfRange": "0-15"}]), id="more functions"),
        pytest.param(written(vfGroups=[{**GROUP, "resourceName": "rail_01"}]), id="another resource"),
        pytest.param(written(vfGroups=[{**GROUP, "policyName": "of-others"}]), id="of another policy"),
        pytest.param(written(vfGroups=[{**GROUP, "mtu": 4200}]), id="another MTU"),
        pytest.param(written(vfGroups=[]), id="of no policy"),
    ],
)
def test_a_spec_of_before_the_policys_change_is_waited_out_although_all_functions_are_offered(
    before: list[dict[str, Any]],
) -> None:
    asked = wait().model_copy(update={"functions": (WANTED,)})

    def found(interfaces: list[dict[str, Any]]) -> Seen:
        there = [{"pciAddress": ADDRESS, "numVfs": 8, "mtu": 9000}, {"pciAddress": "0000:2a:00.0", "numVfs": 8}]
        state = {"spec": {"interfaces": interfaces}, "status": {"syncStatus": "Succeeded", "interfaces": there}}
        return seen({"gpu-0": state, "gpu-1": state})._replace(labels=dict.fromkeys(("gpu-0", "gpu-1"), WANTED.nodes))

    said: list[str] = []
    asyncio.run(wait_until_synced(asked, looks(found(before), found(written(mtu=9000))), said.append))
    assert said == ["0 of 2 nodes have their virtual functions"]

    with pytest.raises(NodesError, match="the operator has not written policy rail-00, as it is now, into its spec"):
        asyncio.run(wait_until_synced(asked.model_copy(update={"timeout": 1}), looks(found(before)), said.append))


def test_a_policy_of_other_nodes_is_not_looked_for_in_a_nodes_spec() -> None:
    elsewhere = WANTED.model_copy(update={"nodes": {"pool": "other"}})
    labelled = DONE._replace(labels={name: {"pool": "gpu"} for name in ("gpu-0", "gpu-1")})
    said: list[str] = []
    asyncio.run(wait_until_synced(wait().model_copy(update={"functions": (elsewhere,)}), looks(labelled), said.append))
    assert said == []


def test_a_webhook_without_a_pod_is_waited_for_and_its_switch_is_named() -> None:
    asked = wait().model_copy(update={"served_by": "operator-webhook"})
    unserved, said = DONE._replace(is_served=False), list[str]()

    asyncio.run(wait_until_synced(asked, looks(unserved, DONE), said.append))
    assert "has no pod that works" in said[0]
    with pytest.raises(NodesError, match="enableOperatorWebhook: false"):
        asyncio.run(wait_until_synced(asked.model_copy(update={"timeout": 1}), looks(unserved), said.append))


def test_an_rdma_mode_that_the_node_does_not_have_yet_is_waited_for() -> None:
    def state(mode: str) -> dict[str, Any]:
        status = {"syncStatus": "Succeeded", "system": {"rdmaMode": mode}}
        return {"spec": {"system": {"rdmaMode": "exclusive"}}, "status": status}

    old, new = ({"gpu-0": state(mode), "gpu-1": state(mode)} for mode in ("shared", "exclusive"))

    assert waited(looks(seen(old), seen(new))) == ["0 of 2 nodes have their virtual functions"]
