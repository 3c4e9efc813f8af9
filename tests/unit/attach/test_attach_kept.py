"""What a user set already: it stays, and is said where the fabric has another value; what cannot work is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from attached_pods import NETWORKS, Pod, contract_of

from gpu_fabric.attach.attachment import Wishes, attach, attach_text
from gpu_fabric.attach.place import AttachError, Note, Problem
from gpu_fabric.contract import FabricContract
from gpu_fabric.plan import Plan

# What is said of whatever gets the fabric.
ADDED = "ATT063"
INJECT = "cni.spidernet.io/rdma-resource-inject"


@pytest.fixture(scope="module")
def contract(dev_plan: Plan) -> FabricContract:
    return dev_plan.workload


MPI_IN_A_LIST = {
    "mlPolicy": [{}],
    "template": {
        "spec": {
            "replicatedJobs": [
                {
                    "name": "node",
                    "template": {
                        "spec": {
                            "template": {
                                "spec": {
                                    "containers": [{"name": "node", "resources": {"limits": {"nvidia.com/gpu": 8}}}]
                                }
                            }
                        }
                    },
                }
            ]
        }
    },
}


def pod(container: dict[str, Any] | None = None, annotations: dict[str, str] | None = None, **spec: Any) -> Any:
    """A pod whose one container asks for all GPUs, with what a test adds."""
    asked = {"resources": {"limits": {"nvidia.com/gpu": 8}}} | (container or {})
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "one", **({"annotations": annotations} if annotations is not None else {})},
        "spec": {"containers": [{"name": "main", "image": "registry.example/train:7", **asked}], **spec},
    }


def attached(document: Any, contract: FabricContract, **wishes: Any) -> tuple[Pod, tuple[Note, ...]]:
    result = attach([document], contract, Wishes(**wishes))
    return Pod(result.documents[0], "main"), tuple(note for note in result.notes if note.rule != ADDED)


def problems(document: Any, contract: FabricContract, **wishes: Any) -> tuple[Problem, ...]:
    with pytest.raises(AttachError) as raised:
        attach([document], contract, Wishes(**wishes))
    return raised.value.problems


def test_the_documents_that_are_handed_in_stay_as_they_are(contract: FabricContract) -> None:
    document = pod(annotations={"team": "vision"})
    before = json.dumps(document)
    attach([document], contract)

    assert json.dumps(document) == before


def test_a_variable_with_another_value_stays_and_is_said(contract: FabricContract) -> None:
    result, notes = attached(pod({"env": [{"name": "NCCL_IB_TC", "value": "106"}]}), contract)

    assert result.environment["NCCL_IB_TC"] == "106"
    assert [note.message for note in notes] == ["NCCL_IB_TC keeps '106'; the fabric's value is '41'"]


def test_a_variable_from_elsewhere_stays(contract: FabricContract) -> None:
    entry = {"name": "NCCL_IB_TC", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    result, notes = attached(pod({"env": [entry]}), contract)

    assert entry in result.container["env"]
    assert len([other for other in result.container["env"] if other["name"] == "NCCL_IB_TC"]) == 1
    assert "what it refers to" in notes[0].message


def test_variables_from_whole_maps_are_warned_about(contract: FabricContract) -> None:
    _, notes = attached(pod({"envFrom": [{"configMapRef": {"name": "tuning"}}]}), contract)

    assert "win over those of the same name" in notes[0].message


def test_the_users_number_of_gpus_stays_as_limit_and_request_and_is_said(contract: FabricContract) -> None:
    result, notes = attached(pod({"resources": {"limits": {"nvidia.com/gpu": 4}}}), contract)

    assert result.limits["nvidia.com/gpu"] == result.requests["nvidia.com/gpu"] == 4
    assert notes[0].message == "keeps 4; the fabric's value is 8"


def test_a_request_alone_becomes_the_limit_too(contract: FabricContract) -> None:
    result, _ = attached(pod({"resources": {"requests": {"nvidia.com/gpu": "8"}}}), contract)

    assert result.limits["nvidia.com/gpu"] == "8"


def test_a_request_below_the_limit_of_a_device_is_refused(contract: FabricContract) -> None:
    asked = {"limits": {"nvidia.com/gpu": 8}, "requests": {"nvidia.com/gpu": 4}}
    (problem,) = problems(pod({"resources": asked}), contract)

    assert problem.path == "spec.containers[0].resources.requests[nvidia.com/gpu]"
    assert "the request 4 is not the limit 8" in problem.message


def test_fewer_devices_than_networks_are_refused(flat_plan: Plan) -> None:
    asked = {"limits": {"nvidia.com/gpu": 8, "nvidia.com/sriov_rdma_vf": 4}}
    (problem,) = problems(pod({"resources": asked}), flat_plan.workload)

    assert problem.message == "asks for 4, but the networks need 16"


def test_gpus_that_the_stack_does_not_have_are_refused(contract: FabricContract) -> None:
    (problem,) = problems(pod({"resources": {"limits": {"amd.com/gpu": 8}}}), contract)

    assert problem.message == "asks for GPUs; the stack's nodes have nvidia.com/gpu"


@pytest.mark.parametrize("amount", ["8", 8, "8000m", 8.0])
def test_the_same_amount_in_other_words_is_the_same(contract: FabricContract, amount: Any) -> None:
    _, notes = attached(pod({"resources": {"limits": {"nvidia.com/gpu": amount}}}), contract)

    assert notes == ()


def test_shared_memory_that_is_there_is_kept(contract: FabricContract) -> None:
    volume = {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "500Gi"}}
    mounts = [{"name": "shm", "mountPath": "/dev/shm"}]
    result, notes = attached(pod({"volumeMounts": mounts}, volumes=[volume]), contract)

    assert result.mounted("/dev/shm") == volume
    assert [note.message for note in notes] == ["/dev/shm keeps what is mounted there"]


def test_a_volume_of_the_users_own_that_has_the_fabrics_name_is_left_alone(contract: FabricContract) -> None:
    volume = {"name": "shared-memory", "persistentVolumeClaim": {"claimName": "notes"}}
    mounts = [{"name": "shared-memory", "mountPath": "/notes"}]
    result, _ = attached(pod({"volumeMounts": mounts}, volumes=[volume]), contract)

    assert result.mounted("/notes") == volume
    assert "emptyDir" in result.mounted("/dev/shm")


def test_an_older_file_of_the_fabric_gives_way_to_the_new_one(contract: FabricContract) -> None:
    first = attach([pod()], contract).documents[0]
    older = json.loads(json.dumps(first).replace(contract.files[0].config_map, "nccl-settings-bm-gpu-h100-8-00000000"))
    result, notes = attached(older, contract)

    assert result.mounted("/etc/nccl.conf")["configMap"]["name"] == contract.files[0].config_map
    assert "gives way to" in notes[0].message
    assert attach([older], contract).documents[0] == first


def test_a_toleration_that_covers_the_fabrics_is_enough(contract: FabricContract) -> None:
    result, _ = attached(pod(tolerations=[{"key": "nvidia.com/gpu", "operator": "Exists"}]), contract)

    assert result.spec["tolerations"] == [{"key": "nvidia.com/gpu", "operator": "Exists"}]


def test_a_toleration_for_a_while_is_not_enough(contract: FabricContract) -> None:
    own = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}
    result, _ = attached(pod(tolerations=[own]), contract)

    assert len(result.spec["tolerations"]) == 2


def test_other_nodes_than_the_stacks_are_refused(contract: FabricContract) -> None:
    (problem,) = problems(pod(nodeSelector={"node.kubernetes.io/instance-type": "BM.GPU4.8"}), contract)

    assert problem.path == "spec.nodeSelector[node.kubernetes.io/instance-type]"


def test_dropping_all_capabilities_goes_with_adding_one_but_dropping_that_one_does_not(
    contract: FabricContract,
) -> None:
    security = {"securityContext": {"runAsNonRoot": True, "capabilities": {"drop": ["ALL"]}}}
    result, _ = attached(pod(security), contract)

    assert result.container["securityContext"] == {
        "runAsNonRoot": True,
        "capabilities": {"drop": ["ALL"], "add": ["IPC_LOCK"]},
    }
    (problem,) = problems(pod({"securityContext": {"capabilities": {"drop": ["IPC_LOCK"]}}}), contract)
    assert problem.remedy == "remove IPC_LOCK"


def test_a_pod_on_the_hosts_network_gets_no_networks_and_so_is_refused(contract: FabricContract) -> None:
    (problem,) = problems(pod(hostNetwork=True), contract)

    assert (problem.path, problem.remedy) == ("spec.hostNetwork", "remove it")


def test_networks_written_as_names_stay_first_and_keep_their_form(contract: FabricContract) -> None:
    result, notes = attached(pod(annotations={NETWORKS: "stores/nfs@nfs0"}), contract)

    assert result.annotations[NETWORKS].startswith("stores/nfs@nfs0, rail-00@net1, ")
    assert notes == ()


def test_networks_written_as_json_keep_what_else_they_say(contract: FabricContract) -> None:
    own = {"name": "nfs", "interface": "nfs0", "mac": "02:00:00:00:00:01", "ips": ["10.9.0.7/24"]}
    result, _ = attached(pod(annotations={NETWORKS: json.dumps([own])}), contract)
    entries = json.loads(result.annotations[NETWORKS])

    assert entries[0] == own
    assert len(entries) == 1 + len(contract.networks)


def test_a_network_without_an_interface_name_takes_none_of_the_fabrics(contract: FabricContract) -> None:
    result, notes = attached(pod(annotations={NETWORKS: "nfs"}), contract)

    assert result.annotations[NETWORKS].endswith("rail-15@net16, nfs")
    assert "its interface is net17 now" in notes[0].message
    again = attach([attach([pod(annotations={NETWORKS: "nfs"})], contract).documents[0]], contract)
    assert again.notes == ()


def test_an_interface_that_has_the_fabrics_name_is_refused(contract: FabricContract) -> None:
    (problem,) = problems(pod(annotations={NETWORKS: "nfs@net3"}), contract)

    assert problem.message == "the fabric's interfaces are named net3, too"


def test_networks_of_the_fabric_that_were_written_by_hand_are_not_attached_twice(contract: FabricContract) -> None:
    by_hand = ",".join(f"rail-{k:02d}" for k in range(16))
    result, _ = attached(pod(annotations={NETWORKS: by_hand}), contract)

    assert result.annotations[NETWORKS] == ", ".join(f"rail-{k:02d}@net{k + 1}" for k in range(16))


def test_one_network_for_all_rails_is_attached_once_for_each(flat_plan: Plan) -> None:
    result, _ = attached(pod(annotations={NETWORKS: "default/rdma-fabric, rdma-fabric"}), flat_plan.workload)
    names = result.annotations[NETWORKS].split(", ")

    assert names[:2] == ["default/rdma-fabric@net1", "rdma-fabric@net2"]
    assert sorted(entry.partition("@")[2] for entry in names) == sorted(f"net{k}" for k in range(1, 17))


@pytest.mark.parametrize("text", ["[", "a//b", "@net1", '[{"interface": "net1"}]', "[1]", "a,,b"])
def test_networks_that_cannot_be_read_are_refused(contract: FabricContract, text: str) -> None:
    (problem,) = problems(pod(annotations={NETWORKS: text}), contract)

    assert problem.message.startswith("cannot be read: ")


def test_networks_and_injection_exclude_each_other(contract: FabricContract, root: Any) -> None:
    from gpu_fabric.prepare import prepare_stack

    injecting = prepare_stack("spiderpool-ib", root).workload
    (own,) = problems(pod(annotations={NETWORKS: "nfs@nfs0"}), injecting)
    (theirs,) = problems(pod(annotations={INJECT: "other"}), contract)
    (another,) = problems(pod(annotations={INJECT: "other"}), injecting)

    assert own.path == f"metadata.annotations[{NETWORKS}]"
    assert "would replace the fabric's networks" in theirs.message
    assert another.message == "names another fabric"


def test_a_namespace_without_the_fabric_is_refused_with_those_that_have_it(contract: FabricContract) -> None:
    (problem,) = problems(pod(), contract, namespace="research")

    assert problem.message == "the fabric is not offered in research"
    assert problem.remedy.startswith("use default (in the manifest, or with -n)")


def test_the_manifests_own_namespace_counts_more_than_the_options(contract: FabricContract) -> None:
    document = pod()
    document["metadata"]["namespace"] = "research"

    assert problems(document, contract, namespace="default")[0].path == "metadata.namespace"


def test_another_queue_is_refused(contract: FabricContract) -> None:
    document = pod()
    document["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "b"}

    assert "'b' already" in problems(document, contract, queue="a")[0].message


def test_all_problems_are_said_at_once_with_document_and_path(contract: FabricContract) -> None:
    with pytest.raises(AttachError) as raised:
        attach([pod(hostNetwork=True), None, pod(annotations={NETWORKS: "["}), pod(nodeSelector=3), 7], contract)

    assert [(problem.document, problem.path) for problem in raised.value.problems] == [
        (1, "spec.hostNetwork"),
        (3, f"metadata.annotations[{NETWORKS}]"),
        (4, "spec.nodeSelector"),
        (5, ""),
    ]
    text = raised.value.explanation("jobs.yaml")
    assert text.startswith("jobs.yaml: 4 problems, nothing was attached.\n  document 1, spec.hostNetwork: ")


@pytest.mark.parametrize(
    ("document", "path"),
    [
        (pod({"env": {"A": "b"}}), "spec.containers[0].env"),
        (pod({"env": ["A=b"]}), "spec.containers[0].env[0]"),
        (pod({"resources": []}), "spec.containers[0].resources"),
        (
            pod({"securityContext": {"capabilities": {"add": "IPC_LOCK"}}}),
            "spec.containers[0].securityContext.capabilities.add",
        ),
        (pod(annotations={NETWORKS: 5}), f"metadata.annotations[{NETWORKS}]"),  # type: ignore[dict-item]
        ({"apiVersion": "v1", "kind": "Pod"}, "spec.containers"),
        ({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": []}}, "spec.containers"),
        ({"apiVersion": "batch/v1", "kind": "Job", "spec": {}}, "spec"),
        (
            {**pod(), "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainingRuntime", "spec": MPI_IN_A_LIST},
            "spec.mlPolicy",
        ),
        ({"apiVersion": "batch/v1", "kind": "Job", "spec": "x"}, "spec"),
        ({"kind": "Pod"}, ""),
        ({"apiVersion": "v1", "kind": "List", "items": [3]}, "items[0]"),
    ],
)
def test_what_is_not_built_as_its_kind_is_named_with_its_path(
    contract: FabricContract, document: Any, path: str
) -> None:
    assert path in [problem.path for problem in problems(document, contract)]


@pytest.mark.parametrize("path", ["/etc/nccl/topology.xml", "/mnt/topo.xml"])
def test_another_topology_file_stays_and_it_is_said_that_nccl_ignores_a_wrong_path(
    contract: FabricContract, path: str
) -> None:
    one, notes = attached(pod({"env": [{"name": "NCCL_TOPO_FILE", "value": path}]}), contract)

    assert one.environment["NCCL_TOPO_FILE"] == path
    assert [note.message for note in notes] == [
        "NCCL_TOPO_FILE is not the fabric's; NCCL ignores a path without a file, and does not say so",
        f"NCCL_TOPO_FILE keeps '{path}'; the fabric's value is '/etc/nccl/topo.xml'",
    ]


def test_a_topology_file_where_the_fabric_has_none_is_pointed_out(contract: FabricContract) -> None:
    without = contract.model_copy(
        update={"environment": {k: v for k, v in contract.environment.items() if k != "NCCL_TOPO_FILE"}}
    )
    _, notes = attached(pod({"env": [{"name": "NCCL_TOPO_FILE", "value": "/topo.xml"}]}), without)

    assert [note.message.partition(";")[0] for note in notes] == ["NCCL_TOPO_FILE is not the fabric's"]


def test_the_fabrics_own_topology_file_is_nothing_to_talk_about(contract: FabricContract) -> None:
    _, notes = attached(pod({"env": [{"name": "NCCL_TOPO_FILE", "value": "/etc/nccl/topo.xml"}]}), contract)

    assert notes == ()


def test_a_graph_file_is_refused(contract: FabricContract) -> None:
    (problem,) = problems(pod({"env": [{"name": "NCCL_GRAPH_FILE", "value": "/graphs.xml"}]}), contract)

    assert problem.message == "NCCL_GRAPH_FILE forces rings and trees for the exact ranks of one job"
    assert problem.remedy == "remove it"


@pytest.mark.parametrize("as_json", [True, False])
@pytest.mark.parametrize("empty", [None, {}])
@pytest.mark.parametrize("key", ["metadata", "securityContext", "capabilities"])
def test_an_empty_mapping_that_gets_nothing_stays_as_it_is_written(key: str, empty: Any, *, as_json: bool) -> None:
    known = contract_of("host-network")
    bare = {"capabilities": (), "privileged": False, "annotations": {}}
    patch: Any = json.loads(json.dumps(known.pod_template_patch))
    patch["spec"]["containers"][0]["securityContext"] = {"capabilities": {"add": []}}
    known = known.model_copy(update={**bare, "pod_template_patch": patch})
    container: dict[str, Any] = {"name": "main", "resources": {"limits": {"nvidia.com/gpu": 8}}}
    template: dict[str, Any] = {"spec": {"containers": [container]}}
    if key == "metadata":
        template[key] = empty
    else:
        container["securityContext"] = empty if key == "securityContext" else {key: empty}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "one"}, "spec": {"template": template}}
    text = attach_text(json.dumps(job) if as_json else yaml.safe_dump(job, sort_keys=False), known).text
    after = yaml.safe_load(text)["spec"]["template"]

    if key == "metadata":
        assert after[key] == empty
    else:
        assert after["spec"]["containers"][0]["securityContext"] == container["securityContext"]
    assert attach_text(text, known).text == text
