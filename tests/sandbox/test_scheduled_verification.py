"""The fabric measured on idle nodes at certain times: who takes part, who gives way, and what the history says."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from driver import PODS, Sandbox, until
from typer.testing import CliRunner

from gpu_fabric.cli.app import app
from sandbox.home import project_root
from sandbox.kubernetes_api import ApiError

STACK, NAME = "verification", "fabric-idle"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
CRON_JOBS = "/apis/batch/v1/namespaces/default/cronjobs"
HISTORY = "/api/v1/namespaces/default/configmaps/fabric-verification-history"
JOB_LABEL = "batch.kubernetes.io/job-name"


@pytest.fixture(scope="module")
def scheduled(cluster: Sandbox) -> Sandbox:
    """A sandbox with the stack up, whose fabric is measured every minute."""
    sandbox = cluster.trying(STACK)
    sandbox.up()
    sandbox.up_with(verification={"schedule": "* * * * *"})
    return sandbox


def history(sandbox: Sandbox) -> list[dict[str, Any]]:
    """The entries, the newest first."""
    text: str = sandbox.api.get(HISTORY).get("data", {}).get("history.jsonl", "")
    return [json.loads(line) for line in text.splitlines()]


def start(sandbox: Sandbox, name: str) -> None:
    """What the controller of CronJobs does at the time of a run."""
    template = sandbox.api.get(f"{CRON_JOBS}/{NAME}")["spec"]["jobTemplate"]["spec"]
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "default"}}
    sandbox.api.post(JOBS, {**job, "spec": template})


def pods_of(sandbox: Sandbox, job: str) -> dict[str, str]:
    """The pods of a job that have a node, by node with their phase."""
    own = [pod for pod in sandbox.items(PODS) if pod["metadata"].get("labels", {}).get(JOB_LABEL) == job]
    return {pod["spec"]["nodeName"]: pod["status"]["phase"] for pod in own if "nodeName" in pod["spec"]}


def end_of(sandbox: Sandbox, name: str) -> tuple[str, ...]:
    """How a job ended, and why; empty while it runs."""
    conditions = sandbox.api.get(f"{JOBS}/{name}").get("status", {}).get("conditions", ())
    ends = [one for one in conditions if one["type"] in ("Complete", "Failed") and one["status"] == "True"]
    return (ends[0]["type"], ends[0].get("reason", "")) if ends else ()


def ended(sandbox: Sandbox, name: str) -> tuple[str, ...]:
    found: tuple[str, ...] = until(lambda: end_of(sandbox, name), f"{name} ends")
    return found


def work(sandbox: Sandbox, node: str) -> None:
    """A pod of a job, without a priority of its own, that needs all GPUs of a node."""
    name = f"work-{node}"
    container = {"name": "work", "image": "work", "resources": {"limits": {"nvidia.com/gpu": "8"}}}
    spec = {
        "containers": [container],
        "nodeSelector": {"kubernetes.io/hostname": node},
        "tolerations": [{"operator": "Exists"}],
    }
    sandbox.run_pod({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})


def test_at_its_time_the_fabric_is_measured_on_all_idle_nodes(scheduled: Sandbox) -> None:
    until(lambda: history(scheduled) != [], "the first scheduled run has ended")
    (entry, *_) = history(scheduled)
    assert (entry["passed"], sorted(entry["nodes"])) == (True, ["gpu-0", "gpu-1", "gpu-2"])
    assert (entry["measured"], entry["rails"]["7"], entry["slowRails"]) == (386, 48.25, [])
    assert entry["job"].startswith(f"{NAME}-")
    # The other tests start runs themselves.
    scheduled.api.patch(f"{CRON_JOBS}/{NAME}", {"spec": {"suspend": True}})
    until(lambda: all(end_of(scheduled, job["metadata"]["name"]) for job in scheduled.items(JOBS)), "all runs end")


def test_busy_nodes_take_no_part_and_their_pods_do_not_wait_after_the_run(scheduled: Sandbox) -> None:
    work(scheduled, "gpu-0")
    start(scheduled, "idle-two")
    assert ended(scheduled, "idle-two") == ("Complete", "SuccessPolicy")
    assert history(scheduled)[0]["job"] == "idle-two"
    assert sorted(history(scheduled)[0]["nodes"]) == ["gpu-1", "gpu-2"]
    assert scheduled.api.get(f"{PODS}/work-gpu-0")["status"]["phase"] == "Running"
    own = [pod for pod in scheduled.items(PODS) if pod["metadata"].get("labels", {}).get(JOB_LABEL) == "idle-two"]
    assert [pod["metadata"]["name"] for pod in own if pod["status"]["phase"] == "Pending"] == []


def test_one_idle_node_alone_ends_the_run_without_an_entry(scheduled: Sandbox) -> None:
    before = history(scheduled)
    work(scheduled, "gpu-1")
    start(scheduled, "idle-one")
    assert ended(scheduled, "idle-one")[0] == "Complete"
    assert history(scheduled) == before
    scheduled.remove_pods("work-gpu-0", "work-gpu-1")


def test_a_job_that_needs_a_node_gets_it_at_once_and_the_run_is_given_up(scheduled: Sandbox) -> None:
    before = history(scheduled)
    start(scheduled, "idle-preempted")
    until(lambda: len(pods_of(scheduled, "idle-preempted")) == 3, "the run's pods have nodes")
    work(scheduled, "gpu-1")
    assert ended(scheduled, "idle-preempted") == ("Failed", "PodFailurePolicy")
    until(lambda: "Running" not in pods_of(scheduled, "idle-preempted").values(), "the other nodes are left too")
    assert history(scheduled) == before
    scheduled.remove_pods("work-gpu-1")


def test_a_slow_rail_fails_the_run_and_the_newest_results_name_its_node(
    scheduled: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scheduled.run("rail", "gpu-2", "3", "slow")
    start(scheduled, "idle-slow")
    assert ended(scheduled, "idle-slow") == ("Failed", "BackoffLimitExceeded")
    scheduled.run("rail", "gpu-2", "3", "well")
    entry, *earlier = history(scheduled)
    assert (entry["job"], entry["passed"], entry["slowRails"]) == ("idle-slow", False, [3])
    assert earlier[0]["job"] == "idle-two"
    results = tmp_path / "latest.tar.gz"
    results.write_bytes(base64.b64decode(scheduled.api.get(HISTORY)["binaryData"]["latest.tar.gz"]))
    monkeypatch.chdir(project_root())
    said = CliRunner().invoke(app, ["verdict", str(results), "-s", STACK])
    assert said.exit_code == 1
    assert "VFY023 rail 3, node gpu-2" in said.stdout


def test_the_pods_may_read_and_change_two_config_maps_and_nothing_else(scheduled: Sandbox) -> None:
    allowed = {
        ("patch", "configmaps", "fabric-verification-history"),
        ("get", "configmaps", "fabric-verification-present"),
    }
    for verb, resource, name in allowed | {
        ("patch", "configmaps", "fabric-verification"),
        ("delete", "configmaps", "fabric-verification-history"),
        ("get", "secrets", "any"),
        ("list", "configmaps", ""),
        ("create", "pods", ""),
    }:
        asked = {"namespace": "default", "verb": verb, "resource": resource, "name": name}
        user = f"system:serviceaccount:default:{NAME}"
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview"}
        found = scheduled.api.post(
            "/apis/authorization.k8s.io/v1/subjectaccessreviews",
            {**review, "spec": {"user": user, "resourceAttributes": asked}},
        )
        assert found["status"]["allowed"] == ((verb, resource, name) in allowed), asked


def test_another_up_keeps_the_history_and_without_a_schedule_nothing_of_it_is_left(scheduled: Sandbox) -> None:
    before = history(scheduled)
    scheduled.up_with(verification={"schedule": "0 4 * * *"})
    assert history(scheduled) == before != []
    assert scheduled.api.get(f"{CRON_JOBS}/{NAME}")["spec"]["schedule"] == "0 4 * * *"
    scheduled.up_with()
    assert scheduled.items(CRON_JOBS) == []
    with pytest.raises(ApiError):
        scheduled.api.get(HISTORY)
