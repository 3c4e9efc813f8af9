"""The sandbox's Kueue: a job starts when its queue has everything that all its pods ask for, or says what lacks."""

from __future__ import annotations

import base64
import json
from types import SimpleNamespace
from typing import Any

import pytest
from job_objects import GPU, NOW, Object, after, gpu_node, job, made, mpi_job, names, owned_pod, template, with_uid

from gpu_fabric.k8s.names import PREFERRED_TOPOLOGY, QUEUE_LABEL
from sandbox.hardware.admission import Admission
from sandbox.hardware.jobs.kueue import Admissions, Queues, play
from sandbox.hardware.jobs.kueue_jobs import is_suspended, suspended, workload_of
from sandbox.hardware.jobs.kueue_quota import REQUIRED_TOPOLOGY
from sandbox.hardware.jobs.kueue_webhook import queued
from sandbox.hardware.jobs.room import Room
from sandbox.hardware.jobs.turns import Turn

VERSION = "kueue.x-k8s.io/v1beta2"
BLOCK, HOST = "oci.oraclecloud.com/rdma.local_block_id", "kubernetes.io/hostname"
NODES = [gpu_node(f"gpu-{n}", labels={BLOCK: f"block-{n // 2}", HOST: f"gpu-{n}"}) for n in range(4)]


def queues(gpus: int = 16, flavor: Object | None = None, **spec: Any) -> Queues:
    """A queue with a quota of GPUs and as many processors as anybody wants, in the namespace `default`."""
    quota = [{"name": GPU, "nominalQuota": str(gpus)}, {"name": "cpu", "nominalQuota": "10M"}]
    group = {"coveredResources": [GPU, "cpu"], "flavors": [{"name": "gpu-nodes", "resources": quota}]}
    cluster = {"namespaceSelector": {}, "resourceGroups": [group], **spec}
    levels = [{"nodeLabel": BLOCK}, {"nodeLabel": HOST}]
    return Queues(
        local={"default/fabric": job("LocalQueue", VERSION, {"clusterQueue": "fabric"}, "fabric")},
        cluster={"fabric": job("ClusterQueue", VERSION, cluster, "fabric-of-all")},
        flavors={"gpu-nodes": job("ResourceFlavor", VERSION, flavor or {}, "gpu-nodes")},
        topologies={"rdma": job("Topology", VERSION, {"levels": levels}, "rdma")},
        namespaces={"default": {"metadata": {"name": "default", "labels": {}}}},
    )


def waiting(workers: int = 2, name: str = "train", annotations: dict[str, str] | None = None) -> Object:
    """An MPIJob in the queue, as the webhook leaves it."""
    made_job = mpi_job(workers)
    made_job["metadata"] |= {"name": name, "uid": f"uid-of-{name}", "labels": {QUEUE_LABEL: "fabric"}}
    if annotations:
        made_job["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["metadata"] = {"annotations": annotations}
    return suspended(made_job)


def asked(jobs: list[Object], known: Queues, workloads: list[Object] | None = None) -> tuple[Turn, list[Object]]:
    """Kueue's second look at jobs, and their Workloads after it."""
    found = workloads or [with_uid(workload_of(item, "fabric")) for item in jobs]
    turn = play(Admissions(jobs, found), known, Room(NODES, ()), NOW)
    return turn, [after(turn, item) for item in found]


def said(workload: Object) -> tuple[str, str]:
    """What a Workload says of its quota: the status and the message."""
    conditions = {entry["type"]: entry for entry in workload["status"]["conditions"]}
    return conditions["QuotaReserved"]["status"], conditions["QuotaReserved"]["message"]


def test_a_job_that_names_a_queue_gets_a_workload_with_all_its_pods() -> None:
    turn = play(Admissions([waiting()], []), queues(), Room(NODES, ()), NOW)
    workload = made(turn, "Workload")[0]

    assert workload["spec"]["queueName"] == "fabric"
    assert [(entry["name"], entry["count"]) for entry in workload["spec"]["podSets"]] == [
        ("launcher", 1),
        ("worker", 2),
    ]
    assert workload["metadata"]["name"].startswith("mpijob-train-")


def test_a_job_within_the_quota_is_admitted_and_let_go() -> None:
    known, waits = queues(), waiting()
    _, found = asked([waits], known)
    turn, _ = asked([waits], known, found)

    assert said(found[0])[0] == "True"
    worker = found[0]["status"]["admission"]["podSetAssignments"][1]
    assert (worker["flavors"], worker["resourceUsage"]) == ({GPU: "gpu-nodes"}, {GPU: "16"})
    assert turn.patches[0][1]["spec"]["runPolicy"] == {"suspend": False}


def test_a_job_larger_than_the_quota_waits_and_says_which_resource_lacks() -> None:
    _, found = asked([waiting(workers=3)], queues())

    status, message = said(found[0])
    assert status == "False"
    assert message.startswith("couldn't assign flavors to pod set worker: insufficient quota for nvidia.com/gpu")


def test_a_second_job_waits_until_the_first_is_over() -> None:
    known, first, second = queues(), waiting(), waiting(name="later")
    _, found = asked([first, second], known)
    assert [said(item)[0] for item in found] == ["True", "False"]
    assert said(found[1])[1].endswith(
        "insufficient unused quota for nvidia.com/gpu in flavor gpu-nodes, 16 more needed"
    )

    over = {**first, "status": {"conditions": [{"type": "Succeeded", "status": "True"}]}}
    _, found = asked([over, second], known, found)
    _, found = asked([over, second], known, found)
    assert said(found[1])[0] == "True"


def test_a_resource_that_the_queue_does_not_cover_is_never_given_out() -> None:
    waits = waiting()
    container = waits["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    container["resources"]["limits"]["nvidia.com/rail_00"] = "2"
    _, found = asked([waits], queues())

    expected = "couldn't assign flavors to pod set worker: resource nvidia.com/rail_00 unavailable in ClusterQueue"
    assert said(found[0]) == ("False", expected)


def test_pods_get_the_labels_and_tolerations_of_their_flavor() -> None:
    toleration = {"key": GPU, "operator": "Exists", "effect": "NoSchedule"}
    known = queues(flavor={"nodeLabels": {"pool": "gpu"}, "tolerations": [toleration]})
    waits = waiting()
    _, found = asked([waits], known)
    turn, _ = asked([waits], known, found)

    roles = turn.patches[0][1]["spec"]["mpiReplicaSpecs"]
    assert {role: entry["template"]["spec"] for role, entry in roles.items()} == {
        role: {"nodeSelector": {"pool": "gpu"}, "tolerations": [toleration]} for role in ("Launcher", "Worker")
    }


def test_a_job_that_must_stay_in_a_block_goes_to_one_that_has_room_for_it() -> None:
    known, waits = queues(flavor={"topologyName": "rdma"}), waiting(annotations={REQUIRED_TOPOLOGY: BLOCK})
    _, found = asked([waits], known)
    turn, _ = asked([waits], known, found)

    assert turn.patches[0][1]["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["nodeSelector"] == {
        BLOCK: "block-0"
    }


def test_a_job_too_large_for_any_block_waits_only_if_it_must_stay_in_one() -> None:
    known = queues(gpus=64, flavor={"topologyName": "rdma"})
    _, must = asked([waiting(3, annotations={REQUIRED_TOPOLOGY: BLOCK})], known)
    _, rather = asked([waiting(3, annotations={PREFERRED_TOPOLOGY: BLOCK})], known)

    assert said(must[0]) == ("False", 'topology "rdma" allows to fit only 2 out of 3 pod(s)')
    assert said(rather[0])[0] == "True"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"local": {}}, "LocalQueue fabric doesn't exist"),
        ({"cluster": {}}, "ClusterQueue fabric doesn't exist"),
        ({"flavors": {}}, "ClusterQueue fabric is inactive"),
        ({"cluster": queues(namespaceSelector=None).cluster}, "Workload namespace doesn't match ClusterQueue selector"),
    ],
)
def test_a_queue_that_cannot_admit_says_why(change: dict[str, Any], message: str) -> None:
    _, found = asked([waiting()], queues()._replace(**change))

    assert said(found[0]) == ("False", message)


def test_queues_say_whether_they_are_active_and_how_many_jobs_wait() -> None:
    known = queues()
    turn, _ = asked([waiting(), waiting(name="later")], known)
    status = after(turn, known.cluster["fabric"])["status"]

    assert status["conditions"][0]["status"] == "True"
    assert (status["pendingWorkloads"], status["admittedWorkloads"]) == (1, 1)
    lacking = known._replace(flavors={})
    turn = play(Admissions([], []), lacking, Room(NODES, ()), NOW)
    assert after(turn, lacking.cluster["fabric"])["status"]["conditions"][0]["reason"] == "FlavorNotFound"


def test_a_job_that_was_let_go_past_the_queue_is_suspended_again() -> None:
    runs = waiting()
    runs["spec"]["runPolicy"]["suspend"] = False
    turn = play(Admissions([runs], []), queues(), Room(NODES, ()), NOW)

    assert turn.patches[0][1]["spec"]["runPolicy"]["suspend"] is True


def test_a_queue_that_is_drained_stops_its_jobs_and_lets_them_in_again_afterwards() -> None:
    _, found = asked([waiting()], queues())
    runs = waiting()
    runs["spec"]["runPolicy"]["suspend"] = False

    turn, drained = asked([runs], queues(stopPolicy="HoldAndDrain"), found)
    assert turn.patches[0][1]["spec"]["runPolicy"]["suspend"] is True
    assert said(drained[0])[0] == "False"
    assert "admission" not in drained[0]["status"]
    (queue,) = (status for item, status in turn.statuses if item["kind"] == "ClusterQueue")
    assert (queue["reservingWorkloads"], queue["pendingWorkloads"]) == (0, 1)

    _, again = asked([suspended(runs)], queues(), drained)
    assert said(again[0])[0] == "True"
    assert {entry["type"]: entry["status"] for entry in again[0]["status"]["conditions"]}["Evicted"] == "False"


def test_the_webhook_suspends_only_what_names_a_queue_and_belongs_to_nobody() -> None:
    plain = mpi_job()
    asks = {**plain, "metadata": {**plain["metadata"], "labels": {QUEUE_LABEL: "fabric"}}}
    child = owned_pod(plain, "train-worker-0", **{QUEUE_LABEL: "fabric"})

    assert not is_suspended(queued(plain, "default", {}))
    assert is_suspended(queued(asks, "default", {}))
    assert queued(child, "default", {}) == child
    assert queued(plain, "default", {"default/default": {}})["metadata"]["labels"] == {QUEUE_LABEL: "default"}


def test_the_api_server_gets_the_suspension_as_a_patch() -> None:
    views: Any = SimpleNamespace(known=lambda: True, local_queues=SimpleNamespace(objects=dict))
    asks = mpi_job(run_policy={"cleanPodPolicy": "Running"})
    asks["metadata"]["labels"] = {QUEUE_LABEL: "fabric"}
    request = {"uid": "u", "operation": "CREATE", "object": asks, "namespace": "default"}

    answer = Admission(views).answer("/kueue/mutate", {"request": request})["response"]

    patch = json.loads(base64.b64decode(answer["patch"]))
    assert patch == [{"op": "add", "path": "/spec/runPolicy/suspend", "value": True}]


def test_a_single_pod_waits_behind_a_gate_that_admission_opens() -> None:
    pod = job("Pod", "v1", template()["spec"], labels={QUEUE_LABEL: "fabric"})
    gated = queued(pod, "default", {})
    known = queues()
    _, found = asked([gated], known)
    turn, _ = asked([gated], known, found)

    assert gated["spec"]["schedulingGates"] == [{"name": "kueue.x-k8s.io/admission"}]
    assert turn.patches[0][1] == {"spec": {"schedulingGates": []}}


@pytest.mark.parametrize(("parallelism", "count"), [(2, 2), (9, 4)])
def test_a_kubernetes_job_counts_the_pods_that_run_at_a_time(parallelism: int, count: int) -> None:
    spec = {"parallelism": parallelism, "completions": 4, "template": template()}
    workload = workload_of(job("Job", "batch/v1", spec, labels={QUEUE_LABEL: "fabric"}), "fabric")

    assert workload["spec"]["podSets"][0]["count"] == count


def test_a_finished_job_marks_its_workload_finished() -> None:
    known, waits = queues(), waiting()
    _, found = asked([waits], known)
    over = {**waits, "status": {"conditions": [{"type": "Succeeded", "status": "True"}]}}
    _, found = asked([over], known, found)

    assert [entry["type"] for entry in found[0]["status"]["conditions"]] == ["QuotaReserved", "Admitted", "Finished"]
    assert names(found)
