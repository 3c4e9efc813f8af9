"""Which pods and containers get the fabric: those that ask for GPUs, those that are named, and never a guess."""

from __future__ import annotations

from typing import Any

import pytest
from attached_pods import NETWORKS, at, documents_of, text_of

from fabric.attach import AttachError, Problem, Wishes, attach
from fabric.plan import FabricContract, Plan

GPUS = {"resources": {"limits": {"nvidia.com/gpu": 8}}}


@pytest.fixture(scope="module")
def contract(dev_plan: Plan) -> FabricContract:
    return dev_plan.workload


def deployment(name: str, *containers: dict[str, Any]) -> Any:
    template = {"spec": {"containers": [{"image": "registry.example/a:1", **entry} for entry in containers]}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": {"template": template}}


def job_set(**jobs: dict[str, Any]) -> Any:
    replicated = [
        {"name": name, "template": {"spec": {"template": {"spec": {"containers": [{"name": "main", **container}]}}}}}
        for name, container in jobs.items()
    ]
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "spec": {"replicatedJobs": replicated}}


def problems(contract: FabricContract, *documents: Any, containers: tuple[str, ...] = ()) -> tuple[Problem, ...]:
    with pytest.raises(AttachError) as raised:
        attach(documents, contract, Wishes(containers))
    return raised.value.problems


def with_devices(document: Any, contract: FabricContract, *containers: str) -> list[str]:
    """The names of the containers that have the fabric's devices afterwards."""
    (result,) = attach([document], contract, Wishes(containers)).documents
    return [
        entry["name"]
        for entry in result["spec"]["template"]["spec"]["containers"]
        if "nvidia.com/rail_00" in entry.get("resources", {}).get("limits", {})
    ]


def job_sets_with_networks(document: Any, contract: FabricContract, *containers: str) -> list[str]:
    (result,) = attach([document], contract, Wishes(containers)).documents
    return [
        job["name"]
        for job in result["spec"]["replicatedJobs"]
        if NETWORKS in job["template"]["spec"]["template"].get("metadata", {}).get("annotations", {})
    ]


def test_the_container_that_asks_for_gpus_is_the_one(contract: FabricContract) -> None:
    assert with_devices(deployment("a", {"name": "proxy"}, {"name": "model", **GPUS}), contract) == ["model"]


def test_the_only_container_of_the_only_workload_is_the_one(contract: FabricContract) -> None:
    assert with_devices(deployment("a", {"name": "model"}), contract) == ["model"]


def test_several_containers_that_ask_for_none_are_refused_with_their_names(contract: FabricContract) -> None:
    (problem,) = problems(contract, deployment("a", {"name": "proxy"}, {"name": "model"}))

    assert problem.message == "no container asks for nvidia.com/gpu: proxy, model"
    assert problem.remedy == "name one: --container proxy"


def test_several_containers_that_ask_for_gpus_are_refused_until_one_is_named(contract: FabricContract) -> None:
    both = deployment("a", {"name": "one", **GPUS}, {"name": "two", **GPUS})
    (problem,) = problems(contract, both)

    assert problem.message == "2 containers ask for nvidia.com/gpu: one, two"
    assert with_devices(both, contract, "two") == ["two"]


def test_several_workloads_of_which_none_asks_for_gpus_are_refused(contract: FabricContract) -> None:
    found = problems(contract, deployment("cache", {"name": "cache"}), deployment("model", {"name": "model"}))

    assert [problem.document for problem in found] == [1, 2]
    assert "it is not clear which of 2 workloads trains" in found[0].message


def test_a_named_container_decides_among_workloads(contract: FabricContract) -> None:
    documents = [deployment("cache", {"name": "cache"}), deployment("model", {"name": "model"})]
    cache, model = attach(documents, contract, Wishes(("model",))).documents

    assert cache == documents[0]
    assert NETWORKS in model["spec"]["template"]["metadata"]["annotations"]


def test_job_sets_of_which_no_part_asks_for_gpus_are_refused_with_their_parts(contract: FabricContract) -> None:
    (problem,) = problems(contract, job_set(driver={}, trainers={}))

    assert "driver/main; trainers/main" in problem.message


@pytest.mark.parametrize("wish", ["trainers", "Trainers", "trainers/main"])
def test_a_role_is_named_with_or_without_its_container(contract: FabricContract, wish: str) -> None:
    assert job_sets_with_networks(job_set(driver={}, trainers={}), contract, wish) == ["trainers"]


def test_named_roles_take_the_place_of_those_that_ask(contract: FabricContract) -> None:
    assert job_sets_with_networks(job_set(driver={}, trainers=GPUS), contract, "driver") == ["driver"]
    assert job_sets_with_networks(job_set(driver={}, trainers=GPUS), contract, "driver", "trainers") == [
        "driver",
        "trainers",
    ]


def test_the_launcher_of_an_mpi_job_gets_the_fabric_only_when_it_is_named(contract: FabricContract) -> None:
    (document,) = documents_of(text_of("mpijob.yaml"))
    (result,) = attach([document], contract, Wishes(("launcher", "worker"))).documents

    for role in ("Launcher", "Worker"):
        assert NETWORKS in at(result, f"spec.mpiReplicaSpecs.{role}.template.metadata.annotations")


def test_a_launcher_that_asks_for_gpus_is_no_worker(contract: FabricContract) -> None:
    (document,) = documents_of(text_of("mpijob.yaml"))
    launcher = at(document, "spec.mpiReplicaSpecs.Launcher.template.spec.containers.0")
    launcher["resources"] = {"limits": {"nvidia.com/gpu": 1}}
    (result,) = attach([document], contract).documents

    assert at(result, "spec.mpiReplicaSpecs.Launcher") == at(document, "spec.mpiReplicaSpecs.Launcher")


def test_a_name_that_is_nowhere_is_refused_with_those_that_are(contract: FabricContract) -> None:
    (problem,) = problems(contract, job_set(trainers=GPUS), containers=("trainer",))

    assert problem.document == 0
    assert problem.message == "no role and no container is named 'trainer'"
    assert "JobSet: trainers/main" in problem.remedy


def test_an_init_container_is_no_container_to_name(contract: FabricContract) -> None:
    (document,) = documents_of(text_of("sidecar.yaml"))

    assert "is named 'warm-up'" in problems(contract, document, containers=("warm-up",))[0].message


def test_a_train_job_trains_whether_it_asks_for_gpus_or_its_runtime_does(contract: FabricContract) -> None:
    (document,) = documents_of(text_of("trainjob.yaml"))
    del document["spec"]["trainer"]
    cache = deployment("cache", {"name": "cache"})
    job, other = attach([document, cache], contract).documents

    assert job["spec"]["trainer"]["resourcesPerNode"]["limits"]["nvidia.com/gpu"] == "8"
    assert other == cache


@pytest.mark.parametrize("key", ["podTemplateOverrides", "podSpecOverrides"])
def test_a_train_job_of_a_release_that_cannot_say_it_is_sent_to_its_runtime(contract: FabricContract, key: str) -> None:
    (document,) = documents_of(text_of("trainjob.yaml"))
    document["spec"][key] = [{"targetJobs": [{"name": "node"}]}]

    assert "attach the fabric to the TrainingRuntime" in problems(contract, document)[0].remedy


def test_a_train_job_cannot_use_the_hosts_network(root: Any) -> None:
    from fabric.prepare import prepare_stack

    (document,) = documents_of(text_of("trainjob.yaml"))
    found = problems(prepare_stack("host-network", root).workload, document)

    assert "a TrainJob cannot set hostNetwork of its pods" in [problem.message for problem in found]


def test_what_another_writer_patches_in_a_train_job_stays(contract: FabricContract) -> None:
    (document,) = documents_of(text_of("trainjob.yaml"))
    other = {"manager": "kueue.x-k8s.io/manager", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": []}}}}
    document["spec"]["runtimePatches"] = [other]
    (result,) = attach([document], contract).documents

    assert [patch["manager"] for patch in result["spec"]["runtimePatches"]] == [other["manager"], "gpu-fabric"]
    assert result["spec"]["runtimePatches"][0] == other


@pytest.mark.parametrize(
    ("version", "kind"), [("kubeflow.org/v1", "TFJob"), ("serving.knative.dev/v1", "Service"), ("v1", "PodList")]
)
def test_an_unknown_kind_that_makes_pods_is_refused_with_the_known_ones(
    contract: FabricContract, version: str, kind: str
) -> None:
    document = {"apiVersion": version, "kind": kind, "spec": {"template": {"containers": [{"name": "main"}]}}}
    (problem,) = problems(contract, document)

    assert problem.message == f"{kind} of {version} makes pods, but is not known here"
    assert "MPIJob, PyTorchJob, TrainJob" in problem.remedy
    assert "Job (batch/v1)" in problem.remedy


def test_another_version_of_a_known_kind_is_refused_with_the_known_one(contract: FabricContract) -> None:
    document = {"apiVersion": "kubeflow.org/v1", "kind": "MPIJob", "spec": {}}

    assert problems(contract, document)[0].remedy == "known is kubeflow.org/v2beta1"


@pytest.mark.parametrize(
    "document",
    [
        None,
        {"apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"name": "http", "port": 80}]}},
        {"apiVersion": "v1", "kind": "ConfigMap", "data": {"containers": "- name: main"}},
        {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "LocalQueue", "spec": {"clusterQueue": "all"}},
        {"apiVersion": "v1", "kind": "List", "items": []},
    ],
)
def test_what_makes_no_pods_passes(contract: FabricContract, document: Any) -> None:
    assert attach([document], contract).documents == (document,)


def test_daemon_sets_have_no_queue(contract: FabricContract) -> None:
    with pytest.raises(AttachError) as raised:
        attach(documents_of(text_of("daemonset.yaml")), contract, Wishes(queue="team-a"))

    assert raised.value.problems[0].message == "a DaemonSet has no queue"
