"""The sandbox's Volcano: a gang starts whole or not at all, and a job ends as its policies say."""

from __future__ import annotations

from typing import Any

from job_objects import NOW, Object, after, gpu_node, made, names, running, volcano_job, with_uid

from sandbox.hardware.jobs.room import Room
from sandbox.hardware.jobs.turns import Turn
from sandbox.hardware.jobs.volcano import Belongings, play
from sandbox.hardware.jobs.volcano_pods import pod_group, pods

TWO_NODES = (gpu_node("gpu-0"), gpu_node("gpu-1"))


def turn_of(
    job: Object, own: list[Object], group: Object | None, nodes: Any = TWO_NODES, queues: Any = ("default",)
) -> Turn:
    return play(job, Belongings(own, group), Room(nodes, ()), queues, NOW)


def enqueued(job: Object) -> tuple[Object, Object, list[Object]]:
    """A job that was let in, its PodGroup and its pods."""
    first = turn_of(job, [], None)
    group = with_uid(made(first, "PodGroup")[0])
    second = turn_of(after(first, job), [], group)
    return after(second, after(first, job)), after(second, group), made(second, "Pod")


def finished_as(job: Object, group: Object, own: list[Object]) -> list[str]:
    """The phases that a job goes through from here on, its pods being deleted when it says so."""
    phases = []
    for _ in range(5):
        turn = turn_of(job, own, group)
        job, group = after(turn, job), after(turn, group)
        own = [pod for pod in own if pod not in turn.deletes]
        phases.append(job["status"]["state"]["phase"])
    return phases


def test_a_new_job_gets_a_pod_group_and_the_files_of_its_plug_ins_but_no_pods() -> None:
    turn = turn_of(volcano_job(), [], None)

    assert names(turn.creates) == ["train-uid-of-train", "train-svc", "train", "train", "train-ssh"]
    assert [item["kind"] for item in turn.creates[1:]] == ["ConfigMap", "Service", "NetworkPolicy", "Secret"]
    assert turn.creates[1]["data"]["mpiworker.host"] == "train-mpiworker-0.train\ntrain-mpiworker-1.train"
    assert after(turn, volcano_job())["status"]["state"]["phase"] == "Pending"


def test_a_gang_that_fits_gets_all_its_pods_at_once() -> None:
    job, group, own = enqueued(volcano_job())

    assert names(own) == ["train-mpimaster-0", "train-mpiworker-0", "train-mpiworker-1"]
    assert group["status"]["phase"] == "Inqueue"
    assert job["status"]["state"]["phase"] == "Pending"


def test_a_gang_of_which_one_pod_does_not_fit_gets_none_and_says_so() -> None:
    job = volcano_job(workers=3)
    group = with_uid(pod_group(job))
    turn = turn_of(job, [], group)

    assert made(turn, "Pod") == []
    status = after(turn, group)["status"]
    assert (status["phase"], status["conditions"][0]["type"]) == ("Pending", "Unschedulable")
    assert status["conditions"][0]["message"].startswith("3/4 tasks in gang fit")


def test_two_gangs_do_not_count_on_the_same_nodes() -> None:
    room, jobs = Room(TWO_NODES, ()), [volcano_job(), volcano_job()]
    turns = [play(job, Belongings([], with_uid(pod_group(job))), room, ("default",), NOW) for job in jobs]

    assert [len(made(turn, "Pod")) for turn in turns] == [3, 0]


def test_a_gang_that_needs_fewer_than_all_its_pods_starts_with_those() -> None:
    job = volcano_job(workers=3, minAvailable=3)
    job["spec"]["tasks"][1]["minAvailable"] = 2

    assert len(made(turn_of(job, [], with_uid(pod_group(job))), "Pod")) == 4


def test_pods_wait_for_a_queue_that_is_not_there() -> None:
    job = volcano_job(queue="training")
    group = with_uid(pod_group(job))

    condition = after(turn_of(job, [], group), group)["status"]["conditions"][0]
    assert condition["message"] == "there is no queue training"


def test_a_tainted_node_takes_no_gang_that_does_not_tolerate_it() -> None:
    tainted = [gpu_node(f"gpu-{n}", taints=[{"key": "reserved", "effect": "NoSchedule"}]) for n in (0, 1)]
    job = volcano_job()

    assert made(turn_of(job, [], with_uid(pod_group(job)), tainted), "Pod") == []


def test_pods_have_the_names_labels_scheduler_and_files_of_volcanos_own() -> None:
    worker = list(pods(volcano_job(), 0))[2]
    spec, container = worker["spec"], worker["spec"]["containers"][0]

    assert worker["metadata"]["labels"] == {
        "volcano.sh/job-name": "train",
        "volcano.sh/job-namespace": "default",
        "volcano.sh/queue-name": "default",
        "volcano.sh/task-index": "1",
        "volcano.sh/task-spec": "mpiworker",
    }
    assert worker["metadata"]["annotations"]["scheduling.k8s.io/group-name"] == "train-uid-of-train"
    assert (spec["schedulerName"], spec["hostname"], spec["subdomain"]) == ("volcano", "train-mpiworker-1", "train")
    assert {mount["mountPath"] for mount in container["volumeMounts"]} == {"/etc/volcano", "/root/.ssh"}
    assert "VC_MPIWORKER_HOSTS" in {variable["name"] for variable in container["env"]}


def test_a_job_runs_when_as_many_pods_run_as_it_needs() -> None:
    job, group, own = enqueued(volcano_job())
    turn = turn_of(job, [running(pod) for pod in own], group)
    status = after(turn, job)["status"]

    assert (status["state"]["phase"], status["running"], status["minAvailable"]) == ("Running", 3, 3)
    assert after(turn, group)["status"]["phase"] == "Running"


def test_the_launchers_end_completes_the_job_and_takes_the_workers_away() -> None:
    job, group, own = enqueued(volcano_job())
    over = [running(own[0], "Succeeded"), *(running(pod) for pod in own[1:])]
    job = after(turn_of(job, [running(pod) for pod in own], group), job)
    turn = turn_of(job, over, group)

    assert names(turn.deletes) == ["train-mpiworker-0", "train-mpiworker-1"]
    assert finished_as(job, group, over)[-1] == "Completed"


def test_a_failed_pod_without_a_policy_fails_the_job_only_when_all_are_over() -> None:
    job, group, own = enqueued(volcano_job())
    job = after(turn_of(job, [running(pod) for pod in own], group), job)
    some = [running(own[0]), running(own[1], "Failed"), running(own[2])]

    assert finished_as(job, group, some)[-1] == "Running"
    assert finished_as(job, group, [running(pod, "Failed") for pod in own])[-1] == "Failed"


def test_a_policy_restarts_the_job_with_new_pods_until_it_has_failed_too_often() -> None:
    job, group, own = enqueued(volcano_job(policies=[{"event": "PodFailed", "action": "RestartJob"}], maxRetry=1))
    failed = [running(own[0]), running(own[1], "Failed"), running(own[2])]
    turn = turn_of(job, failed, group)

    assert names(turn.deletes) == names(own)
    assert after(turn, job)["status"]["version"] == 1
    assert finished_as(job, group, failed)[-1] == "Failed"


def test_what_has_the_status_already_gets_no_second_write() -> None:
    job, group, own = enqueued(volcano_job())
    turn = turn_of(job, own, group)

    assert not turn_of(after(turn, job), own, after(turn, group))
