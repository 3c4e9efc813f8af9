"""Every kind of workload: what a pod of it has afterwards, and what a user finds unchanged in the file."""

import difflib
from pathlib import Path
from typing import Any

import pytest
from attached_pods import EXPECTED, MANIFESTS, NETWORKS, Pod, as_template, at, documents_of, pods_in, text_of
from committed_stacks import ROOT
from stack_plans import stack_plan

from gpu_fabric.attach.attachment import AttachOptions, attach
from gpu_fabric.attach.text.manifests import AttachedText, attach_text
from gpu_fabric.contract import FabricContract
from gpu_fabric.plan import Plan

NAMES = sorted(EXPECTED)


@pytest.fixture(scope="module")
def contract(dev_plan: Plan) -> FabricContract:
    return dev_plan.workload


@pytest.fixture(scope="module")
def guide_contract(root: Path) -> FabricContract:
    """DigitalOcean's: networks as names, found from other namespaces, too."""
    return stack_plan("doks-h200", root).workload


@pytest.fixture(scope="module", params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    result: str = request.param
    return result


@pytest.fixture(scope="module")
def attached(name: str, contract: FabricContract) -> AttachedText:
    return attach_text(text_of(name), contract)


@pytest.fixture(scope="module")
def pods(name: str, attached: AttachedText) -> list[Pod]:
    return pods_in(attached.text, name)


def test_every_manifest_is_looked_at() -> None:
    files = {path.name for path in MANIFESTS.iterdir()} - {"README.md", "trainjob.yaml"}
    assert files == set(EXPECTED)
    assert len(files) > 20


def test_a_pod_that_trains_has_all_that_the_contract_names_once(pods: list[Pod], contract: FabricContract) -> None:
    for pod in pods:
        assert {f"{network.network}@{network.interface}" for network in contract.networks} <= set(pod.networks())
        for name, wanted in contract.resources.items():
            assert (str(pod.limits[name]), str(pod.requests[name])) == (wanted, wanted)
        assert contract.environment.keys() <= pod.environment.keys()
        for file in contract.files:
            assert pod.mounted(file.mount_path)["configMap"]["name"] == file.config_map
        assert pod.mounted(pod.environment["NCCL_TOPO_FILE"])
        assert pod.mounted("/dev/shm")["emptyDir"]["medium"] == "Memory"
        assert "IPC_LOCK" in pod.container["securityContext"]["capabilities"]["add"]
        assert contract.node_selector.items() <= pod.spec["nodeSelector"].items()
        assert any(
            entry.get("operator") == "Exists" and entry.get("key", "nvidia.com/gpu") == "nvidia.com/gpu"
            for entry in pod.spec["tolerations"]
        )
        for names in (
            [volume["name"] for volume in pod.spec["volumes"]],
            [mount["mountPath"].rstrip("/") for mount in pod.container["volumeMounts"]],
            [entry["name"] for entry in pod.container["env"]],
        ):
            assert len(names) == len(set(names))


def test_pods_and_containers_that_do_not_train_stay_as_they_are(name: str, attached: AttachedText) -> None:
    expected = EXPECTED[name]
    before, after = documents_of(text_of(name)), documents_of(attached.text)
    for path in expected.others:
        assert at(after[expected.document], path) == at(before[expected.document], path)
    for path, trains in expected.attached.items():
        old, new = (as_template(at(documents[expected.document], path))["spec"] for documents in (before, after))
        assert old.get("initContainers") == new.get("initContainers")
        assert [entry for entry in old["containers"] if entry["name"] != trains] == [
            entry for entry in new["containers"] if entry["name"] != trains
        ]


def test_everything_that_the_user_wrote_is_still_there(name: str, attached: AttachedText) -> None:
    assert_kept(documents_of(text_of(name)), documents_of(attached.text))


def test_a_file_in_block_style_only_gets_lines(contract: FabricContract) -> None:
    for name in ("pod.yaml", "deployment.yaml", "cronjob.yaml", "mpijob.yaml", "several-documents.yaml", "list.yaml"):
        before, after = text_of(name).splitlines(), attach_text(text_of(name), contract).text.splitlines()
        assert [line for line in difflib.ndiff(before, after) if line.startswith("- ")] == []


def assert_kept(before: Any, after: Any) -> None:
    """Mappings and lists of before are in after, in their order; only the networks' annotation is another text."""
    if isinstance(before, dict):
        assert [key for key in after if key in before] == list(before)
        for key, value in before.items():
            if key != NETWORKS:
                assert_kept(value, after[key])
    elif isinstance(before, list):
        assert len(after) >= len(before)
        for old, new in zip(before, after, strict=False):
            assert_kept(old, new)
    elif before is not None:
        assert (type(after), after) == (type(before), before)


def test_a_train_job_patches_the_pods_of_its_runtime(contract: FabricContract) -> None:
    text = attach_text(text_of("trainjob.yaml"), contract).text
    (job,) = documents_of(text)
    (patch,) = job["spec"]["runtimePatches"]
    (nodes,) = patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    template = nodes["template"]["spec"]["template"]
    (container,) = template["spec"]["containers"]
    trainer = job["spec"]["trainer"]

    assert (nodes["name"], container["name"]) == ("node", "node")
    assert NETWORKS in template["metadata"]["annotations"]
    assert set(container) == {"name", "volumeMounts", "securityContext"}
    assert {volume["name"] for volume in template["spec"]["volumes"]} == {m["name"] for m in container["volumeMounts"]}
    assert trainer["resourcesPerNode"]["limits"]["nvidia.com/rail_00"] == "1"
    assert {"name": "NCCL_DEBUG", "value": "WARN"} in trainer["env"]
    assert {"name": "NCCL_IB_HCA", "value": "mlx5"} in trainer["env"]
    assert attach_text(text, contract).text == text


def test_a_deployment_takes_the_old_pod_down_before_the_new_one_comes(contract: FabricContract) -> None:
    (deployment,) = documents_of(attach_text(text_of("deployment.yaml"), contract).text)

    rolling = {"maxSurge": 0, "maxUnavailable": 1}
    assert deployment["spec"]["strategy"] == {"type": "RollingUpdate", "rollingUpdate": rolling}
    assert deployment["metadata"]["annotations"] == {"owner": "search"}


def test_a_deployment_that_rolls_keeps_doing_so_and_is_warned_about(contract: FabricContract) -> None:
    text = text_of("deployment.yaml").replace("  replicas: 1\n", "  replicas: 1\n  strategy: {type: RollingUpdate}\n")
    attached = attach_text(text, contract)

    assert "strategy: {type: RollingUpdate}\n" in attached.text
    assert any("a new pod waits for the devices of an old one" in note.message for note in attached.notes)


@pytest.mark.parametrize("strategy", [{"type": "Recreate"}, {"rollingUpdate": {"maxSurge": 0}}])
def test_a_deployments_own_strategy_that_works_stays(contract: FabricContract, strategy: dict[str, Any]) -> None:
    (deployment,) = documents_of(text_of("deployment.yaml"))
    deployment["spec"]["strategy"] = strategy
    result = attach([deployment], contract)

    assert strategy.items() <= result.documents[0]["spec"]["strategy"].items()
    assert "ATT059" not in {note.id for note in result.notes}


def test_the_networks_of_the_guides_form_are_written_as_it_writes_them(guide_contract: FabricContract) -> None:
    (pod,) = pods_in(attach_text(text_of("pod.yaml"), guide_contract).text, "pod.yaml")

    assert pod.annotations[NETWORKS].startswith("roce-net-fabric0@fabric0, roce-net-fabric1@fabric1, ")


def test_on_doks_a_job_elsewhere_takes_the_networks_with_their_namespace_and_no_files(
    guide_contract: FabricContract,
) -> None:
    attached = attach_text(text_of("pod.yaml"), guide_contract, AttachOptions(namespace="research"))
    (pod,) = pods_in(attached.text, "pod.yaml")

    assert pod.networks()[0] == "default/roce-net-fabric0@fabric0"
    assert all("configMap" not in volume for volume in pod.spec["volumes"])
    assert "NCCL_TOPO_FILE" not in pod.environment
    assert any("into research, where the fabric's files are not" in note.message for note in attached.notes)


def test_what_else_is_known_about_jobs_on_a_shape_is_said_once(root: Path) -> None:
    contract = stack_plan("doks-mi325x", root).workload
    text = text_of("pod.yaml") + "---\n" + text_of("pod.yaml").replace("probe", "other")
    attached = attach_text(text, contract, AttachOptions(("shell",)))

    assert [note.message for note in attached.notes if note.id == "ATT061"] == [
        f"about jobs on {contract.shape}: {line}" for line in contract.advice
    ]
    assert contract.advice
    assert attached.text.count("amd.com/gpu: ") == 4


def job_on(stack: str) -> Pod:
    (pod,) = pods_in(attach_text(text_of("job.yaml"), stack_plan(stack, ROOT).workload).text, "job.yaml")
    return pod


def test_on_the_hosts_network_a_pod_gets_that_network_its_devices_and_the_right_to_open_them() -> None:
    pod = job_on("host-network")

    assert (pod.spec["hostNetwork"], pod.spec["dnsPolicy"]) == (True, "ClusterFirstWithHostNet")
    assert pod.container["securityContext"]["privileged"] is True
    assert pod.mounted("/dev/infiniband")["hostPath"] == {"path": "/dev/infiniband"}
    assert pod.metadata == {}


def test_where_spiderpool_injects_networks_a_pod_carries_its_one_word() -> None:
    assert job_on("spiderpool-ib").annotations == {"cni.spidernet.io/rdma-resource-inject": "rdma-network"}


def test_for_dpdk_a_pod_gets_processors_of_its_own_and_huge_pages() -> None:
    pod = job_on("sriov-dpdk")

    assert (pod.limits["cpu"], pod.limits["memory"]) == (pod.requests["cpu"], pod.requests["memory"]) == ("16", "64Gi")
    assert pod.mounted("/dev/hugepages")["emptyDir"] == {"medium": "HugePages-1Gi"}


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("job.yaml", "metadata.labels"),
        ("mpijob.yaml", "metadata.labels"),
        ("jobset.yaml", "metadata.labels"),
        ("raycluster.yaml", "metadata.labels"),
        ("cronjob.yaml", "spec.jobTemplate.metadata.labels"),
    ],
)
def test_a_queue_of_kueue_is_a_label_of_what_it_queues(contract: FabricContract, name: str, path: str) -> None:
    (document,) = documents_of(attach_text(text_of(name), contract, AttachOptions(queue="team-a")).text)

    assert at(document, path)["kueue.x-k8s.io/queue-name"] == "team-a"


def test_a_queue_of_a_volcano_job_is_its_own_field(contract: FabricContract) -> None:
    (document,) = documents_of(attach_text(text_of("volcano-job.yaml"), contract, AttachOptions(queue="team-a")).text)

    assert document["spec"]["queue"] == "team-a"
    assert "labels" not in document["metadata"]
