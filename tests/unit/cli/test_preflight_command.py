"""`gpu-fabric preflight`: by the user's kubectl, with the exit status that scripts go by."""

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import run
from stand_in_kubectl import StandInKubectl

from gpu_fabric.live.judging import differences
from gpu_fabric.live.stack import Stack
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.load import read_document
from tests.support.played_cluster import PlayedCluster

ROOT = Path(__file__).parents[3]
REVIEWS = "create /apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


@pytest.fixture
def cluster() -> PlayedCluster:
    return PlayedCluster(prepare(read_document("dev", ROOT), for_up=False).spec)


def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, cluster: PlayedCluster, **answers: Any) -> StandInKubectl:
    """A kubectl that answers whatever the plan's comparison with this cluster asks for."""
    spec, plan = prepare(read_document("dev", ROOT), for_up=False)
    differences(Stack(spec, plan), cluster.cluster)
    known = {f"get {path}": cluster.read(path) for path in list(cluster.requests)}
    found = {path: answer for path, answer in known.items() if answer is not None}
    monkeypatch.chdir(ROOT)
    return StandInKubectl(folder / "bin", {**found, REVIEWS: {"status": {"allowed": True}}, **answers}, monkeypatch)


def test_nothing_in_the_way_is_a_good_exit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: PlayedCluster
) -> None:
    kubectl = stand_in(tmp_path, monkeypatch, cluster)

    done = run("preflight", "dev")

    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        "stack dev and a cluster of Kubernetes v1.35.2 with 4 nodes",
        "nothing stands in the way of `up`",
    ]
    assert {call["options"][0] for call in kubectl.calls} == {f"--kubeconfig={ROOT / '.sandbox/kubeconfig'}"}
    assert {call["verb"] for call in kubectl.calls} == {"get", "create"}
    assert {call["path"] for call in kubectl.calls if call["verb"] == "create"} == {REVIEWS.removeprefix("create ")}


def test_a_difference_is_printed_with_what_was_seen_and_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: PlayedCluster
) -> None:
    cluster.nodes[0]["spec"]["unschedulable"] = True
    kubectl = stand_in(tmp_path, monkeypatch, cluster)

    done = run("preflight", "dev", "--kubeconfig", "mine.yaml", "--context", "lab")

    assert done.exit_code == 1
    assert kubectl.calls[0]["options"][:2] == ["--kubeconfig=mine.yaml", "--context=lab"]
    assert done.stdout.splitlines()[1:] == [
        "warning PRE059 gpu-fabric:cluster.pools[0].nodes: pool gpu: gpu-0 takes no pods",
        "    seen: Node gpu-0, spec.unschedulable: true",
        "    -> kubectl uncordon gpu-0",
        "0 errors, 1 warning",
    ]


def test_json_has_each_difference_with_its_evidence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: PlayedCluster
) -> None:
    cluster.namespace("gpu-operator")
    stand_in(tmp_path, monkeypatch, cluster)

    done = run("preflight", "dev", "--format", "json")

    document = json.loads(done.stdout)
    assert done.exit_code == 1
    assert (document["stack"], document["kubernetes"], document["nodes"]) == ("dev", "v1.35.2", 4)
    (found,) = document["findings"]
    assert found["id"] == "PRE040"
    assert found["severity"] == "error"
    assert found["seen"][0]["object"] == "Namespace gpu-operator"
    assert set(found) == {"id", "severity", "path", "message", "remedy", "seen"}


def test_what_kubectl_may_not_read_is_a_difference_and_the_rest_is_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: PlayedCluster
) -> None:
    cluster.namespace("gpu-operator")
    cluster.nodes[0]["spec"]["taints"].append({"key": "a", "value": "\x1b[31mred", "effect": "NoSchedule"})
    forbidden = 'Error from server (Forbidden): limitranges is forbidden: User "me" cannot list resource "limitranges"'
    stand_in(tmp_path, monkeypatch, cluster, **{"get /api/v1/limitranges": {"error": forbidden}})

    done = run("preflight", "dev")

    assert done.exit_code == 1
    assert "error PRE040" in done.stdout
    assert "warning PRE101" in done.stdout
    assert "/api/v1/limitranges" in done.stdout
    # Control characters of a cluster do not reach the terminal.
    assert "\x1b" not in done.stdout
    assert "\\x1b[31mred" in done.stdout


def test_a_cluster_that_does_not_answer_is_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: PlayedCluster
) -> None:
    refused = "The connection to the server 127.0.0.1:1 was refused - did you specify the right host or port?"
    stand_in(tmp_path, monkeypatch, cluster, **{"get /version": {"error": refused}})

    done = run("preflight", "dev")

    assert done.exit_code == 2
    assert done.stdout == ""
    assert "was not reached" in done.stderr


@pytest.mark.parametrize(
    ("stack", "said"), [("doks-h200", "give --kubeconfig"), ("doks-split-cluster", "creates a cluster only")]
)
def test_a_cluster_is_not_guessed(stack: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)

    done = run("preflight", "-s", stack)

    assert done.exit_code == 2
    assert said in done.stderr


def test_a_bad_stack_file_is_refused_before_the_cluster_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: PlayedCluster
) -> None:
    kubectl = stand_in(tmp_path, monkeypatch, cluster)
    file = tmp_path / "bad.yaml"
    file.write_text("config: {gpu-fabric:cluster: {provider: nowhere}}\n")

    done = run("preflight", "-f", str(file))

    assert done.exit_code == 2
    assert kubectl.calls == []
