"""Which pods and containers get the fabric: those that ask for GPUs, those that are named, and never a guess."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from attached_pods import NETWORKS, at, contract_of, documents_of, text_of
from each_case import each

from gpu_fabric.attach.attachment import AttachOptions, attach, detach
from gpu_fabric.attach.choice import MANAGER
from gpu_fabric.attach.place import AttachError
from gpu_fabric.findings import Finding

GPUS = {"resources": {"limits": {"nvidia.com/gpu": 8}}}
DEV = contract_of("dev")


def one(name: str) -> Any:
    """The one document of a committed manifest."""
    (document,) = documents_of(text_of(name))
    return document


def deployment(*containers: dict[str, Any]) -> Any:
    template = {"spec": {"containers": [{"image": "registry.example/a:1", **entry} for entry in containers]}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": {"template": template}}


def replicated(**jobs: dict[str, Any]) -> list[Any]:
    return [
        {"name": name, "template": {"spec": {"template": {"spec": {"containers": [{"name": name, **container}]}}}}}
        for name, container in jobs.items()
    ]


def job_set(**jobs: dict[str, Any]) -> Any:
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "spec": {"replicatedJobs": replicated(**jobs)}}


def mpi_runtime(*, as_node: bool, node: dict[str, Any]) -> Any:
    spec = {
        "mlPolicy": {"mpi": {"runLauncherAsNode": as_node}},
        "template": {"spec": {"replicatedJobs": replicated(launcher={}, node=node)}},
    }
    return {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "ClusterTrainingRuntime", "spec": spec}


def mpi_job(launcher: dict[str, Any]) -> Any:
    job = one("mpijob.yaml")
    at(job, "spec.mpiReplicaSpecs.Launcher.template.spec.containers.0").update({"name": "launches", **launcher})
    return job


def ray_cron_job(**job: Any) -> Any:
    return {"apiVersion": "ray.io/v1", "kind": "RayCronJob", "spec": {"schedule": "0 2 * * *", "jobTemplate": job}}


def ray(*groups: str) -> Any:
    template = {"spec": {"containers": [{"name": "ray", **GPUS}]}}
    return {"rayClusterSpec": {"workerGroupSpecs": [{"groupName": name, "template": template} for name in groups]}}


def disaggregated(*, nested: bool) -> Any:
    spec = {"leaderWorkerTemplate": {"workerTemplate": {"spec": {"containers": [{"name": "vllm", **GPUS}]}}}}
    roles = [{"name": name, **({"spec": spec} if nested else spec)} for name in ("prefill", "decode")]
    version = f"disaggregatedset.x-k8s.io/{'v1' if nested else 'v1alpha1'}"
    return {"apiVersion": version, "kind": "DisaggregatedSet", "spec": {"roles": roles}}


def with_devices(value: Any) -> Iterator[str]:
    """The names of the containers that ask for the fabric's devices."""
    if isinstance(value, dict):
        limits = (value.get("resources") or {}).get("limits") or {}
        if "nvidia.com/rail_00" in limits and "name" in value:
            yield value["name"]
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from with_devices(inner)


PROXY, MODEL = {"name": "proxy"}, {"name": "model", **GPUS}
TWO = deployment({"name": "one", **GPUS}, {"name": "two", **GPUS})
CHOICES: list[tuple[Any, tuple[str, ...], list[str]]] = [
    (deployment(PROXY, MODEL), (), ["model"]),
    (deployment({"name": "nginx"}), ("nginx",), ["nginx"]),
    (TWO, ("two",), ["two"]),
    *(
        (job_set(driver={}, trainers={}), (wish,), ["trainers"])
        for wish in ("trainers", "Trainers", "trainers/trainers")
    ),
    (job_set(driver={}, trainers=GPUS), ("driver",), ["driver"]),
    (job_set(driver={}, trainers=GPUS), ("driver", "trainers"), ["driver", "trainers"]),
    (mpi_job({}), (), ["mpi"]),
    (mpi_job(GPUS), (), ["mpi"]),
    (mpi_job({}), ("launcher", "worker"), ["launches", "mpi"]),
    # A launcher that is rank 0 gets the fabric with the others.
    *(
        (mpi_runtime(as_node=as_node, node=node), wishes, ["launcher", "node"] if as_node else ["node"])
        for as_node in (True, False)
        for node, wishes in ((GPUS, ()), ({}, ("node",)), ({}, ("node/node",)))
    ),
    (ray_cron_job(**ray("gpu")), (), ["ray"]),
    (ray_cron_job(spec=ray("gpu", "b")), (), ["ray", "ray"]),
    *((disaggregated(nested=nested), (), ["vllm", "vllm"]) for nested in (True, False)),
    *(
        ({**one(name), "apiVersion": "ray.io/v1alpha1"}, (), ["ray-worker"])
        for name in ("raycluster.yaml", "rayjob.yaml")
    ),
]


@each(("document", "wishes", "chosen"), CHOICES)
def test_what_asks_for_gpus_gets_the_fabric_or_what_is_named_in_its_place(
    document: Any, wishes: tuple[str, ...], chosen: list[str]
) -> None:
    (result,) = attach([document], DEV, AttachOptions(wishes)).documents

    assert sorted(with_devices(result)) == chosen
    assert str(result).count(f"'{NETWORKS}'") == len(chosen)


def problems(*documents: Any, containers: tuple[str, ...] = ()) -> tuple[Finding, ...]:
    with pytest.raises(AttachError) as raised:
        attach(documents, DEV, AttachOptions(containers))
    return raised.value.problems


def test_several_workloads_of_which_none_asks_for_gpus_are_refused_until_one_is_named() -> None:
    documents = [deployment({"name": "cache"}), deployment({"name": "model"})]
    found = problems(*documents)
    cache, model = attach(documents, DEV, AttachOptions(("model",))).documents

    assert [(problem.document, problem.remedy.rpartition(" ")[2]) for problem in found] == [(1, "cache"), (2, "model")]
    assert cache == documents[0]
    assert NETWORKS in model["spec"]["template"]["metadata"]["annotations"]


def test_what_asks_for_other_accelerators_is_attached_where_it_is_named() -> None:
    document = deployment({"name": "model", "resources": {"claims": [{"name": "gpus"}]}}, PROXY)
    (problem,) = problems(document)
    attached = attach([document], DEV, AttachOptions(("model",)))

    assert (problem.id, "--container model" in problem.remedy) == ("ATT021", True)
    assert [note.id for note in attached.notes if note.id == "ATT064"] == ["ATT064"]


def test_a_train_job_for_other_accelerators_is_refused_until_its_node_is_named() -> None:
    document = one("trainjob.yaml")
    document["spec"]["trainer"] = {"resourcesPerNode": {"limits": {"google.com/tpu": 4}}}

    assert [one.id for one in problems(document)] == ["ATT021"]
    assert attach([document], DEV, AttachOptions(("node",))).documents


def test_a_name_that_is_nowhere_is_refused_with_those_that_are() -> None:
    (problem,) = problems(job_set(trainers=GPUS), containers=("trainer",))

    assert (problem.document, problem.message) == (0, "no role and no container is named 'trainer'")
    assert "JobSet: trainers/trainers" in problem.remedy


def test_a_train_job_trains_whether_it_asks_for_gpus_or_its_runtime_does() -> None:
    document, cache = one("trainjob.yaml"), deployment({"name": "cache"})
    del document["spec"]["trainer"]
    job, other = attach([document, cache], DEV).documents

    assert job["spec"]["trainer"]["resourcesPerNode"]["limits"]["nvidia.com/gpu"] == "8"
    assert other == cache


@pytest.mark.parametrize("key", ["podTemplateOverrides", "podSpecOverrides"])
def test_a_train_job_of_a_release_that_cannot_say_it_is_sent_to_its_runtime(key: str) -> None:
    document = one("trainjob.yaml")
    document["spec"][key] = [{"targetJobs": [{"name": "node"}]}]

    assert "attach the fabric to the TrainingRuntime" in problems(document)[0].remedy


def test_what_another_writer_patches_in_a_train_job_stays() -> None:
    document = one("trainjob.yaml")
    other = {"manager": "kueue.x-k8s.io/manager", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": []}}}}
    document["spec"]["runtimePatches"] = [other]
    (result,) = attach([document], DEV).documents
    theirs, ours = result["spec"]["runtimePatches"]

    assert (theirs, ours["manager"]) == (other, MANAGER)
    # Kubernetes' IsDomainPrefixedPath, which the webhook demands: a DNS subdomain, a slash, and a path.
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+/[A-Za-z0-9/_.~-]+", MANAGER)


def test_an_entry_of_an_earlier_release_is_taken_over_and_beside_the_new_one_refused() -> None:
    (once,) = attach([one("trainjob.yaml")], DEV).documents
    older = json.loads(json.dumps(once).replace(MANAGER, "gpu-fabric"))

    assert attach([older], DEV).documents == (once,)
    once["spec"]["runtimePatches"].append({"manager": "gpu-fabric"})
    assert "refuses 'gpu-fabric'" in problems(once)[0].message


def test_a_leader_worker_sets_own_claims_keep_their_names() -> None:
    document = one("leaderworkerset.yaml")
    document["spec"]["leaderWorkerTemplate"]["volumeClaimTemplates"] = [{"metadata": {"name": "shared-memory"}}]
    (result,) = attach([document], DEV).documents
    volumes = at(result, "spec.leaderWorkerTemplate.workerTemplate.spec.volumes")

    assert "fabric-shared-memory" in [volume["name"] for volume in volumes]


def test_what_an_app_wrapper_wraps_is_attached_in_its_namespace_and_queue() -> None:
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}}
    job["spec"] = {"template": {"spec": {"containers": [{"name": "main", **GPUS}]}}}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}}
    wrapper = {
        "apiVersion": "workload.codeflare.dev/v1beta2",
        "kind": "AppWrapper",
        "metadata": {"name": "a", "namespace": DEV.namespaces[0]},
        "spec": {"components": [{"template": service}, {"template": job}]},
    }
    once = attach([wrapper], DEV, AttachOptions(namespace="elsewhere", queue="team", stamped=True)).documents
    (result,) = once

    assert attach(once, DEV).documents == once
    assert detach(once) == (wrapper,)
    assert result["spec"]["components"][0]["template"] == service
    assert NETWORKS in str(result["spec"]["components"][1])
    assert result["metadata"]["labels"] == {"kueue.x-k8s.io/queue-name": "team"}
    assert "labels" not in result["spec"]["components"][1]["template"]["metadata"]


def test_a_launcher_without_requests_gets_a_small_one_for_kueue() -> None:
    job = one("mpijob.yaml")
    launcher = "spec.mpiReplicaSpecs.Launcher.template.spec.containers.0"
    at(job, launcher).pop("resources", None)
    queued = attach([job], DEV, AttachOptions(queue="team"))

    assert at(queued.documents[0], launcher)["resources"] == {"requests": {"cpu": "100m"}}
    assert attach(queued.documents, DEV, AttachOptions(queue="team")).documents == queued.documents
    assert "resources" not in at(attach([job], DEV).documents[0], launcher)


def test_a_kind_that_is_left_as_it_is_is_named_in_any_case() -> None:
    document = {"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "spec": {"template": {"containers": [PROXY]}}}
    (problem,) = problems(document)
    skipped = attach([document], DEV, AttachOptions(skipped=("tfjob",)))

    assert "MPIJob, PyTorchJob, TrainJob" in problem.remedy
    assert "Job (batch/v1)" in problem.remedy
    assert (skipped.documents, [note.id for note in skipped.notes]) == ((document,), ["ATT065"])


def test_a_clique_has_annotations_of_its_own_and_its_containers_in_a_pod_spec() -> None:
    result, notes = attach([one("podcliqueset.yaml")], DEV)
    router, decode = result[0]["spec"]["template"]["cliques"]

    assert NETWORKS in decode["annotations"]
    assert (decode["labels"], "annotations" in router) == ({"team": "search"}, False)
    assert "nvidia.com/rail_00" in decode["spec"]["podSpec"]["containers"][0]["resources"]["limits"]
    assert {"metadata", "nodeSelector"}.isdisjoint(decode)
    assert "spec.template.cliques[1].spec.podSpec.containers[0]" in {note.path for note in notes}
