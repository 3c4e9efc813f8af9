"""The real controllers of jobs beside each other: what they admit, and what happens while one of them is away."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import psutil
import pytest
import yaml
from attached_pods import EXPECTED, documents_of, text_of
from driver import DEFINITIONS, PODS, Sandbox, until
from stack_plans import stack_plan

from gpu_fabric.attach.attachment import AttachOptions
from gpu_fabric.attach.text.manifests import attach_text
from gpu_fabric.k8s.names import NETWORKS_ANNOTATION, QUEUE_LABEL
from gpu_fabric.plan import Plan
from sandbox.home import project_root
from sandbox.kubernetes_api import ApiError, Object, apply_object, object_path

STACK = "kueue"
RAILS = 16
KUEUE = "kueue-system"
WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads"
CLUSTER_QUEUES = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues"
POD_GROUPS = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups"
# Seconds; the API server gives a webhook ten.
_LATE = 6
# Of the kinds whose controllers run here, and of Kubernetes' own that Kueue queues.
MANIFESTS = (
    *("job.yaml", "job.json", "jobset.yaml", "mpijob.yaml", "mpijob-launcher-works.yaml", "leaderworkerset.yaml"),
    *("deployment.yaml", "statefulset.yaml", "pod.yaml", "sidecar.yaml", "list.yaml", "several-documents.yaml"),
)


@pytest.fixture(scope="module")
def jobs(cluster: Sandbox) -> Sandbox:
    """The stack with every scheduler, which the last test destroys."""
    sandbox = cluster.trying(STACK)
    sandbox.up()
    assert "unchanged" in sandbox.up()
    for item in storage():
        apply_object(sandbox.api, item)
    return sandbox


def storage() -> Iterator[Object]:
    """Volumes for the claims of the examples, and the claim that one of them expects."""
    spec = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "10Ti"}, "hostPath": {"path": "/srv"}}
    for number in range(4):
        name = f"volume-{number}"
        yield {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec}
    asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    yield {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "weights"}, "spec": asked}


@pytest.fixture(scope="module")
def plan() -> Plan:
    return stack_plan(STACK, project_root())


@pytest.fixture
def submitted(jobs: Sandbox) -> Iterator[list[Object]]:
    """Takes what a test has created; it is deleted afterwards, and what was made for it goes as well."""
    created: list[Object] = []
    yield created
    for item in created:
        path = object_path(jobs.api, item, "default")
        assert path is not None
        jobs.api.delete(f"{path}?propagationPolicy=Background")
    until(lambda: is_empty(jobs), "its pods and Workloads are gone")


def definitions(sandbox: Sandbox) -> list[str]:
    return [item["metadata"]["name"] for item in sandbox.items(DEFINITIONS)]


def attached(name: str, plan: Plan) -> list[Object]:
    """The documents of an example with the fabric and the queue."""
    text = attach_text(text_of(name), plan.workload, AttachOptions()).text
    documents = [document for document in documents_of(text) if document]
    return [entry for document in documents for entry in document.get("items", [document])]


def create(sandbox: Sandbox, items: list[Object], submitted: list[Object]) -> None:
    for item in items:
        path = object_path(sandbox.api, item, "default")
        assert path is not None
        sandbox.api.post(f"{path.rpartition('/')[0]}?fieldValidation=Strict", item)
        submitted.append(item)


def networks(pod: Object) -> list[Any]:
    said = (pod["metadata"].get("annotations") or {}).get(NETWORKS_ANNOTATION)
    return [] if said is None else list(json.loads(said))


def is_served(sandbox: Sandbox, path: str) -> bool:
    """Whether the API server lists a kind; one that has just started may still be reading its objects."""
    try:
        sandbox.items(path)
    except ApiError:
        return False
    return True


def is_empty(sandbox: Sandbox) -> bool:
    """Whether there are neither pods nor Workloads.

    The API server reads Workloads anew when Kueue's webhook, which converts them, was away.
    """
    return is_served(sandbox, WORKLOADS) and sandbox.items(PODS) == [] and sandbox.items(WORKLOADS) == []


def condition(item: Object, kind: str) -> Object:
    conditions = (item.get("status") or {}).get("conditions") or ()
    return next((entry for entry in conditions if entry["type"] == kind), {})


def admitted(sandbox: Sandbox) -> bool:
    """Whether there are Workloads, and Kueue has seen the pods of each become ready."""
    workloads = sandbox.items(WORKLOADS)
    return bool(workloads) and all(condition(item, "PodsReady").get("status") == "True" for item in workloads)


def is_stopped(sandbox: Sandbox) -> bool:
    """Whether every queue is stopped, or deleted already."""
    return all(item["spec"].get("stopPolicy") == "HoldAndDrain" for item in sandbox.items(CLUSTER_QUEUES))


def running(sandbox: Sandbox) -> list[Object]:
    """The pods, as soon as there are any and all of them run."""
    pods = sandbox.items(PODS)
    return pods if all(pod["status"].get("phase") == "Running" for pod in pods) else []


def ready(sandbox: Sandbox, namespace: str) -> bool:
    pods = sandbox.items(f"/api/v1/namespaces/{namespace}/pods")
    return bool(pods) and all(condition(pod, "Ready").get("status") == "True" for pod in pods)


def batch_job(name: str, namespace: str = "default", **labels: str) -> Object:
    container = {"name": "main", "image": "any", "resources": {"requests": {"cpu": "100m"}}}
    pod = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": pod}}


@pytest.mark.parametrize("name", MANIFESTS)
def test_an_attached_example_is_admitted_and_its_pods_have_all_rails(
    jobs: Sandbox, plan: Plan, submitted: list[Object], name: str
) -> None:
    create(jobs, attached(name, plan), submitted)
    until(lambda: admitted(jobs), "its queue has let it in and its pods are ready")
    pods = until(lambda: running(jobs), "all of its pods run")
    wanted = [pod for pod in pods if networks(pod)]
    assert len(wanted) >= len(EXPECTED[name].attached)
    assert {len(networks(pod)) for pod in wanted} == {RAILS}
    assert len({pod["spec"]["nodeName"] for pod in wanted}) == len(wanted)


def test_an_mpi_job_whose_ports_name_no_protocol_starts(jobs: Sandbox, plan: Plan, submitted: list[Object]) -> None:
    (job,) = attached("mpijob.yaml", plan)
    for replica in job["spec"]["mpiReplicaSpecs"].values():
        replica["template"]["spec"]["containers"][0]["ports"] = [{"containerPort": 22}]
    create(jobs, [job], submitted)
    until(lambda: admitted(jobs), "Kueue finds the job's pods equal to its Workload's")
    events = jobs.items("/api/v1/namespaces/default/events")
    assert [event["message"] for event in events if "deleted" in event["message"].lower()] == []


def test_a_launcher_that_asks_for_nothing_is_let_in_by_a_queue_with_a_topology(
    jobs: Sandbox, plan: Plan, submitted: list[Object]
) -> None:
    document = next(iter(yaml.safe_load_all(text_of("mpijob.yaml"))))
    launcher = document["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
    launcher.pop("resources", None)
    (job,) = documents_of(attach_text(yaml.safe_dump(document), plan.workload, AttachOptions()).text)
    create(jobs, [job], submitted)
    until(lambda: admitted(jobs), "the launcher has a place in the topology")


def test_volcano_starts_all_pods_of_an_attached_job_and_each_worker_has_all_rails(
    jobs: Sandbox, plan: Plan, submitted: list[Object]
) -> None:
    create(jobs, attached("volcano-job.yaml", plan), submitted)
    pods = until(lambda: running(jobs), "all of its pods run")
    assert {pod["spec"]["schedulerName"] for pod in pods} == {"volcano"}
    workers = [pod for pod in pods if networks(pod)]
    assert [len(networks(pod)) for pod in workers] == [RAILS] * 2
    assert len({pod["spec"]["nodeName"] for pod in workers}) == 2
    (group,) = until(lambda: [item for item in jobs.items(POD_GROUPS) if item["status"]["phase"] == "Running"], "runs")
    assert (group["spec"]["minMember"], group["spec"]["queue"]) == (3, "default")


def test_a_job_that_is_submitted_while_kueue_is_killed_is_admitted_once_it_is_back(
    jobs: Sandbox, submitted: list[Object]
) -> None:
    until(lambda: ready(jobs, KUEUE), "Kueue is ready")
    create(jobs, [batch_job("meanwhile", **{QUEUE_LABEL: "fabric"})], submitted)
    jobs.kill_controller("kueue")
    until(lambda: admitted(jobs), "it is admitted")


def test_an_admission_of_volcanos_that_starts_late_is_waited_for(trying: Callable[[str], Sandbox]) -> None:
    sandbox = trying("dev")
    sandbox.run("up", *sandbox.options)

    def hold() -> None:
        files = until(lambda: list(sandbox.home.pids.glob("controller-volcano-admission-*")), "it is started")
        process = psutil.Process(int(json.loads(files[0].read_text())["pid"]))
        process.suspend()
        time.sleep(_LATE)
        process.resume()

    holding = threading.Thread(target=hold)
    holding.start()
    sandbox.up_with(software={"schedulers": {"volcano": {"queue": "training"}}})
    holding.join()

    queue = sandbox.api.get("/apis/scheduling.volcano.sh/v1beta1/queues/training")
    assert (queue["spec"]["parent"], queue["status"]["state"]) == ("root", "Open")


@pytest.mark.parametrize("policy", ["Never", "OnFailure"])
def test_a_job_whose_program_fails_ends_at_its_limit(trying: Callable[[str], Sandbox], policy: str) -> None:
    sandbox = trying("dev")
    sandbox.run("up", *sandbox.options)
    job = batch_job("fails")
    # Spiderpool's program, as a process: without its variables it ends at once with status 1.
    template = job["spec"]["template"]
    template["metadata"] = {"labels": {"sandbox.gpu-fabric/operand": "spiderpool-clean"}}
    template["spec"] |= {"restartPolicy": policy}
    job["spec"]["backoffLimit"] = 1
    sandbox.api.post("/apis/batch/v1/namespaces/default/jobs", job)
    path = "/apis/batch/v1/namespaces/default/jobs/fails"
    pods = f"{PODS}?labelSelector=batch.kubernetes.io/job-name=fails"
    try:
        failed = until(lambda: condition(sandbox.api.get(path), "Failed"), "the Job has failed")
        assert failed["reason"] == "BackoffLimitExceeded"
        ended = [
            (pod["status"]["phase"], pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"])
            for pod in sandbox.items(pods)
        ]
        # A pod for the first try and one for the second; or one, whose restart is the last, and which is then deleted.
        assert ended == {"Never": [("Failed", 1)] * 2, "OnFailure": []}[policy]
    finally:
        sandbox.api.delete(f"{path}?propagationPolicy=Foreground")
        until(lambda: sandbox.items(pods) == [], "its pods are gone")


def test_a_destroy_during_which_kueue_is_killed_leaves_nothing(jobs: Sandbox) -> None:
    until(lambda: ready(jobs, KUEUE), "Kueue is ready")
    running = jobs.start("pulumi", "destroy", *jobs.options)
    until(lambda: is_stopped(jobs), "the queue lets nothing in any more")
    jobs.kill_controller("kueue")
    assert running.wait() == 0
    assert jobs.workspace.state(STACK) is None
    assert [name for name in definitions(jobs) if name.endswith(("kueue.x-k8s.io", "volcano.sh"))] == []
    assert list(jobs.home.pids.glob("controller-*")) == []
