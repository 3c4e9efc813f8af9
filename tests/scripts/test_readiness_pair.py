"""A node that is measured with a neighbour before it is proven: the program's steps, against a played API server."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.api_of_a_node import Json, NodeApi, served
from test_readiness_script import Machine

WELL = "2 rails, what they offer and what serves them are as planned"
LONG_AGO = "2026-01-01T00:00:00Z"
# As linux-rdma/perftest prints them (src/perftest_parameters.h); in a test of some seconds the peak is 0.
HEADING = "columns #bytes #iterations BW peak[Gb/sec] BW average[Gb/sec] MsgRate[Mpps]"


def row(rail: int, test: str, gbps: float) -> str:
    return f"rail {rail} {test} 65536 560845 0.00 {gbps:.2f} 0.186950"


def measured(**changed: float) -> str:
    """What the pod leaves: 390 Gb/s everywhere but where a test is named, such as `write_1`."""
    tests = [(rail, test) for rail in (0, 1) for test in ("write", "read")]
    return "\n".join([HEADING, *(row(rail, test, changed.get(f"{test}_{rail}", 390)) for rail, test in tests)])


class Measured(Machine):
    """A node that is to be measured, with the two pods of a pair as an API server would show them."""

    def __init__(self, folder: Path, api: NodeApi) -> None:
        super().__init__(folder, api)
        api.node["metadata"]["labels"] = {"kind": "gpu"}
        self.expected["pair"] = {
            "when": "boot",
            "percent": 92,
            "seconds": 5,
            "rails": {"0": 400, "1": 400},
            "nodes": "kind=gpu",
            "pod": {
                "metadata": {
                    "name": "fabric-pair",
                    "namespace": "jobs",
                    "annotations": {"networks": "rail-00,rail-01"},
                },
                "spec": {"subdomain": "fabric-pair", "containers": [{"name": "fabric-pair", "env": []}]},
            },
        }

    def look(self) -> tuple[str, str, str]:
        result = self.run()
        assert result.stderr == ""
        return self.api.condition["status"], self.api.condition["reason"], self.api.condition["message"]

    def neighbour(self, name: str, status: str = "True", reason: str = "Proven", **spec: Any) -> None:
        now = "2999-01-01T00:00:00Z"
        entry = {"type": "gpu-fabric.dev/FabricReady", "status": status, "reason": reason, "lastHeartbeatTime": now}
        self.api.others.append({"metadata": {"name": name}, "spec": spec, "status": {"conditions": [entry]}})

    def pods(self) -> dict[str, Json]:
        """The pods by what they do."""
        return {_value(pod, "MODE"): pod for pod in self.api.created.values()}

    def runs(self) -> str:
        """Both pods run; gives the neighbour."""
        for pod in self.pods().values():
            pod["spec"]["nodeName"] = _node(pod)
            pod["status"] = {"phase": "Running"}
        return _node(self.pods()["serve"])

    def ends(self, message: str, phase: str = "Succeeded") -> str:
        """The pod that measures ends; gives the neighbour."""
        neighbour = self.runs()
        state = {"state": {"terminated": {"message": message}}}
        self.pods()["measure"]["status"] = {"phase": phase, "containerStatuses": [state]}
        return neighbour

    def passes(self) -> None:
        """Ten minutes and more."""
        annotations = self.api.node["metadata"]["annotations"]
        record = json.loads(annotations["gpu-fabric.dev/pair"])
        annotations["gpu-fabric.dev/pair"] = json.dumps(
            record | {key: record[key] - 601 for key in ("since", "at") if key in record}
        )


def _value(pod: Json, name: str) -> str:
    return next(entry["value"] for entry in pod["spec"]["containers"][0]["env"] if entry["name"] == name)


def _node(pod: Json) -> str:
    affinity = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    (field,) = affinity["nodeSelectorTerms"][0]["matchFields"]
    found: str = field["values"][0]
    return found


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Measured]:
    with served(NodeApi(), tmp_path / "account") as api:
        yield Measured(tmp_path, api)


def test_a_node_is_measured_with_a_proven_neighbour_before_its_taint_goes(machine: Measured) -> None:
    machine.neighbour("gpu-3")
    machine.neighbour("gpu-8")

    assert machine.look() == ("Unknown", "PairRunning", "its rails are measured with gpu-8")
    assert "startup" in machine.api.taints
    pods = machine.pods()
    assert (_node(pods["measure"]), _node(pods["serve"])) == ("gpu-7", "gpu-8")
    assert _value(pods["measure"], "PEER") == f"{pods['serve']['metadata']['name']}.fabric-pair"
    assert pods["measure"]["metadata"]["annotations"]["networks"] == "rail-00,rail-01"
    machine.runs()
    assert machine.look()[:2] == ("Unknown", "PairRunning")

    machine.ends(measured(read_1=377.5))
    text = "; measured with gpu-8: the slowest rail, 1, has 377.5 of 400 Gb/s"
    assert machine.look() == ("True", "Proven", WELL + text)
    assert machine.api.taints == ["nvidia.com/gpu"]
    assert machine.api.created == {}
    assert machine.api.annotations["gpu-fabric.dev/proved-boot"] == "first"
    machine.api.writes.clear()
    assert machine.look() == ("True", "Proven", WELL + text)
    assert machine.api.writes == []


def test_a_node_that_is_slow_with_two_neighbours_stays_closed_and_is_measured_again_later(machine: Measured) -> None:
    machine.neighbour("gpu-3")
    machine.neighbour("gpu-8")
    machine.look()
    machine.ends(measured(write_1=367.9))
    assert machine.look()[:2] == ("Unknown", "PairWaiting")
    machine.look()
    assert machine.ends(measured(write_1=195)) == "gpu-3"

    said = "with gpu-8: rail 1: 367.9 of 400 Gb/s to it; with gpu-3: rail 1: 195 of 400 Gb/s to it"
    assert machine.look() == ("False", "PairSlow", said)
    assert "startup" in machine.api.taints
    assert machine.look() == ("False", "PairSlow", said)
    assert machine.api.created == {}
    machine.passes()
    assert machine.look() == ("False", "PairSlow", said)
    machine.ends(measured())
    assert machine.look()[:2] == ("True", "Proven")
    assert machine.api.taints == ["nvidia.com/gpu"]


def test_a_neighbour_that_is_the_slow_one_of_two_is_named_and_the_node_is_proven(machine: Measured) -> None:
    machine.neighbour("gpu-3")
    machine.neighbour("gpu-8")
    machine.look()
    machine.ends(measured(read_0=100))
    machine.look()
    machine.look()
    machine.ends(measured())

    status, _, message = machine.look()
    assert status == "True"
    assert message.endswith("look at the neighbour that was slow: with gpu-8: rail 0: 100 of 400 Gb/s from it")


def test_a_test_that_fails_on_a_rail_is_told_from_a_slow_one(machine: Measured) -> None:
    machine.neighbour("gpu-8")
    machine.look()
    machine.ends(f"{measured()}\nfailed 1 write Failed status 12: wr_id 0 syndrom 0x81")
    machine.look()
    machine.passes()

    assert machine.look() == (
        "False",
        "PairFailed",
        "with gpu-8: rail 1: ib_write_bw fails: Failed status 12: wr_id 0 syndrom 0x81; "
        "no second neighbour was free to tell which of the two nodes it is",
    )


def test_two_nodes_that_wait_may_prove_each_other(machine: Measured) -> None:
    machine.neighbour("gpu-1", "False", "LinkDown")
    machine.neighbour("gpu-2", "Unknown", "PairWaiting")

    assert machine.look() == ("Unknown", "PairRunning", "its rails are measured with gpu-2")


@pytest.mark.parametrize(
    "neighbours",
    [(), ({"name": "gpu-8", "unschedulable": True},), ({"name": "gpu-8", "status": "False", "reason": "LinkDown"},)],
    ids=["none", "cordoned", "not proven"],
)
def test_a_node_without_a_neighbour_is_opened_after_a_while_and_says_so(
    machine: Measured, neighbours: tuple[dict[str, Any], ...]
) -> None:
    for entry in neighbours:
        machine.neighbour(**entry)
    assert machine.look()[:2] == ("Unknown", "PairWaiting")
    assert "startup" in machine.api.taints
    machine.passes()

    why = "no neighbour is free that is proven, or waits as this node does"
    assert machine.look() == ("True", "NotMeasured", f"{WELL}; not measured within 600 s: {why}")
    assert machine.api.taints == ["nvidia.com/gpu"]
    assert machine.look()[1] == "NotMeasured"


def _older(pod: Json) -> None:
    pod["metadata"]["creationTimestamp"] = LONG_AGO


def test_a_neighbour_whose_devices_a_job_has_is_left_for_another_one(machine: Measured) -> None:
    machine.neighbour("gpu-8")
    machine.look()
    pods = machine.pods()
    pods["measure"]["spec"]["nodeName"] = "gpu-7"
    _older(pods["measure"])
    assert machine.look() == ("Unknown", "PairWaiting", "a neighbour is wanted; gpu-8: devices of gpu-8 are in use")
    machine.neighbour("gpu-9")
    machine.look()
    assert machine.ends(measured()) == "gpu-9"
    assert machine.look()[0] == "True"


def test_a_job_that_takes_the_neighbour_says_nothing_of_the_fabric(machine: Measured) -> None:
    machine.neighbour("gpu-8")
    machine.look()
    machine.runs()
    machine.pods()["serve"]["metadata"]["deletionTimestamp"] = LONG_AGO
    machine.look()
    assert machine.api.created == {}
    machine.passes()

    status, reason, message = machine.look()
    # The neighbour was in use, and is not tried again once the time is over.
    assert machine.api.created == {}
    assert (status, reason) == ("True", "NotMeasured")
    assert message.endswith("with gpu-8: the neighbour's pod was ended, as by a job that needs its devices")


def test_a_node_serves_one_other_at_a_time_and_gives_back_what_it_took(machine: Measured) -> None:
    machine.neighbour("gpu-8")
    machine.look()
    theirs = machine.pods()["serve"]
    machine.api.created.clear()
    theirs["metadata"]["annotations"]["gpu-fabric.dev/candidate"] = "gpu-1"
    machine.api.created[theirs["metadata"]["name"]] = theirs

    assert machine.look()[:2] == ("Unknown", "PairWaiting")
    assert list(machine.api.created.values()) == [theirs]
    _older(theirs)
    machine.look()
    assert machine.api.created == {}
    assert machine.look()[1] == "PairRunning"


def test_a_nic_that_the_pod_of_the_pair_has_is_not_missed(machine: Measured) -> None:
    machine.expected["nicsMove"] = True
    machine.neighbour("gpu-8")
    machine.look()
    machine.nic(1, "net").rename(machine.folder / "net-in-the-pod")
    machine.nic(1, "infiniband").rename(machine.folder / "device-in-the-pod")

    assert machine.look()[1] == "PairRunning"


def test_a_proof_that_is_asked_for_is_answered_when_the_rails_are_measured(machine: Measured) -> None:
    machine.neighbour("gpu-8")
    machine.look()
    machine.ends(measured())
    machine.look()
    machine.api.node["metadata"]["annotations"]["gpu-fabric.dev/prove"] = "wave 3"
    # Running jobs and their successors are not disturbed for the question alone.
    assert machine.look()[0] == "True"
    assert machine.api.taints == ["nvidia.com/gpu"]
    assert "gpu-fabric.dev/proved" not in machine.api.annotations
    machine.ends(measured())

    assert machine.look()[0] == "True"
    assert machine.api.annotations["gpu-fabric.dev/proved"] == "wave 3"


def test_a_pair_that_was_begun_before_the_question_does_not_answer_it(machine: Measured) -> None:
    machine.neighbour("gpu-8")
    machine.look()
    before = {pod["metadata"]["uid"] for pod in machine.pods().values()}
    machine.api.node["metadata"]["annotations"]["gpu-fabric.dev/prove"] = "after the new cable"
    machine.ends(measured())
    assert machine.look()[:2] == ("Unknown", "PairWaiting")
    machine.look()

    assert before.isdisjoint(pod["metadata"]["uid"] for pod in machine.pods().values())
    assert len(machine.pods()) == 2


def test_pods_that_a_quota_refuses_lock_no_node_out(machine: Measured) -> None:
    machine.neighbour("gpu-8")
    machine.api.quota = 1
    assert machine.look()[:2] == ("Unknown", "PairWaiting")
    assert machine.api.created == {}
    machine.passes()

    assert machine.look() == (
        "True",
        "NotMeasured",
        f"{WELL}; not measured within 600 s: its pods are refused: 403: exceeded quota: team",
    )


def test_only_a_request_is_followed_by_a_measurement_where_the_stack_says_so(machine: Measured) -> None:
    machine.expected["pair"]["when"] = "request"
    machine.neighbour("gpu-8")
    assert machine.look() == ("True", "Proven", WELL)
    machine.api.node["metadata"]["annotations"]["gpu-fabric.dev/prove"] = "after the new cable"
    machine.look()

    assert set(machine.pods()) == {"measure", "serve"}
    assert "gpu-fabric.dev/proved" not in machine.api.annotations


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ("cannot no program ib_write_bw in the image of fabric.readiness.pair", "no program ib_write_bw in the image"),
        (f"{HEADING}\n{row(0, 'write', 390)}", "what perftest printed is not understood"),
        (measured().replace("BW average[Gb/sec]", "BW average[MB/sec]"), "what perftest printed is not understood"),
        (measured().replace("390.00", "fast"), "what perftest printed is not understood"),
        ("", "the pod left no results"),
    ],
)
def test_what_is_not_a_measurement_proves_nothing_and_blames_nobody(machine: Measured, message: str, why: str) -> None:
    machine.neighbour("gpu-8")
    machine.look()
    machine.ends(message)

    status, reason, text = machine.look()
    assert (status, reason) == ("Unknown", "PairWaiting")
    assert why in text


def test_a_node_whose_look_fails_is_not_measured(machine: Measured) -> None:
    machine.neighbour("gpu-8")
    machine.nic(1, "net/rdma1/operstate").write_text("down\n")

    assert machine.look()[:2] == ("False", "LinkDown")
    assert machine.api.created == {}
