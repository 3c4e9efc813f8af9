"""The real controllers of jobs beside each other: what they admit, and what happens while one of them is away."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import psutil
import pytest
import yaml
from attached_pods import EXPECTED, documents_of, text_of
from driver import DEFINITIONS, PODS, Sandbox, certificate_data, until

from gpu_fabric.attach.attachment import Wishes, attach_text
from gpu_fabric.k8s.names import NETWORKS_ANNOTATION, QUEUE_LABEL
from gpu_fabric.plan import Plan
from gpu_fabric.prepare import prepare_stack
from sandbox.controllers.pid_files import pid_file
from sandbox.home import project_root
from sandbox.kubernetes_api import ApiError, Object, apply_object, object_path

pytestmark = pytest.mark.sandbox

STACK = "kueue"
RAILS = 16
KUEUE, DEPLOYMENTS = "kueue-system", "/apis/apps/v1/namespaces/{}/deployments"
WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads"
CLUSTER_QUEUES = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues"
MPI_JOBS = "/apis/kubeflow.org/v2beta1/namespaces/default/mpijobs"
POD_GROUPS = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups"
# Of the kinds whose controllers run here, and of Kubernetes' own that Kueue queues.
MANIFESTS = (
    *("job.yaml", "job.json", "jobset.yaml", "mpijob.yaml", "mpijob-launcher-works.yaml", "leaderworkerset.yaml"),
    *("deployment.yaml", "statefulset.yaml", "pod.yaml", "sidecar.yaml", "list.yaml", "several-documents.yaml"),
)


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """The stack with every scheduler, which the last test destroys."""
    sandbox = Sandbox(tmp_path_factory.mktemp("controllers"), STACK, ("--sandbox",))
    try:
        sandbox.up()
        assert "unchanged" in sandbox.up()
        for item in storage():
            apply_object(sandbox.api, item)
        yield sandbox
    finally:
        sandbox.run("down")


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
    return prepare_stack(STACK, project_root())


@pytest.fixture
def submitted(jobs: Sandbox) -> Iterator[list[Object]]:
    """Takes what a test has created; it is deleted afterwards, and what was made for it goes as well."""
    created: list[Object] = []
    yield created
    for item in created:
        path = object_path(jobs.api, item, "default")
        assert path is not None
        jobs.api.delete(f"{path}?propagationPolicy=Background")
    until(lambda: is_empty(jobs), "its pods and Workloads are gone", 180)


def definitions(sandbox: Sandbox) -> list[str]:
    return [item["metadata"]["name"] for item in sandbox.items(DEFINITIONS)]


def attached(name: str, plan: Plan) -> list[Object]:
    """The documents of an example with the fabric and the queue."""
    text = attach_text(text_of(name), plan.workload, Wishes()).text
    documents = [document for document in documents_of(text) if document]
    return [entry for document in documents for entry in document.get("items", [document])]


def create(sandbox: Sandbox, items: list[Object], submitted: list[Object]) -> None:
    for item in items:
        path = object_path(sandbox.api, item, "default")
        assert path is not None
        sandbox.api.post(f"{path.rpartition('/')[0]}?fieldValidation=Strict", item)
        submitted.append(item)


def taken(sandbox: Sandbox, item: Object, submitted: list[Object]) -> bool:
    """Whether the API server and all of its webhooks take an object now."""
    try:
        create(sandbox, [item], submitted)
    except ApiError:
        return False
    return True


def networks(pod: Object) -> list[Any]:
    said = (pod["metadata"].get("annotations") or {}).get(NETWORKS_ANNOTATION)
    return [] if said is None else list(json.loads(said))


def events(sandbox: Sandbox, item: Object) -> list[str]:
    """What was reported about an object."""
    found = sandbox.items("/api/v1/namespaces/default/events")
    return [event["message"] for event in found if event["involvedObject"].get("uid") == item["metadata"]["uid"]]


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


def controller_pod(sandbox: Sandbox, namespace: str) -> Object:
    return next(iter(sandbox.items(f"/api/v1/namespaces/{namespace}/pods")))


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
    (job,) = documents_of(attach_text(yaml.safe_dump(document), plan.workload, Wishes()).text)
    create(jobs, [job], submitted)
    until(lambda: admitted(jobs), "the launcher has a place in the topology")


def test_a_job_larger_than_the_queue_waits_with_the_reason(jobs: Sandbox, plan: Plan, submitted: list[Object]) -> None:
    (job,) = attached("mpijob.yaml", plan)
    job["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"] = 5
    create(jobs, [job], submitted)
    said = until(
        lambda: [text for item in jobs.items(WORKLOADS) if (text := condition(item, "QuotaReserved").get("message"))],
        "its queue says why",
    )
    assert "nvidia.com/gpu" in said[0]
    assert jobs.items(PODS) == []


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


def test_a_gang_of_volcanos_that_does_not_fit_gets_no_pod(jobs: Sandbox, plan: Plan, submitted: list[Object]) -> None:
    (job,) = attached("volcano-job.yaml", plan)
    job["spec"]["tasks"][1]["replicas"] = 5
    job["spec"]["minAvailable"] = 6
    create(jobs, [job], submitted)
    (group,) = until(lambda: jobs.items(POD_GROUPS), "it has a PodGroup")
    said = until(lambda: events(jobs, group), "its PodGroup's events say why")
    assert "nvidia.com/gpu" in said[0]
    assert jobs.items(PODS) == []


def test_volcanos_admission_refuses_a_job_whose_queue_does_not_exist(jobs: Sandbox, plan: Plan) -> None:
    (job,) = attached("volcano-job.yaml", plan)
    job["spec"]["queue"] = "missing"
    with pytest.raises(ApiError, match="unable to find job queue"):
        create(jobs, [job], [])


def test_a_controller_that_was_killed_is_missed_and_comes_back(jobs: Sandbox, submitted: list[Object]) -> None:
    name = controller_pod(jobs, KUEUE)["metadata"]["name"]
    pid = pid_file(jobs.home, name).pid()
    assert pid is not None
    psutil.Process(pid).kill()
    until(lambda: not ready(jobs, KUEUE), "its pod is not ready")
    with pytest.raises(ApiError, match="failed calling webhook"):
        jobs.api.post("/apis/batch/v1/namespaces/default/jobs", batch_job("early"))
    until(lambda: ready(jobs, KUEUE), "it is started again and ready")
    assert pid_file(jobs.home, name).pid() not in (None, pid)
    create(jobs, [batch_job("later", **{QUEUE_LABEL: "fabric"})], submitted)
    until(lambda: admitted(jobs), "it admits jobs")


def test_while_kueue_has_no_pod_other_installations_are_refused_and_the_cluster_says_by_whom(jobs: Sandbox) -> None:
    path = f"{DEPLOYMENTS.format(KUEUE)}/kueue-controller-manager"
    network_operator = jobs.items(DEPLOYMENTS.format("nvidia-network-operator"))[0]
    metadata = {"name": "another", "namespace": "nvidia-network-operator"}
    another = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": network_operator["spec"]}
    where = f"{DEPLOYMENTS.format('nvidia-network-operator')}?dryRun=All"
    jobs.api.post(where, another)
    jobs.api.patch(path, {"spec": {"replicas": 0}})
    try:
        until(lambda: not list(jobs.home.pids.glob("controller-kueue-*")), "its process has ended")
        with pytest.raises(ApiError, match=r'failed calling webhook "mdeployment\.kb\.io"'):
            jobs.api.post(where, another)
        with pytest.raises(ApiError, match=r'failed calling webhook "mjob\.kb\.io"'):
            jobs.api.post("/apis/batch/v1/namespaces/training/jobs", batch_job("hook", "training"))
    finally:
        jobs.api.patch(path, {"spec": {"replicas": 1}})
    until(lambda: ready(jobs, KUEUE), "it is back")
    jobs.api.post(where, another)


@pytest.mark.parametrize("state", ["lost", "expired"])
def test_a_certificate_that_is_lost_or_expired_is_made_again_and_trusted(
    jobs: Sandbox, submitted: list[Object], state: str
) -> None:
    path = f"/api/v1/namespaces/{KUEUE}/secrets/kueue-webhook-server-cert"
    data = None if state == "lost" else certificate_data("kueue-webhook-service", KUEUE, expired=True)
    known = {jobs.api.get(path)["data"]["ca.crt"], None if data is None else data["ca.crt"], None}
    jobs.api.patch(path, {"data": data})
    until(lambda: (jobs.api.get(path).get("data") or {}).get("ca.crt") not in known, "there is another one")
    until(lambda: taken(jobs, batch_job("after", **{QUEUE_LABEL: "fabric"}), submitted), "the API server trusts it")


def test_a_restarted_api_server_finds_all_webhooks_again(jobs: Sandbox, submitted: list[Object]) -> None:
    record = json.loads((jobs.home.pids / "kube-apiserver.json").read_text())
    psutil.Process(int(record["pid"])).kill()
    assert "starting kube-apiserver" in jobs.run("up", *jobs.options)
    # Its pod is called ready until somebody has looked.
    until(lambda: taken(jobs, batch_job("again", **{QUEUE_LABEL: "fabric"}), submitted), "the webhooks answer", 180)
    until(lambda: is_served(jobs, WORKLOADS), "the API server has read them")
    # It waits for the lease of the one that was ended with the old server.
    until(lambda: admitted(jobs), "Kueue admits jobs, and their pods run", 150)


def test_a_job_that_is_submitted_while_kueue_is_killed_is_admitted_once_it_is_back(
    jobs: Sandbox, submitted: list[Object]
) -> None:
    until(lambda: ready(jobs, KUEUE), "Kueue is ready")
    create(jobs, [batch_job("meanwhile", **{QUEUE_LABEL: "fabric"})], submitted)
    jobs.kill_controller("kueue")
    until(lambda: admitted(jobs), "it is admitted", 180)


def test_a_destroy_during_which_kueue_is_killed_leaves_nothing(jobs: Sandbox) -> None:
    until(lambda: ready(jobs, KUEUE), "Kueue is ready")
    running = jobs.start("pulumi", "destroy", *jobs.options)
    until(lambda: is_stopped(jobs), "the queue lets nothing in any more", 120)
    jobs.kill_controller("kueue")
    assert running.wait(timeout=240) == 0
    assert jobs.workspace.state(STACK) is None
    assert [name for name in definitions(jobs) if name.endswith(("kueue.x-k8s.io", "volcano.sh"))] == []
    assert list(jobs.home.pids.glob("controller-*")) == []
