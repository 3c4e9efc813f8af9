"""Which pods and containers get the fabric: those that ask for GPUs, those that are named, and never a guess."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from attached_pods import NETWORKS, at, documents_of, text_of

from gpu_fabric.attach.attachment import Wishes, attach
from gpu_fabric.attach.choice import MANAGER
from gpu_fabric.attach.place import AttachError, Problem
from gpu_fabric.contract import FabricContract
from gpu_fabric.plan import Plan

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


def test_a_lone_workload_that_asks_for_no_gpus_gets_none_unless_it_is_named(contract: FabricContract) -> None:
    (problem,) = problems(contract, deployment("web", {"name": "nginx"}))

    assert (problem.rule, problem.message) == (
        "ATT010",
        "nothing here asks for nvidia.com/gpu, so it is not clear what trains: nginx",
    )
    assert problem.remedy == "ask for nvidia.com/gpu in what does, or name it: --container nginx"
    assert with_devices(deployment("web", {"name": "nginx"}), contract, "nginx") == ["nginx"]


OTHER = [
    {"limits": {"google.com/tpu": 4}},
    {"limits": {"nvidia.com/mig-3g.40gb": 1}},
    {"limits": {"nvidia.com/gpu.shared": "1"}},
    {"requests": {"amd.com/gpu": 8}},
    {"requests": {"gpu.intel.com/xe": 1}},
    {"limits": {"aws.amazon.com/neuroncore": 2}},
    {"limits": {"volcano.sh/vgpu-number": 1}},
    {"claims": [{"name": "gpus"}]},
]


@pytest.mark.parametrize("resources", OTHER)
def test_what_asks_for_other_accelerators_is_refused_unless_it_is_named(
    contract: FabricContract, resources: dict[str, Any]
) -> None:
    document = deployment("a", {"name": "model", "resources": resources}, {"name": "proxy"})
    (problem,) = problems(contract, document)
    attached = attach([document], contract, Wishes(("model",)))

    assert (problem.rule, "--container model" in problem.remedy) == ("ATT021", True)
    assert [note.rule for note in attached.notes if note.rule == "ATT064"] == ["ATT064"]


@pytest.mark.parametrize("resources", OTHER[:-1])
def test_other_accelerators_beside_the_stacks_gpus_are_refused_unless_they_are_named(
    contract: FabricContract, resources: dict[str, Any]
) -> None:
    both = {**resources, "limits": {**resources.get("limits", {}), "nvidia.com/gpu": 8}}
    assert {one.rule for one in problems(contract, deployment("a", {"name": "model", "resources": both}))} == {"ATT021"}


def test_a_claim_beside_the_stacks_gpus_is_said(contract: FabricContract) -> None:
    claims = {"claims": [{"name": "channel"}], **GPUS["resources"]}
    attached = attach([deployment("a", {"name": "model", "resources": claims})], contract)

    assert [note.path.rpartition(".")[2] for note in attached.notes if note.rule == "ATT064"] == ["claims"]


@pytest.mark.parametrize(
    "name",
    ["nvidia.com/rdma-vf", "vpc.amazonaws.com/efa", "rdma/ib", "rdma/rdma_shared_device_a", "amd.com/nic", "a.b/c"],
)
@pytest.mark.parametrize("side", ["limits", "requests"])
def test_devices_that_the_stacks_nodes_do_not_offer_are_said_wherever_in_the_pod_they_are(
    contract: FabricContract, name: str, side: str
) -> None:
    limits = {"nvidia.com/gpu": 8, "memory": "1Gi", "hugepages-2Mi": "1Gi"}
    asked = {"limits": limits} if side == "requests" else {"limits": {**limits, name: 1}}
    document = deployment("a", {"name": "model", "resources": {side: {name: 1}, **asked}})
    beside = deployment("a", {"name": "model", **GPUS}, {"name": "proxy", "resources": {side: {name: "1"}}})

    for one in (document, beside):
        said = [note.path for note in attach([one], contract).notes if note.rule == "ATT064"]
        assert len(said) == 1
        assert said[0].endswith(f"{side}[{name}]")


def test_what_the_contract_names_and_what_is_not_asked_for_is_offered(contract: FabricContract) -> None:
    limits = {**contract.resources, "rdma/ib": 0, "requests.kubernetes.io/x": 1}
    notes = attach([deployment("a", {"name": "model", "resources": {"limits": limits}})], contract).notes

    assert "ATT064" not in {note.rule for note in notes}


def test_a_train_job_for_other_accelerators_is_refused_until_its_node_is_named(contract: FabricContract) -> None:
    (document,) = documents_of(text_of("trainjob.yaml"))
    document["spec"]["trainer"] = {"resourcesPerNode": {"limits": {"google.com/tpu": 4}}}

    assert [one.rule for one in problems(contract, document)] == ["ATT021"]
    assert attach([document], contract, Wishes(("node",))).documents


def test_several_containers_that_ask_for_none_are_refused_with_their_names(contract: FabricContract) -> None:
    (problem,) = problems(contract, deployment("a", {"name": "proxy"}, {"name": "model"}))

    assert problem.message == "nothing here asks for nvidia.com/gpu, so it is not clear what trains: proxy, model"
    assert problem.remedy.endswith("--container proxy")


def test_several_containers_that_ask_for_gpus_are_refused_until_one_is_named(contract: FabricContract) -> None:
    both = deployment("a", {"name": "one", **GPUS}, {"name": "two", **GPUS})
    (problem,) = problems(contract, both)

    assert problem.message == "2 containers ask for nvidia.com/gpu: one, two"
    assert with_devices(both, contract, "two") == ["two"]


def test_several_workloads_of_which_none_asks_for_gpus_are_refused(contract: FabricContract) -> None:
    found = problems(contract, deployment("cache", {"name": "cache"}), deployment("model", {"name": "model"}))

    assert [problem.document for problem in found] == [1, 2]
    assert [problem.remedy.rpartition(" ")[2] for problem in found] == ["cache", "model"]


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
    from gpu_fabric.prepare import prepare_stack

    (document,) = documents_of(text_of("trainjob.yaml"))
    found = problems(prepare_stack("host-network", root).workload, document)

    assert "a TrainJob cannot set hostNetwork of its pods" in [problem.message for problem in found]


def test_what_another_writer_patches_in_a_train_job_stays(contract: FabricContract) -> None:
    (document,) = documents_of(text_of("trainjob.yaml"))
    other = {"manager": "kueue.x-k8s.io/manager", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": []}}}}
    document["spec"]["runtimePatches"] = [other]
    (result,) = attach([document], contract).documents

    assert [patch["manager"] for patch in result["spec"]["runtimePatches"]] == [other["manager"], MANAGER]
    assert result["spec"]["runtimePatches"][0] == other


def test_the_manager_of_a_train_jobs_patch_is_a_path_in_a_domain_as_the_webhook_demands(
    contract: FabricContract,
) -> None:
    (document,) = documents_of(text_of("trainjob.yaml"))
    (result,) = attach([document], contract).documents
    (patch,) = result["spec"]["runtimePatches"]

    # Kubernetes' IsDomainPrefixedPath: a DNS subdomain, a slash, and a path.
    assert re.fullmatch(
        r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+/[A-Za-z0-9/_.~-]+", patch["manager"]
    )


def test_an_entry_of_an_earlier_release_is_taken_over(contract: FabricContract) -> None:
    (document,) = documents_of(text_of("trainjob.yaml"))
    (once,) = attach([document], contract).documents
    older = json.loads(json.dumps(once).replace(MANAGER, "gpu-fabric"))

    assert attach([older], contract).documents == (once,)


def test_an_entry_of_an_earlier_release_beside_the_new_one_is_refused(contract: FabricContract) -> None:
    (document,) = documents_of(text_of("trainjob.yaml"))
    (once,) = attach([document], contract).documents
    once["spec"]["runtimePatches"].append({"manager": "gpu-fabric"})

    assert "refuses 'gpu-fabric'" in problems(contract, once)[0].message


@pytest.mark.parametrize(
    ("version", "kind"), [("kubeflow.org/v1", "TFJob"), ("serving.knative.dev/v1", "Service"), ("v1", "PodList")]
)
def test_an_unknown_kind_that_makes_pods_is_refused_with_the_known_ones(
    contract: FabricContract, version: str, kind: str
) -> None:
    document = {"apiVersion": version, "kind": kind, "spec": {"template": {"containers": [{"name": "main"}]}}}
    (problem,) = problems(contract, document)

    assert problem.message == f"{kind} of {version} makes pods (spec.template.containers), but is not known here"
    assert f"--skip {kind}" in problem.remedy
    skipped = attach([document], contract, Wishes(skipped=(kind.lower(),)))
    assert (skipped.documents, [note.rule for note in skipped.notes]) == ((document,), ["ATT065"])
    assert "MPIJob, PyTorchJob, TrainJob" in problem.remedy
    assert "Job (batch/v1)" in problem.remedy


def mpi_runtime(*, as_node: bool, node: dict[str, Any]) -> Any:
    container = {"name": "node", "image": "registry.example/a:1"}
    jobs = [
        {"name": role, "template": {"spec": {"template": {"spec": {"containers": [{**container, **more}]}}}}}
        for role, more in (("launcher", {}), ("node", node))
    ]
    policy = {"mpi": {"runLauncherAsNode": as_node}}
    spec = {"mlPolicy": policy, "template": {"spec": {"replicatedJobs": jobs}}}
    return {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "ClusterTrainingRuntime", "spec": spec}


@pytest.mark.parametrize("as_node", [True, False])
@pytest.mark.parametrize(("node", "wishes"), [(GPUS, ()), ({}, ("node",)), ({}, ("node/node",))])
def test_a_launcher_that_is_rank_0_gets_the_fabric_with_the_others(
    contract: FabricContract, node: dict[str, Any], wishes: tuple[str, ...], *, as_node: bool
) -> None:
    (result,) = attach([mpi_runtime(as_node=as_node, node=node)], contract, Wishes(wishes)).documents
    jobs = result["spec"]["template"]["spec"]["replicatedJobs"]
    attached = [job["name"] for job in jobs if "metadata" in job["template"]["spec"]["template"]]

    assert attached == (["launcher", "node"] if as_node else ["node"])


def test_a_leader_worker_sets_own_claims_keep_their_names(contract: FabricContract) -> None:
    (document,) = documents_of(text_of("leaderworkerset.yaml"))
    document["spec"]["leaderWorkerTemplate"]["volumeClaimTemplates"] = [{"metadata": {"name": "shared-memory"}}]
    (result,) = attach([document], contract).documents
    volumes = at(result, "spec.leaderWorkerTemplate.workerTemplate.spec.volumes")

    assert "fabric-shared-memory" in [volume["name"] for volume in volumes]


@pytest.mark.parametrize("name", ["raycluster.yaml", "rayjob.yaml"])
def test_ray_is_known_in_the_version_that_its_operator_still_serves(contract: FabricContract, name: str) -> None:
    text = text_of(name).replace("ray.io/v1", "ray.io/v1alpha1")

    assert NETWORKS in str(attach(documents_of(text), contract).documents)


def ray_cron_job(**job: Any) -> Any:
    return {"apiVersion": "ray.io/v1", "kind": "RayCronJob", "spec": {"schedule": "0 2 * * *", "jobTemplate": job}}


def disaggregated(*, nested: bool) -> Any:
    template = {"workerTemplate": {"spec": {"containers": [{"name": "vllm", **GPUS}]}}}
    spec = {"leaderWorkerTemplate": template}
    roles = [{"name": name, **({"spec": spec} if nested else spec)} for name in ("prefill", "decode")]
    version = f"disaggregatedset.x-k8s.io/{'v1' if nested else 'v1alpha1'}"
    return {"apiVersion": version, "kind": "DisaggregatedSet", "spec": {"roles": roles}}


GROUP = {"groupName": "gpu", "template": {"spec": {"containers": [{"name": "ray", **GPUS}]}}}


@pytest.mark.parametrize(
    ("document", "pods"),
    [
        (ray_cron_job(rayClusterSpec={"workerGroupSpecs": [GROUP]}), 1),
        (ray_cron_job(spec={"rayClusterSpec": {"workerGroupSpecs": [GROUP, {**GROUP, "groupName": "b"}]}}), 2),
        (disaggregated(nested=True), 2),
        (disaggregated(nested=False), 2),
    ],
)
def test_every_pod_template_of_a_wrapped_kind_gets_the_fabric(
    contract: FabricContract, document: Any, pods: int
) -> None:
    (result,) = attach([document], contract).documents

    assert str(result).count(NETWORKS) == pods


def test_what_an_app_wrapper_wraps_is_attached_in_its_namespace_and_queue(contract: FabricContract) -> None:
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}}
    job["spec"] = {"template": {"spec": {"containers": [{"name": "main", **GPUS}]}}}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}}
    wrapper = {
        "apiVersion": "workload.codeflare.dev/v1beta2",
        "kind": "AppWrapper",
        "metadata": {"name": "a", "namespace": contract.namespaces[0]},
        "spec": {"components": [{"template": service}, {"template": job}]},
    }
    (result,) = attach([wrapper], contract, Wishes(namespace="elsewhere", queue="team")).documents

    assert result["spec"]["components"][0]["template"] == service
    assert NETWORKS in str(result["spec"]["components"][1])
    assert result["metadata"]["labels"] == {"kueue.x-k8s.io/queue-name": "team"}
    assert "labels" not in result["spec"]["components"][1]["template"]["metadata"]


def test_a_launcher_without_requests_gets_a_small_one_for_kueue(contract: FabricContract) -> None:
    (job,) = documents_of(text_of("mpijob.yaml"))
    launcher = at(job, "spec.mpiReplicaSpecs.Launcher.template.spec.containers.0")
    launcher.pop("resources", None)
    queued = attach([job], contract, Wishes(queue="team"))
    again = attach(queued.documents, contract, Wishes(queue="team"))

    path = "spec.mpiReplicaSpecs.Launcher.template.spec.containers.0.resources"
    assert at(queued.documents[0], path) == {"requests": {"cpu": "100m"}}
    assert again.documents == queued.documents
    assert "resources" not in at(attach([job], contract).documents[0], path.removesuffix(".resources"))


def unknown(kind: str, **spec: Any) -> Any:
    return {"apiVersion": "example.org/v1", "kind": kind, "metadata": {"name": "one"}, "spec": spec}


JOB_SET_TEXT = "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nspec:\n  x:\n  - containers:\n    - name: a\n"


@pytest.mark.parametrize(
    "document",
    [
        unknown("Graph", services={"a": {"extraPodSpec": {"mainContainer": {"image": "a", "command": ["b"]}}}}),
        unknown("Graph", services={"a": {"resources": {"limits": {"gpu": "8"}}}}),
        unknown("Served", predictor={"model": {"resources": {"requests": {"nvidia.com/gpu": 1}}}}),
        unknown("Served", predictor={"model": {"resources": {"limits": {"amd.com/gpu": "1"}}}}),
        unknown("Runtime", deploymentConfig={"resources": {"gpu": "1", "cpu": 4}}),
        unknown("Spark", executor={"gpu": {"name": "nvidia.com/gpu", "quantity": 1}}),
        unknown("Flow", templates=[{"resource": {"action": "create", "manifest": JOB_SET_TEXT}}]),
        unknown("Flow", templates=[{"podSpecPatch": '{"containers":[{"resources":{"limits":{"nvidia.com/gpu":1}}}]}'}]),
        unknown("Flow", templates=[{"script": {"x": {"sidecarContainer": {"image": "a"}}}}]),
        unknown("Chart", values={"resources": {"limits": {"gpuCount": 2}}}),
        unknown("Templated", resources={"limits": {"nvidia.com/gpu": "${GPUS}"}}),
    ],
)
def test_a_kind_that_is_not_known_is_refused_wherever_it_asks_for_gpus(contract: FabricContract, document: Any) -> None:
    assert [(problem.rule, problem.path) for problem in problems(contract, document)] == [("ATT006", "kind")]


@pytest.mark.parametrize(
    ("version", "kind", "spec"),
    [
        ("v1", "ResourceQuota", {"hard": {"requests.nvidia.com/gpu": 8}, "limits": {"nvidia.com/gpu": 8}}),
        ("v1", "LimitRange", {"limits": [{"max": {"nvidia.com/gpu": 8}}]}),
        ("kueue.x-k8s.io/v1beta1", "ClusterQueue", {"resources": [{"name": "nvidia.com/gpu", "nominalQuota": 8}]}),
        ("kueue.x-k8s.io/v1beta2", "ClusterQueue", {"resources": {"nvidia.com/gpu": 8}}),
        ("karpenter.sh/v1", "NodePool", {"limits": {"nvidia.com/gpu": 80}}),
        ("scheduling.volcano.sh/v1beta1", "Queue", {"guarantee": {"resources": {"nvidia.com/gpu": 8}}}),
        ("v1", "ConfigMap", {"job.yaml": JOB_SET_TEXT}),
        ("example.org/v1", "Idle", {"resources": {"limits": {"nvidia.com/gpu": 0, "gpu": "0", "cpu": 8}}}),
        ("example.org/v1", "Queue", {"resources": {"gpu": {"quota": -1}}}),
        ("example.org/v1", "Text", {"text": "a container: and a kind: of text\nover lines"}),
    ],
)
def test_amounts_and_texts_of_what_makes_no_pods_pass(
    contract: FabricContract, version: str, kind: str, spec: Any
) -> None:
    document = {"apiVersion": version, "kind": kind, "metadata": {"name": "one"}, "spec": spec}

    assert attach([document], contract).documents == (document,)


OFF = [
    ("NCCL_IB_DISABLE", "1"),
    ("NCCL_NET", "Socket"),
    ("NCCL_NET_PLUGIN", "libnccl-net-ofi.so"),
    ("FI_PROVIDER", "efa"),
    ("NCCL_NET_GDR_LEVEL", "LOC"),
    ("NCCL_P2P_DISABLE", "1"),
]


@pytest.mark.parametrize(("name", "value"), OFF)
def test_a_variable_that_keeps_the_job_off_the_fabric_is_said_wherever_it_is_set(
    contract: FabricContract, name: str, value: str
) -> None:
    (job,) = documents_of(text_of("mpijob.yaml"))
    worker = at(job, "spec.mpiReplicaSpecs.Worker.template.spec.containers.0")
    launcher = at(job, "spec.mpiReplicaSpecs.Launcher.template.spec.containers.0")
    worker["env"] = [{"name": name, "value": value}]
    launcher["args"] = ["-c", f"mpirun -x {name}={value} all_reduce_perf"]
    notes = [note for note in attach([job], contract).notes if note.rule == "ATT066"]

    assert sorted(note.path.rpartition(".")[2] for note in notes) == ["args", "env[0]"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NCCL_IB_DISABLE", "0"),
        ("NCCL_NET", "IB"),
        ("NCCL_NET_PLUGIN", "none"),
        ("NCCL_NET_GDR_LEVEL", "PHB"),
        ("UCX_TLS", "tcp"),
    ],
)
def test_a_variable_that_does_no_harm_is_not_spoken_of(contract: FabricContract, name: str, value: str) -> None:
    document = deployment("a", {"name": "model", **GPUS, "env": [{"name": name, "value": value}]})

    assert "ATT066" not in {note.rule for note in attach([document], contract).notes}


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


def test_a_clique_has_annotations_of_its_own_and_its_containers_in_a_pod_spec(
    contract: FabricContract,
) -> None:
    result, notes = attach(documents_of(text_of("podcliqueset.yaml")), contract)
    router, decode = result[0]["spec"]["template"]["cliques"]

    assert NETWORKS in decode["annotations"]
    assert (decode["labels"], "annotations" in router) == ({"team": "search"}, False)
    assert "nvidia.com/rail_00" in decode["spec"]["podSpec"]["containers"][0]["resources"]["limits"]
    assert {"metadata", "nodeSelector"}.isdisjoint(decode)
    assert "spec.template.cliques[1].spec.podSpec.containers[0]" in {note.path for note in notes}


def test_an_older_form_of_a_graph_is_refused_with_the_version_that_has_pod_templates(contract: FabricContract) -> None:
    older = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "spec": {"services": {}}}

    (problem,) = problems(contract, older)

    assert (problem.rule, problem.path) == ("ATT007", "apiVersion")
    assert "in which order they are merged differs by release" in problem.message
    assert "nvidia.com/v1beta1, where each service is a component with a podTemplate" in problem.remedy


@pytest.mark.parametrize(
    ("version", "kind", "why"),
    [
        ("serving.kserve.io/v1alpha1", "LLMInferenceService", "differ in which annotations reach a pod"),
        ("serving.kserve.io/v1alpha2", "LLMInferenceService", "differ in which annotations reach a pod"),
    ],
)
def test_a_kind_that_cannot_get_the_fabric_is_refused_with_the_reason_and_a_way_out(
    contract: FabricContract, version: str, kind: str, why: str
) -> None:
    template = {"name": "train", "container": {"name": "main", "image": "a", **GPUS}, "containers": [{"name": "main"}]}
    (problem,) = problems(contract, {"apiVersion": version, "kind": kind, "spec": {"templates": [template]}})

    assert (problem.rule, problem.path) == ("ATT006", "kind")
    assert why in problem.message
    assert f"--skip {kind}" in problem.remedy
    assert "attach the fabric to" in problem.remedy
