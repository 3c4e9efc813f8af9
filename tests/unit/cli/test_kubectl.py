"""Commands reach a cluster by the user's kubectl: what is asked, and one line for each way in which it fails."""

import json
from pathlib import Path
from typing import Any

import pytest
from rows import rows
from stand_in_kubectl import StandInKubectl
from stand_in_program import started

from gpu_fabric.cli import kubectl
from gpu_fabric.cli.kubectl import ClusterError, Kubectl

NODES = "/api/v1/nodes"


def cluster(folder: Path, monkeypatch: pytest.MonkeyPatch, answers: dict[str, Any]) -> StandInKubectl:
    return StandInKubectl(folder, answers, monkeypatch)


def refusal(folder: Path, monkeypatch: pytest.MonkeyPatch, said: str) -> ClusterError:
    cluster(folder, monkeypatch, {f"get {NODES}": {"error": said}})
    with pytest.raises(ClusterError) as refused:
        Kubectl(Path("my.yaml")).get(NODES)
    assert "\n" not in str(refused.value)
    return refused.value


def test_kubeconfig_and_context_are_kubectls_own_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = cluster(tmp_path, monkeypatch, {"get /version": {"major": "1"}})

    assert Kubectl(Path("my.yaml"), "lab").get("/version") == {"major": "1"}
    assert Kubectl().get("/version") == {"major": "1"}
    options = [call["options"] for call in stand_in.calls]
    assert options[0] == ["--kubeconfig=my.yaml", "--context=lab", "--request-timeout=30s"]
    assert options[1] == ["--request-timeout=30s"]


def test_the_kubectl_on_path_is_used_where_none_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = cluster(tmp_path / "bin", monkeypatch, {"get /version": {"major": "1"}})
    monkeypatch.delenv("KUBECTL")
    monkeypatch.setenv("PATH", str(started(there.program).parent))

    assert Kubectl().get("/version") == {"major": "1"}
    with pytest.raises(ClusterError, match="the cluster has no /api/v1/pods"):
        Kubectl().create("/api/v1/pods", {"kind": "Pod"})
    assert [call["content"] for call in there.calls] == ["", '{"kind": "Pod"}']


def test_a_list_is_read_with_all_of_its_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = {
        f"get {NODES}?limit=500": {"kind": "NodeList", "items": [1], "metadata": {"continue": "a+b"}},
        f"get {NODES}?limit=500&continue=a%2Bb": {"items": [2], "metadata": {"continue": "c"}},
        f"get {NODES}?limit=500&continue=c": {"items": [3], "metadata": {}},
        "get /apis/batch/v1/jobs?labelSelector=x&limit=500": {"items": None},
    }
    cluster(tmp_path, monkeypatch, pages)

    found = Kubectl().get(NODES)
    assert found is not None
    assert (found["kind"], found["items"]) == ("NodeList", [1, 2, 3])
    assert Kubectl().get("/apis/batch/v1/jobs?labelSelector=x") == {"items": []}


def test_a_list_that_changed_between_its_pages_is_not_given_as_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expired = {"error": "Error from server (Expired): The provided continue parameter is too old"}
    pages = {f"get {NODES}?limit=500": {"items": [1], "metadata": {"continue": "a"}}}
    cluster(tmp_path, monkeypatch, {**pages, f"get {NODES}?limit=500&continue=a": expired})

    with pytest.raises(ClusterError, match="/api/v1/nodes changed while it was read; run the command again"):
        Kubectl().get(NODES)


def test_an_object_is_created_from_standard_input_and_deleted_with_what_it_owns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = "/apis/batch/v1/namespaces/a/jobs"
    stand_in = cluster(tmp_path, monkeypatch, {f"create {jobs}": {"kind": "Job"}, f"delete {jobs}/look": {}})

    assert Kubectl().create(jobs, {"kind": "Job", "spec": "é"}) == {"kind": "Job"}
    assert Kubectl().delete(f"{jobs}/look") is True
    created, deleted = stand_in.calls
    assert json.loads(created["content"]) == {"kind": "Job", "spec": "é"}
    assert deleted["path"] == f"{jobs}/look?propagationPolicy=Background"
    # What the cluster does not have is none.
    assert Kubectl().get("/apis/mellanox.com/v1alpha1/nicclusterpolicies") is None
    assert Kubectl().delete("/api/v1/namespaces/a") is False


def test_what_a_pod_printed_is_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster(tmp_path, monkeypatch, {"get /api/v1/namespaces/a/pods/p/log": "one\ntwo"})

    assert Kubectl().logs("a", "p") == "one\ntwo\n"
    with pytest.raises(ClusterError, match="the cluster has no pod q in namespace a"):
        Kubectl().logs("a", "q")


@pytest.mark.parametrize(("said", "told", "reason"), rows(__file__, "each way to fail is one line with a remedy"))
def test_each_way_to_fail_is_one_line_with_a_remedy(
    said: str, told: str, reason: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = refusal(tmp_path, monkeypatch, said)

    assert told in str(error)
    assert "s3cret" not in str(error)
    assert reason is None or error.reason == reason


def test_no_kubectl_is_said_with_the_ways_to_have_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("KUBECTL", raising=False)
    with pytest.raises(ClusterError, match="no program kubectl: it is not to be found; install kubectl, or name one"):
        Kubectl().get(NODES)

    monkeypatch.setenv("KUBECTL", "/nowhere/kubectl")
    with pytest.raises(ClusterError, match="no program /nowhere/kubectl: KUBECTL names it"):
        Kubectl().get(NODES)


def test_a_kubectl_that_waits_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = tmp_path / "kubectl"
    waiting.write_text("#!/bin/sh\nexec sleep 30\n", encoding="utf-8")
    waiting.chmod(0o755)
    monkeypatch.setenv("KUBECTL", str(waiting))
    monkeypatch.setattr(kubectl, "_PROCESS_S", 1)

    with pytest.raises(ClusterError, match="did not answer within 1 s; see what it waits for: kubectl get --raw"):
        Kubectl().get(NODES)


def test_an_answer_that_is_no_object_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster(tmp_path, monkeypatch, {f"get {NODES}": "<html>a proxy's page</html>"})

    with pytest.raises(ClusterError, match="the answer for /api/v1/nodes is not an object of the Kubernetes API"):
        Kubectl().get(NODES)
