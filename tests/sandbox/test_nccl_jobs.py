"""The guide's NCCL test, written by this program from a stack's outputs: who starts it, where its pods come to lie."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
import yaml
from cloud_driver import CloudSandbox
from driver import PODS, until

from gpu_fabric.k8s.names import NETWORKS_ANNOTATION
from sandbox.home import project_root
from sandbox.kubernetes_api import Object

pytestmark = pytest.mark.sandbox

NAME, GPU = "nccl-all-reduce", "nvidia.com/gpu"
NODES = 4
VOLCANO_JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs"
POD_GROUPS = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups"
MPI_JOBS = "/apis/kubeflow.org/v2beta1/namespaces/default/mpijobs"
LAUNCHERS = "/apis/batch/v1/namespaces/default/jobs"
WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads"
COMPLETES = {"metadata": {"annotations": {"sandbox.gpu-fabric/completes-after": "0s"}}}


def brought_up(tmp_path_factory: pytest.TempPathFactory, stack: str) -> Iterator[CloudSandbox]:
    """A stack of Oracle's with its schedulers, for the tests of this module."""
    sandbox = CloudSandbox(tmp_path_factory.mktemp("jobs"), stack, "oci")
    try:
        sandbox.up()
        yield sandbox
    finally:
        sandbox.clean_up()


@pytest.fixture(scope="module")
def h100(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CloudSandbox]:
    yield from brought_up(tmp_path_factory, "oke-h100")


@pytest.fixture(scope="module")
def h200(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CloudSandbox]:
    yield from brought_up(tmp_path_factory, "oke-h200")


@pytest.fixture
def submit() -> Iterator[Callable[[CloudSandbox, str, Object], None]]:
    """Creates jobs; afterwards they are deleted, and nothing is left of what was made for them."""
    made: list[tuple[CloudSandbox, str, set[str]]] = []

    def create(sandbox: CloudSandbox, collection: str, job: Object) -> None:
        made.append((sandbox, collection, everything(sandbox)))
        sandbox.api.post(collection, job)

    yield create
    for sandbox, collection, before in made:
        sandbox.api.delete(f"{collection}/{NAME}?propagationPolicy=Background")
        until(partial(_is_as, sandbox, before), "nothing is left of the job")


def _is_as(sandbox: CloudSandbox, before: set[str]) -> bool:
    return everything(sandbox) == before


def everything(sandbox: CloudSandbox) -> set[str]:
    """Whatever a job may leave in its namespace."""
    kinds = [f"/api/v1/namespaces/default/{kind}" for kind in ("pods", "services", "configmaps", "secrets")]
    kinds += ["/apis/networking.k8s.io/v1/namespaces/default/networkpolicies", POD_GROUPS, LAUNCHERS, WORKLOADS]
    return {f"{path}/{item['metadata']['name']}" for path in kinds for item in sandbox.items(path)}


def written(sandbox: CloudSandbox, scheduler: str) -> Object:
    """What `gpu-fabric job nccl-test` prints for the stack's outputs."""
    options = ["--image", "nccl-tests", "--contract", "-", "--scheduler", scheduler]
    command = [sys.executable, "-m", "gpu_fabric", "job", "nccl-test", *options]
    outputs = json.dumps(sandbox.outputs())
    result = subprocess.run(command, cwd=project_root(), input=outputs, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    job: Object = yaml.safe_load(result.stdout)
    return job


def pods_of(sandbox: CloudSandbox, role: str) -> list[Object]:
    """The job's pods whose name has the role in it."""
    return [pod for pod in sandbox.items(PODS) if pod["metadata"]["name"].startswith(f"{NAME}-{role}")]


def run(pods: list[Object], count: int) -> bool:
    """Whether there are so many pods, and all of them run."""
    return [pod["status"].get("phase") for pod in pods] == ["Running"] * count


def assert_the_fabric_is_attached(sandbox: CloudSandbox, workers: list[Object], attachments: int) -> None:
    """Every worker has a node of its own, an attachment for each virtual function, and all devices of the contract."""
    contract: dict[str, Any] = sandbox.outputs()["fabric"]
    devices = {name: amount for name, amount in contract["resources"].items() if "/" in name}
    assert sum(int(amount) for name, amount in devices.items() if name != GPU) == attachments
    assert len({pod["spec"]["nodeName"] for pod in workers}) == NODES
    for pod in workers:
        assert len(json.loads(pod["metadata"]["annotations"][NETWORKS_ANNOTATION])) == attachments
        limits = pod["spec"]["containers"][0]["resources"]["limits"]
        assert {name: amount for name, amount in limits.items() if "/" in name} == devices


def events(sandbox: CloudSandbox, item: Object) -> list[Object]:
    """What was reported about an object."""
    found = sandbox.items("/api/v1/namespaces/default/events")
    return [event for event in found if event["involvedObject"].get("uid") == item["metadata"]["uid"]]


def volcano_phase(sandbox: CloudSandbox) -> str:
    state = (sandbox.api.get(f"{VOLCANO_JOBS}/{NAME}").get("status") or {}).get("state") or {}
    return str(state.get("phase"))


def condition(sandbox: CloudSandbox, path: str, kind: str) -> Object:
    """A condition of an object; empty without it."""
    conditions = (sandbox.api.get(path).get("status") or {}).get("conditions") or ()
    return next((entry for entry in conditions if entry["type"] == kind), {})


def test_the_guides_job_is_admitted_whole_with_sixteen_attachments_a_worker(
    h100: CloudSandbox, submit: Callable[..., None]
) -> None:
    submit(h100, VOLCANO_JOBS, written(h100, "volcano"))
    until(lambda: volcano_phase(h100) == "Running", "the job runs")

    workers = pods_of(h100, "mpiworker")
    assert run(workers, NODES)
    assert run(pods_of(h100, "mpimaster"), 1)
    assert_the_fabric_is_attached(h100, workers, attachments=16)
    assert {pod["spec"]["schedulerName"] for pod in workers} == {"volcano"}
    hosts = h100.api.get(f"/api/v1/namespaces/default/configmaps/{NAME}-svc")["data"]["mpiworker.host"]
    assert hosts.split() == [f"{pod['spec']['hostname']}.{pod['spec']['subdomain']}" for pod in workers]


def test_the_job_is_complete_when_its_launcher_is_and_its_nodes_are_free(
    h100: CloudSandbox, submit: Callable[..., None]
) -> None:
    submit(h100, VOLCANO_JOBS, written(h100, "volcano"))
    until(lambda: volcano_phase(h100) == "Running", "the job runs")
    h100.api.patch(f"{PODS}/{NAME}-mpimaster-0", COMPLETES)

    until(lambda: volcano_phase(h100) == "Completed", "the job is complete")
    assert pods_of(h100, "mpiworker") == []


def test_a_gang_for_more_nodes_than_there_are_gets_no_pod_at_all(
    h100: CloudSandbox, submit: Callable[..., None]
) -> None:
    job = written(h100, "volcano")
    job["spec"]["minAvailable"] += 1
    worker = job["spec"]["tasks"][1]
    worker["replicas"] = worker["minAvailable"] = NODES + 1
    submit(h100, VOLCANO_JOBS, job)

    group = until(
        lambda: [item for item in h100.items(POD_GROUPS) if item.get("status")], "its PodGroup says how it is"
    )
    said = until(lambda: [event["message"] for event in events(h100, group[0])], "its events say why")
    assert group[0]["status"]["phase"] == "Pending"
    assert GPU in said[0]
    assert pods_of(h100, "mpi") == []
    assert volcano_phase(h100) == "Pending"


def test_kueue_admits_an_mpi_job_with_eight_attachments_a_worker(
    h200: CloudSandbox, submit: Callable[..., None]
) -> None:
    submit(h200, MPI_JOBS, written(h200, "mpi-operator"))
    until(lambda: condition(h200, f"{MPI_JOBS}/{NAME}", "Running").get("status") == "True", "the job runs")

    workload = h200.items(WORKLOADS)[0]
    assert workload["status"]["admission"]["podSetAssignments"][1]["resourceUsage"][GPU] == "32"
    workers = pods_of(h200, "worker")
    assert run(workers, NODES)
    assert run(pods_of(h200, "launcher"), 1)
    assert_the_fabric_is_attached(h200, workers, attachments=8)


def test_an_mpi_job_is_over_when_its_launcher_is_and_gives_its_quota_back(
    h200: CloudSandbox, submit: Callable[..., None]
) -> None:
    submit(h200, MPI_JOBS, written(h200, "mpi-operator"))
    until(lambda: condition(h200, f"{MPI_JOBS}/{NAME}", "Running").get("status") == "True", "the job runs")
    h200.api.patch(f"{PODS}/{pods_of(h200, 'launcher')[0]['metadata']['name']}", COMPLETES)

    until(lambda: condition(h200, f"{MPI_JOBS}/{NAME}", "Succeeded").get("status") == "True", "the job has succeeded")
    workload = h200.items(WORKLOADS)[0]["metadata"]["name"]
    until(lambda: condition(h200, f"{WORKLOADS}/{workload}", "Finished").get("status") == "True", "its quota is free")
    until(lambda: pods_of(h200, "worker") == [], "its workers are gone")


def test_kueue_holds_back_an_mpi_job_that_is_larger_than_the_queue(
    h200: CloudSandbox, submit: Callable[..., None]
) -> None:
    job = written(h200, "mpi-operator")
    job["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"] = NODES + 1
    submit(h200, MPI_JOBS, job)
    waiting = until(lambda: h200.items(WORKLOADS), "it waits in its queue")[0]["metadata"]["name"]

    said = until(lambda: condition(h200, f"{WORKLOADS}/{waiting}", "QuotaReserved"), "its queue says why")
    assert said["status"] == "False"
    assert "pod set worker" in said["message"]
    assert f"insufficient quota for {GPU}" in said["message"]
    assert h200.api.get(f"{MPI_JOBS}/{NAME}")["spec"]["runPolicy"]["suspend"] is True
    assert h200.items(PODS) == []
