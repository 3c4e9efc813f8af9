"""`gpu-fabric drift`: by the user's kubectl, with the exit status that scripts go by."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import run
from stand_in_kubectl import StandInKubectl

from gpu_fabric.live.cluster import Cluster
from gpu_fabric.live.drift_and_damages import drift
from gpu_fabric.live.stack import Stack
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.load import read_document

sys.path.insert(0, str(Path(__file__).parents[1] / "drift"))
from lived_in_clusters import LivedInCluster, lived_in

ROOT = Path(__file__).parents[3]
POOLS = "apis/nv-ipam.nvidia.com/v1alpha1/ippools"
UNREACHED = {
    "error": "The connection to the server 127.0.0.1:6443 was refused - did you specify the right host or port?"
}


@pytest.fixture
def cluster() -> LivedInCluster:
    made = prepare(read_document("dev", ROOT), for_up=False)
    return lived_in(made.spec, made.plan)


def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, cluster: LivedInCluster, **answers: Any) -> StandInKubectl:
    """A kubectl that answers whatever the comparison with this cluster asks for."""
    spec, plan = prepare(read_document("dev", ROOT), for_up=False)
    applied: list[dict[str, Any]] = []

    def apply(manifest: dict[str, Any]) -> dict[str, Any]:
        applied.append(cluster.apply(manifest))
        return applied[-1]

    drift(Stack(spec, plan), Cluster(cluster.read, cluster.create, apply), "2026-06-01T03:20:00Z")
    known = {f"get {path}": cluster.read(path) for path in list(cluster.requests)}
    found = {path: answer for path, answer in known.items() if answer is not None}
    monkeypatch.chdir(ROOT)
    return StandInKubectl(folder / "bin", {**found, "apply": applied, **answers}, monkeypatch)


def test_nothing_that_differs_is_a_good_exit_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: LivedInCluster
) -> None:
    kubectl = stand_in(tmp_path, monkeypatch, cluster)

    done = run("drift", "dev")

    assert done.exit_code == 0
    assert done.stdout.splitlines() == ["stack dev and a cluster of Kubernetes v1.35.2 with 4 nodes", "no drift"]
    assert {call["verb"] for call in kubectl.calls} == {"get", "apply"}
    dry = [call["options"] for call in kubectl.calls if call["verb"] == "apply"]
    assert all({"--server-side", "--dry-run=server", "--force-conflicts"} <= set(options) for options in dry)


def test_json_has_each_difference_with_its_evidence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: LivedInCluster
) -> None:
    cluster.objects[POOLS][3]["status"]["allocations"].append({"nodeName": "gone", "startIP": "192.168.48.9"})
    stand_in(tmp_path, monkeypatch, cluster)

    done = run("drift", "dev", "--format", "json")

    assert done.exit_code == 1
    document = json.loads(done.stdout)
    assert document["stack"] == "dev"
    [found] = document["findings"]
    assert (found["id"], found["severity"]) == ("DRI020", "error")
    assert found["seen"][0] == {
        "object": "IPPool nvidia-network-operator/rail-03",
        "field": "status.allocations[].nodeName",
        "value": "gone",
    }
    assert found["remedy"]


def test_a_kubeconfig_from_standard_input_reaches_kubectl_as_a_file_that_is_gone_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: LivedInCluster
) -> None:
    kubectl = stand_in(tmp_path, monkeypatch, cluster)

    done = run("drift", "-s", "dev", "--kubeconfig", "-", text="token: very-secret")

    assert done.exit_code == 0
    assert "very-secret" not in done.output
    (file,) = {call["options"][0].removeprefix("--kubeconfig=") for call in kubectl.calls}
    assert file != "-"
    assert not Path(file).exists()


def test_a_cluster_that_does_not_answer_is_bad_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: LivedInCluster
) -> None:
    stand_in(tmp_path, monkeypatch, cluster, **{"get /api/v1/nodes": UNREACHED})

    done = run("drift", "dev")

    assert done.exit_code == 2
    assert "was refused" in done.stderr
