"""The sandbox's MPI operator: workers first, the launcher when its policy says so, and what stays at the end."""

from __future__ import annotations

import pytest
from job_objects import NOW, Object, made, mpi_job, names, running, with_uid

from sandbox.hardware.jobs.mpi import Belongings, actions, status_of
from sandbox.hardware.jobs.turns import owned


def workers_of(job: Object) -> list[Object]:
    """The workers that the operator makes."""
    return made(actions(job, Belongings([], None)), "Pod")


def launcher_of(job: Object, *conditions: str, **spec: object) -> Object:
    """The launcher's Job, with conditions that hold."""
    status = {"conditions": [{"type": kind, "status": "True"} for kind in conditions]}
    return with_uid(owned("Job", "batch/v1", job, "train-launcher", spec=dict(spec), status=status))


def conditions_of(status: Object) -> dict[str, str]:
    return {entry["type"]: entry["status"] for entry in status["conditions"]}


def test_a_new_job_gets_its_service_hosts_keys_workers_and_launcher() -> None:
    turn = actions(mpi_job(), Belongings([], None))

    assert names(made(turn, "Pod")) == ["train-worker-0", "train-worker-1"]
    assert names(made(turn, "Job")) == ["train-launcher"]
    hosts = made(turn, "ConfigMap")[0]["data"]["hostfile"].splitlines()
    assert hosts == [f"train-worker-{n}.train.default.svc slots=8" for n in (0, 1)]
    assert made(turn, "Secret")[0]["type"] == "kubernetes.io/ssh-auth"
    assert made(turn, "Service")[0]["spec"]["selector"]["training.kubeflow.org/job-name"] == "train"


def test_workers_have_the_names_labels_and_keys_of_the_operators_own() -> None:
    worker = workers_of(mpi_job())[1]
    spec = worker["spec"]

    assert worker["metadata"]["labels"] == {
        "training.kubeflow.org/operator-name": "mpi-operator",
        "training.kubeflow.org/job-name": "train",
        "training.kubeflow.org/job-role": "worker",
        "training.kubeflow.org/replica-index": "1",
    }
    assert (spec["hostname"], spec["subdomain"], spec["restartPolicy"]) == ("train-worker-1", "train", "Never")
    assert spec["containers"][0]["volumeMounts"][0]["mountPath"] == "/root/.ssh"
    assert spec["containers"][0]["command"] == ["/usr/sbin/sshd", "-De"]


def test_the_launcher_finds_its_hosts_and_sees_no_gpu() -> None:
    launcher = made(actions(mpi_job(), Belongings([], None)), "Job")[0]
    spec = launcher["spec"]["template"]["spec"]
    variables = {entry["name"]: entry["value"] for entry in spec["containers"][0]["env"]}

    assert variables["OMPI_MCA_orte_default_hostfile"] == "/etc/mpi/hostfile"
    assert variables["OMPI_MCA_orte_set_default_slots"] == "8"
    assert variables["NVIDIA_VISIBLE_DEVICES"] == ""
    assert spec["restartPolicy"] == "OnFailure"


def test_a_launcher_that_waits_comes_when_all_workers_are_ready() -> None:
    job = mpi_job(launcherCreationPolicy="WaitForWorkersReady")
    pods = workers_of(job)

    assert made(actions(job, Belongings(pods, None)), "Job") == []
    assert made(actions(job, Belongings([running(pods[0]), pods[1]], None)), "Job") == []
    assert len(made(actions(job, Belongings([running(pod) for pod in pods], None)), "Job")) == 1


def test_a_suspended_job_has_no_workers_and_a_launcher_that_is_suspended_with_it() -> None:
    job = mpi_job(run_policy={"suspend": True})
    turn = actions(job, Belongings([], None))

    assert made(turn, "Pod") == []
    assert made(turn, "Job")[0]["spec"]["suspend"] is True
    assert conditions_of(status_of(job, Belongings([], None), NOW)) == {
        "Created": "True",
        "Suspended": "True",
        "Running": "False",
    }


def test_a_job_that_is_let_go_starts_its_launcher_again() -> None:
    job = mpi_job()
    launcher = launcher_of(job, suspend=True)

    assert actions(job, Belongings([], launcher)).patches == [(launcher, {"spec": {"suspend": False}})]


def test_suspending_a_job_takes_its_workers_away() -> None:
    pods = [running(pod) for pod in workers_of(mpi_job())]
    turn = actions(mpi_job(run_policy={"suspend": True}), Belongings(pods, launcher_of(mpi_job())))

    assert names(turn.deletes) == ["train-worker-0", "train-worker-1"]


def test_a_job_is_running_when_its_launcher_and_all_workers_are() -> None:
    job = mpi_job()
    pods, launcher = [running(pod) for pod in workers_of(job)], launcher_of(job)
    own = Belongings(pods, launcher, [running(with_uid(owned("Pod", "v1", launcher, "train-launcher-x")))])
    status = status_of(job, own, NOW)

    assert conditions_of(status)["Running"] == "True"
    assert status["replicaStatuses"] == {"Worker": {"active": 2}, "Launcher": {"active": 1}}
    assert "Running" not in conditions_of(status_of(job, Belongings(pods[:1], launcher, own.launcher_pods), NOW))


@pytest.mark.parametrize(("end", "condition"), [("Complete", "Succeeded"), ("Failed", "Failed")])
def test_a_job_ends_as_its_launcher_does(end: str, condition: str) -> None:
    job = mpi_job()
    status = status_of(job, Belongings([], launcher_of(job, end)), NOW)

    assert conditions_of(status)[condition] == "True"
    assert status["completionTime"] == NOW


@pytest.mark.parametrize(
    ("policy", "gone"),
    [("None", []), ("Running", ["train-worker-0"]), ("All", ["train-worker-0", "train-worker-1"])],
)
def test_the_clean_up_policy_says_which_workers_go_at_the_end(policy: str, gone: list[str]) -> None:
    job = mpi_job(run_policy={"cleanPodPolicy": policy})
    first, second = workers_of(job)
    own = Belongings([running(first), running(second, "Succeeded")], launcher_of(job, "Complete"))

    assert names(actions(job, own).deletes) == gone


def test_a_worker_that_somebody_deleted_is_made_again() -> None:
    job = {**mpi_job(), "status": {"conditions": []}}

    assert names(actions(job, Belongings(workers_of(job)[:1], launcher_of(job))).creates) == ["train-worker-1"]
