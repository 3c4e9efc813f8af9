"""The sandbox's JobSet: Jobs of Kubernetes under names of its own, and an end that its policies say."""

from __future__ import annotations

from typing import Any

from job_objects import NOW, Object, after, job, made, names, template, with_uid

from sandbox.hardware.jobs.jobset import play


def job_set(**spec: Any) -> Object:
    """A driver, and two Jobs of workers with two pods each."""
    workers = {"spec": {"parallelism": 2, "completions": 2, "template": template()}}
    replicated = [
        {"name": "driver", "replicas": 1, "template": {"spec": {"template": template(gpus=0)}}},
        {"name": "workers", "replicas": 2, "template": workers},
    ]
    return job("JobSet", "jobset.x-k8s.io/v1alpha2", {"replicatedJobs": replicated, **spec})


def jobs_of(jobset: Object) -> list[Object]:
    return [with_uid(item) for item in made(play(jobset, [], NOW), "Job")]


def ended(item: Object, kind: str) -> Object:
    return {**item, "status": {"conditions": [{"type": kind, "status": "True"}]}}


def test_a_set_gets_a_job_for_each_replica_and_a_service_with_its_name() -> None:
    turn = play(job_set(), [], NOW)

    assert names(made(turn, "Job")) == ["train-driver-0", "train-workers-0", "train-workers-1"]
    assert names(made(turn, "Service")) == ["train"]
    worker = made(turn, "Job")[2]
    assert worker["metadata"]["labels"]["jobset.sigs.k8s.io/job-index"] == "1"
    assert worker["spec"]["template"]["metadata"]["labels"]["jobset.sigs.k8s.io/replicatedjob-name"] == "workers"
    assert worker["spec"]["template"]["spec"]["subdomain"] == "train"


def test_a_suspended_sets_jobs_are_suspended_until_it_is_let_go() -> None:
    jobs = jobs_of(job_set(suspend=True))

    assert all(item["spec"]["suspend"] for item in jobs)
    turn = play(job_set(suspend=False), jobs, NOW)
    assert [patch["spec"]["suspend"] for _, patch in turn.patches] == [False] * 3


def test_what_a_queue_adds_to_a_template_reaches_the_jobs_when_they_start() -> None:
    jobs, changed = jobs_of(job_set(suspend=True)), job_set()
    changed["spec"]["replicatedJobs"][1]["template"]["spec"]["template"]["spec"]["nodeSelector"] = {"pool": "gpu"}

    patches = {item["metadata"]["name"]: patch for item, patch in play(changed, jobs, NOW).patches}
    assert patches["train-workers-0"]["spec"]["template"]["spec"]["nodeSelector"] == {"pool": "gpu"}


def test_in_order_the_workers_wait_for_the_driver() -> None:
    jobset = job_set(startupPolicy={"startupPolicyOrder": "InOrder"})
    first = jobs_of(jobset)
    ready = [{**first[0], "status": {"ready": 1}}]

    assert names(first) == ["train-driver-0"]
    assert names(made(play(jobset, ready, NOW), "Job")) == ["train-workers-0", "train-workers-1"]


def test_a_set_is_completed_when_all_its_jobs_are_and_not_before() -> None:
    jobs = jobs_of(job_set())
    some = [ended(jobs[0], "Complete"), *jobs[1:]]

    assert "terminalState" not in after(play(job_set(), some, NOW), job_set())["status"]
    status = after(play(job_set(), [ended(item, "Complete") for item in jobs], NOW), job_set())["status"]
    assert (status["terminalState"], status["conditions"][-1]["type"]) == ("Completed", "Completed")


def test_a_success_policy_may_ask_for_the_driver_alone() -> None:
    jobset = job_set(successPolicy={"operator": "All", "targetReplicatedJobs": ["driver"]})
    jobs = jobs_of(jobset)
    turn = play(jobset, [ended(jobs[0], "Complete"), *jobs[1:]], NOW)

    assert after(turn, jobset)["status"]["terminalState"] == "Completed"
    assert names(turn.deletes) == ["train-workers-0", "train-workers-1"]


def test_a_failed_job_fails_the_set_after_as_many_restarts_as_it_allows() -> None:
    jobset = job_set(failurePolicy={"maxRestarts": 1})
    failed = [ended(item, "Failed") for item in jobs_of(jobset)]
    again = after(play(jobset, failed, NOW), jobset)
    turn = play(again, failed, NOW)

    assert again["status"]["restarts"] == 1
    assert names(turn.deletes) == names(failed)
    second = [ended(item, "Failed") for item in jobs_of(again)]
    assert len(second) == 3
    assert after(play(again, second, NOW), again)["status"]["terminalState"] == "Failed"
