"""The verification as a resource: when its job runs, when it runs again, and what becomes of its verdict."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from programs import STACKS, run_program, stack_config
from recording import Recording
from stack_plans import stack_plan

from components.engine.cluster_api import RequestError
from components.rdma import verification, verification_run
from components.rdma.verification import VerificationError, VerificationProvider
from gpu_fabric.plan.records import PlannedVerification
from sandbox.hardware.measuring.play import MESSAGE_ANNOTATION, endings
from sandbox.hardware.measuring.run import AILMENTS_ANNOTATION

ROOT = Path(__file__).parents[2]
PODS, JOBS = "/api/v1/namespaces/default/pods", "/apis/batch/v1/namespaces/default/jobs"
REPORT = "/api/v1/namespaces/default/configmaps/fabric-verification"
Props = dict[str, Any]


class Cluster:
    """An API server on which a Job's pods run and end at once, with what their programs would have left there."""

    def __init__(self) -> None:
        self.objects: dict[str, Any] = {}
        self.applied: list[str] = []
        self.ailments: dict[str, dict[str, str]] = {}
        self.refuses = ""
        self.pods_end = True
        self.job_status: dict[str, Any] = {}

    def items(self, collection: str, selector: str) -> list[dict[str, Any]]:
        assert collection == PODS
        run = selector.partition("=")[2]
        found = [pod for path, pod in self.objects.items() if path.startswith(f"{PODS}/{run}-")]
        return self._ended(found) if self.pods_end else found

    def request(self, _method: str, path: str) -> Any:
        if path not in self.objects:
            raise RequestError(404, "not found")
        return {"status": self.job_status, **self.objects[path]}

    def apply(self, path: str, manifest: dict[str, Any], _manager: str) -> None:
        kind = manifest["kind"]
        if kind == self.refuses:
            raise RequestError(422, f"no {kind} today")
        self.applied.append(kind)
        self.objects[path] = manifest
        if kind == "Job":
            for number in range(manifest["spec"]["completions"]):
                name = f"{manifest['metadata']['name']}-{number}"
                spec = {**manifest["spec"]["template"]["spec"], "nodeName": f"gpu-{number}", "hostname": name}
                metadata = {"name": name, "namespace": "default", **manifest["spec"]["template"]["metadata"]}
                self.objects[f"{PODS}/{name}"] = {"metadata": metadata, "spec": spec, "status": {"phase": "Running"}}

    def delete(self, path: str) -> None:
        path, _, query = path.partition("?")
        assert query == "propagationPolicy=Foreground"
        self.objects.pop(path, None)
        if path.startswith(JOBS):
            name = path.rpartition("/")[2]
            self.objects = {key: item for key, item in self.objects.items() if f"/pods/{name}-" not in key}

    def _ended(self, pods: list[dict[str, Any]]) -> list[dict[str, Any]]:
        nodes = {
            pod["spec"]["nodeName"]: {
                "metadata": {
                    "name": pod["spec"]["nodeName"],
                    "labels": {"node.kubernetes.io/instance-type": "BM.GPU.H200.8"},
                    "annotations": {AILMENTS_ANNOTATION: json.dumps(self.ailments.get(pod["spec"]["nodeName"], {}))},
                }
            }
            for pod in pods
        }
        files = {
            f"default/{path.rpartition('/')[2]}": item for path, item in self.objects.items() if "/configmaps/" in path
        }
        for pod, ending in endings(pods, nodes, files):
            state = {"exitCode": 0, "message": ending[MESSAGE_ANNOTATION]}
            pod["status"] = {"phase": "Succeeded", "containerStatuses": [{"state": {"terminated": state}}]}
        return pods


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    made = Cluster()
    monkeypatch.setattr(verification, "ClusterApi", lambda *_: made)
    for name in ("_PAUSE", "_LAST_WORDS"):
        monkeypatch.setattr(verification_run, name, 0.01)
    return made


@pytest.fixture(scope="module")
def planned() -> PlannedVerification:
    found = stack_plan("verification", ROOT).verification
    assert found is not None
    return found


def props(run: PlannedVerification, outcome: str | None = None) -> Props:
    return {"kubeconfig": "k", "cluster": "c", "planned": run.model_dump_json(by_alias=True), "outcome": outcome}


def outcome(made: Props) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(made["outcome"])
    return found


def create(run: PlannedVerification) -> Props:
    made: Props = VerificationProvider().create(props(run)).outs
    return made


def update(old: Props, run: PlannedVerification) -> Props:
    made: Props = VerificationProvider().update("verification", old, props(run)).outs
    return made


def jobs(cluster: Cluster) -> int:
    return cluster.applied.count("Job")


def other_run(run: PlannedVerification, name: str = "fabric-verification-ffffffff") -> PlannedVerification:
    """The run of a changed fabric."""
    text = run.model_dump_json(by_alias=True).replace(run.name, name)
    return PlannedVerification.model_validate_json(text)


def test_a_healthy_fabric_passes_and_the_verdict_is_written(cluster: Cluster, planned: PlannedVerification) -> None:
    found = outcome(create(planned))
    assert (found["state"], found["measured"], found["bar"]) == ("passed", 386.0, 368.0)
    report = cluster.objects[REPORT]
    assert report["data"]["report.txt"].endswith("passed\n")
    assert base64.b64decode(report["binaryData"]["results.tar.gz"]).startswith(b"\x1f\x8b")


def test_keys_come_before_the_job_and_go_with_its_end(cluster: Cluster, planned: PlannedVerification) -> None:
    create(planned)
    assert cluster.applied == ["Secret", "ConfigMap", "Service", "Job", "ConfigMap"]
    assert not any("/secrets/" in path for path in cluster.objects)


def test_every_run_has_keys_of_its_own(planned: PlannedVerification) -> None:
    one, two = (verification_run._keys("keys", planned)["data"] for _ in range(2))
    assert base64.b64decode(one["key"]).startswith(b"-----BEGIN OPENSSH PRIVATE KEY-----")
    assert base64.b64decode(one["key.pub"]).startswith(b"ssh-ed25519 ")
    assert one["key"] != two["key"]


def test_a_slow_rail_is_an_outcome_and_no_failure_of_the_resource(
    cluster: Cluster, planned: PlannedVerification
) -> None:
    cluster.ailments = {"gpu-1": {"3": "slow"}}
    found = outcome(create(planned))
    assert found["state"] == "failed"
    assert any("VFY023 rail 3, node gpu-1" in line for line in found["report"])


def test_what_ucx_measured_is_in_the_outcome_of_stacks_that_ask_for_it(
    cluster: Cluster, planned: PlannedVerification
) -> None:
    by_ucx = stack_plan("verification", ROOT, {"verification.pointToPoint": {"percent": 95}}).verification
    assert by_ucx is not None
    cluster.ailments = {"gpu-1": {"3": "host-memory"}}
    found = outcome(create(by_ucx))
    assert (found["pointToPointBar"], found["pointToPoint"]["2"], found["pointToPoint"]["3"]) == (47.5, 48.25, 28.95)
    assert any("VFY027 rail 3 (rdma3, network " in line for line in found["report"])
    assert not {key for key in outcome(create(planned)) if key.startswith("point")}


def test_of_thousands_of_reasons_the_first_are_printed_and_the_verdict_still_comes_last(
    cluster: Cluster, planned: PlannedVerification
) -> None:
    cluster.ailments = {f"gpu-{node}": {str(rail): "sockets" for rail in range(8)} for node in range(3)}
    report = outcome(create(planned))["report"]
    assert len(report) == 62
    assert report[-2].endswith("more lines in ConfigMap fabric-verification")
    assert report[-1] == "failed"


def test_what_passed_is_not_measured_again_for_new_credentials(cluster: Cluster, planned: PlannedVerification) -> None:
    first = create(planned)
    again = VerificationProvider().update("verification", first, {**props(planned), "kubeconfig": "renewed"}).outs
    assert jobs(cluster) == 1
    assert again["outcome"] == first["outcome"]


def test_what_failed_is_measured_again_by_the_next_up(cluster: Cluster, planned: PlannedVerification) -> None:
    cluster.ailments = {"gpu-1": {"3": "slow"}}
    first = create(planned)
    cluster.ailments = {}
    assert VerificationProvider().diff("verification", first, props(planned)).changes is True
    assert outcome(update(first, planned))["state"] == "passed"
    assert jobs(cluster) == 2


def test_a_changed_fabric_is_measured_anew_and_nothing_of_the_old_run_stays(
    cluster: Cluster, planned: PlannedVerification
) -> None:
    other = other_run(planned)
    assert outcome(update(create(planned), other))["job"] == other.name
    assert not any(planned.name in path for path in cluster.objects)


def test_a_run_that_was_cut_off_goes_on_where_it_is(cluster: Cluster, planned: PlannedVerification) -> None:
    create(planned)
    assert outcome(create(planned))["state"] == "passed"
    assert jobs(cluster) == 1


def test_nobody_waits_where_nobody_wants_to_and_the_next_up_has_the_verdict(
    cluster: Cluster, planned: PlannedVerification
) -> None:
    run = planned.model_copy(update={"wait": False})
    cluster.pods_end = False
    first = create(run)
    assert (outcome(first)["state"], outcome(first)["measured"]) == ("started", None)
    assert VerificationProvider().diff("verification", first, props(run)).changes is True
    assert outcome(update(first, run))["state"] == "started"
    cluster.pods_end = True
    assert outcome(update(first, run))["state"] == "passed"
    assert jobs(cluster) == 1


def test_a_job_that_ends_without_a_result_fails_with_what_is_known(
    cluster: Cluster, planned: PlannedVerification
) -> None:
    cluster.pods_end = False
    condition = {"type": "Failed", "status": "True", "reason": "DeadlineExceeded", "message": "too long"}
    cluster.job_status = {"conditions": [condition]}
    found = outcome(create(planned))
    assert found["state"] == "failed"
    assert any("VFY022 job: the job is Failed: DeadlineExceeded too long" in line for line in found["report"])
    assert "failed\n" in cluster.objects[REPORT]["data"]["report.txt"]


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "message": "0/4 nodes"}]},
            "pod gpu-job: 0/4 nodes"),
        ({"phase": "Pending", "containerStatuses": [{"state": {"waiting": {"reason": "ErrImagePull"}}}]},
            "pod gpu-job: ErrImagePull"),
        (
            {"phase": "Failed",
                "containerStatuses": [{"state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}]},
            "pod gpu-job on node : exit status 137 (OOMKilled)"),
    ],
)  # fmt: skip
def test_pods_that_do_not_run_say_why(status: dict[str, Any], words: str) -> None:
    pod = {"metadata": {"name": "gpu-job"}, "spec": {}, "status": status}
    assert list(verification_run.Seen([pod], "").problems()) == [words]


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ({"state": {"phase": "Aborted", "message": "pod failed"}}, "the job is Aborted pod failed"),
        ({"state": {"phase": "Running"}}, ""),
        ({"conditions": [{"type": "Succeeded", "status": "True"}]}, "the job is Succeeded"),
        ({"conditions": [{"type": "Running", "status": "True"}]}, ""),
        ({}, ""),
    ],
)
def test_the_ends_of_all_kinds_of_jobs_are_known(status: dict[str, Any], words: str) -> None:
    assert verification_run._end({"status": status}) == words


def test_a_job_that_the_cluster_refuses_leaves_nothing_behind(cluster: Cluster, planned: PlannedVerification) -> None:
    cluster.refuses = "Job"
    with pytest.raises(VerificationError, match="no Job today"):
        create(planned)
    assert cluster.objects == {}


def test_deleting_takes_job_pods_files_and_verdict(cluster: Cluster, planned: PlannedVerification) -> None:
    VerificationProvider().delete("verification", create(planned))
    assert cluster.objects == {}


def test_another_cluster_is_another_resource(planned: PlannedVerification) -> None:
    old = props(planned, json.dumps({"state": "passed"}))
    found = VerificationProvider().diff("verification", old, {**old, "cluster": "another"})
    assert (found.replaces, found.delete_before_replace) == (["cluster"], True)


# In a run


def recorded(kubeconfig: Path, state: str | None, *, wait: bool = True, preview: bool = False) -> Recording:
    """The stack's program, where the engine gives this outcome."""
    recording = Recording()
    found = {"state": state, "wait": wait, "report": ["error VER017 rail 3: slow", "failed"], "look": "kubectl …"}
    made: Callable[..., Any] = verification._Run.__init__

    def with_outcome(self: Any, *given: Any, **named: Any) -> None:
        made(self, *given, **named)
        self.outcome = verification.pulumi.Output.from_input("" if state is None else json.dumps(found))

    with patch.object(verification._Run, "__init__", with_outcome):
        config = stack_config(STACKS["verification"], kubeconfig)
        run_program("verification", config, recording=recording, preview=preview)
    return recording


def test_it_comes_after_networks_files_and_everything_else(kubeconfig: Path) -> None:
    recording = recorded(kubeconfig, "passed")
    others = [
        entry.name
        for entry in recording.resources
        if entry.custom and not entry.type.startswith("pulumi:") and entry.name != "verification-run"
        # Rolls an operator's DaemonSet, and nothing waits for its last pod.
        if not entry.type.endswith("DaemonSetPatch")
    ]
    assert [name for name in others if not recording.comes_after("verification-run", name)] == []


def test_the_outcome_is_an_output_that_is_no_secret(kubeconfig: Path) -> None:
    recording = recorded(kubeconfig, "passed")
    assert recording.outputs["verification"]["state"] == "passed"
    assert "verification" not in recording.secret_outputs


def test_a_fabric_that_did_not_pass_ends_the_run_with_every_reason(kubeconfig: Path) -> None:
    with pytest.raises(VerificationError, match="rail 3: slow"):
        recorded(kubeconfig, "failed")


def test_it_only_warns_where_nobody_waited(kubeconfig: Path) -> None:
    assert recorded(kubeconfig, "failed", wait=False).outputs["verification"]["state"] == "failed"


def test_a_preview_has_no_verdict_and_fails_for_none(kubeconfig: Path) -> None:
    assert recorded(kubeconfig, "failed", preview=True)["verification-run"].custom
