"""JobSet, Kueue and Volcano on a cluster without a stack, each by its stand-in chart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from driver import PODS, Sandbox, until

from gpu_fabric.k8s.kueue import API_VERSION
from gpu_fabric.k8s.names import QUEUE_LABEL
from sandbox.kubernetes_api import Object, apply_object

pytestmark = pytest.mark.sandbox

GPU, ENDS = "nvidia.com/gpu", "sandbox.gpu-fabric/completes-after"
JOB_SETS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
WORKLOADS = f"/apis/{API_VERSION}/namespaces/default/workloads"
VOLCANO_JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs"


@pytest.fixture(scope="module")
def controllers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """A cluster with three nodes of eight GPUs, the controllers of jobs, and a queue for two of the nodes."""
    sandbox = Sandbox(tmp_path_factory.mktemp("controllers"), "dev", ("--sandbox",))
    try:
        sandbox.run("up", *sandbox.options)
        # Kueue looks for the kinds of jobs when it starts, and its webhooks stop what comes before it answers.
        for chart in ("jobset", "volcano", "kueue"):
            sandbox.install(chart)
        for item in queue():
            apply_object(sandbox.api, item)
        yield sandbox
    finally:
        sandbox.run("down")


def queue() -> list[Object]:
    """A queue that gives out sixteen GPUs."""
    quota = [{"name": GPU, "nominalQuota": "16"}]
    group = {"coveredResources": [GPU], "flavors": [{"name": "gpu-nodes", "resources": quota}]}
    specs: dict[str, tuple[str, Object]] = {
        "ResourceFlavor": ("gpu-nodes", {"nodeLabels": {"gpu-fabric/pool": "gpu"}}),
        "ClusterQueue": ("fabric", {"namespaceSelector": {}, "resourceGroups": [group]}),
        "LocalQueue": ("fabric", {"clusterQueue": "fabric"}),
    }
    place = {"LocalQueue": {"namespace": "default"}}
    return [
        {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name, **place.get(kind, {})}, "spec": spec}
        for kind, (name, spec) in specs.items()
    ]


def template(gpus: int) -> Object:
    """Pods with so many GPUs, which tolerate the nodes' taint."""
    container = {"name": "main", "image": "training", "resources": {"limits": {GPU: str(gpus)}}}
    tolerations = [{"operator": "Exists"}]
    return {"spec": {"restartPolicy": "Never", "tolerations": tolerations, "containers": [container]}}


def named(kind: str, version: str, name: str, spec: Object, **labels: str) -> Object:
    metadata = {"name": name, "namespace": "default", "labels": labels}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def phases(sandbox: Sandbox, prefix: str) -> list[str]:
    """The phases of the pods whose names begin so."""
    pods = [pod for pod in sandbox.items(PODS) if pod["metadata"]["name"].startswith(prefix)]
    return [pod["status"]["phase"] for pod in pods]


def conditions(item: Object) -> dict[str, Any]:
    return {entry["type"]: entry for entry in (item.get("status") or {}).get("conditions") or ()}


def quota_of(sandbox: Sandbox, job: str) -> Object:
    """What a job's Workload says of its quota; empty as long as it says nothing."""
    found = (item for item in sandbox.items(WORKLOADS) if item["metadata"]["name"].startswith(job))
    return next((conditions(item).get("QuotaReserved", {}) for item in found), {})


def test_a_set_of_jobs_runs_once_its_queue_admits_it_and_then_makes_room_for_the_next(controllers: Sandbox) -> None:
    api = controllers.api
    work = {"template": {"spec": {"parallelism": 2, "completions": 2, "template": template(8)}}}
    replicated = [{"name": "workers", "replicas": 1, **work}]
    spec = {"suspend": True, "replicatedJobs": replicated}
    api.post(JOB_SETS, named("JobSet", "jobset.x-k8s.io/v1alpha2", "first", spec, **{QUEUE_LABEL: "fabric"}))
    until(lambda: quota_of(controllers, "jobset-first").get("status") == "True", "the set is admitted")
    batch = {"suspend": True, "template": template(8)}
    api.post(JOBS, named("Job", "batch/v1", "second", batch, **{QUEUE_LABEL: "fabric"}))

    until(lambda: phases(controllers, "first-workers-0") == ["Running"] * 2, "both pods of the set run")
    pods = [pod for pod in controllers.items(PODS) if pod["metadata"]["name"].startswith("first-")]
    assert [pod["spec"]["nodeSelector"] for pod in pods] == [{"gpu-fabric/pool": "gpu"}] * 2
    waits = until(lambda: quota_of(controllers, "job-second"), "the other job's queue answers")
    assert waits["status"] == "False"
    assert "insufficient unused quota for nvidia.com/gpu in flavor gpu-nodes, 8 more needed" in waits["message"]
    for pod in pods:
        api.patch(f"{PODS}/{pod['metadata']['name']}", {"metadata": {"annotations": {ENDS: "0s"}}})
    until(lambda: "Completed" in conditions(api.get(f"{JOB_SETS}/first")), "the set is completed")
    until(lambda: phases(controllers, "second") == ["Running"], "the other job runs")
    for path in (f"{JOB_SETS}/first", f"{JOBS}/second"):
        api.delete(f"{path}?propagationPolicy=Background")
    until(lambda: not controllers.items(WORKLOADS), "the Workloads went with their jobs")


def test_a_gang_waits_for_the_nodes_of_another_and_then_starts_whole(controllers: Sandbox) -> None:
    api = controllers.api
    for name in ("early", "late"):
        tasks = [{"name": "worker", "replicas": 2, "template": template(8)}]
        spec = {"minAvailable": 2, "schedulerName": "volcano", "plugins": {"svc": []}, "tasks": tasks}
        api.post(VOLCANO_JOBS, named("Job", "batch.volcano.sh/v1alpha1", name, spec))
        until(lambda: (api.get(f"{VOLCANO_JOBS}/early").get("status") or {}).get("running") == 2, "the first one runs")

    until(lambda: api.get(f"{VOLCANO_JOBS}/late").get("status"), "the second one is seen")
    assert phases(controllers, "late") == []
    api.delete(f"{VOLCANO_JOBS}/early?propagationPolicy=Background")
    until(lambda: phases(controllers, "late") == ["Running"] * 2, "the second one runs")
    api.delete(f"{VOLCANO_JOBS}/late?propagationPolicy=Background")
    until(lambda: not phases(controllers, "late"), "its pods are gone")
