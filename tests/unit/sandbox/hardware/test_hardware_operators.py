"""What the played operators run for their policies, and when they call them ready."""

import math
from typing import Any
from unittest.mock import MagicMock

import pytest
from played_objects import IMAGE, NAMESPACE, Object, cluster_policy, node_policy, shared_config, sriov_config

from gpu_fabric.catalog import catalog
from sandbox.crds import CHARTS
from sandbox.hardware.amd_operands import AMD_GPU_OPERATOR, AMD_NETWORK_OPERATOR, amd_operands, nics, ready_patch
from sandbox.hardware.gpu_policy import gpu_policy_status, is_news
from sandbox.hardware.inventory import inventory
from sandbox.hardware.operands import NETWORK_OPERATOR, Installed, installed, operands_of
from sandbox.hardware.operators import PUT_BACK_S, Changed, Operators
from sandbox.hardware.policy_status import refusal, status_of, status_patch

HERE = Installed(NAMESPACE)
NETWORK = {"multus": IMAGE, "cniPlugins": IMAGE}
SHARED = {**IMAGE, "config": shared_config()}
VIRTUAL = {**IMAGE, "config": sriov_config()}


def made(policy: Object, operator: Installed = HERE) -> dict[str, Object]:
    return {f"{item['kind']}/{item['metadata']['name']}": item for item in operands_of(policy, operator)}


def on_cluster(policy: Object, **status: Any) -> list[Object]:
    """The policy's workloads, each with all its pods ready unless `status` says otherwise."""
    ready = {
        "DaemonSet": {"desiredNumberScheduled": 2, "updatedNumberScheduled": 2, "numberReady": 2},
        "Deployment": {"replicas": 2, "updatedReplicas": 2, "readyReplicas": 2},
    }
    return [
        {
            **item,
            "metadata": {**item["metadata"], "generation": 3},
            "status": {"observedGeneration": 3, **ready[item["kind"]], **status},
        }
        for item in operands_of(policy, HERE)
        if item["kind"] != "ConfigMap"
    ]


def test_an_operand_goes_with_its_policy_and_has_the_image_that_the_policy_names() -> None:
    images = {"multus": {"image": "multus-cni"}, "cniPlugins": {**IMAGE, "version": "sha256:0123"}}
    common = {"repository": "mirror.example/nvidia", "version": "v2"}
    found = made(cluster_policy(nvIpam=IMAGE, secondaryNetwork=images, **{"global": common}))
    assert {item["metadata"]["ownerReferences"][0]["uid"] for item in found.values()} == {"uid-of-nic-cluster-policy"}
    pods = [found[f"DaemonSet/{name}-ds"]["spec"]["template"]["spec"] for name in ("kube-multus", "cni-plugins")]
    assert [pod["containers"][0]["image"] for pod in pods] == [
        "mirror.example/nvidia/multus-cni:v2",
        "nvcr.io/nvidia/mellanox/some-image@sha256:0123",
    ]


@pytest.mark.parametrize("rolls", [True, False])
def test_a_changed_configuration_rolls_the_plug_in_where_the_line_does_so(rolls: bool) -> None:
    operator = Installed("nvidia-network-operator", rolls=rolls)
    texts = (shared_config(), shared_config("rdma1"))
    policies = (cluster_policy(rdmaSharedDevicePlugin={**SHARED, "config": text}) for text in texts)
    before, after = ({item["kind"]: item for item in operands_of(policy, operator)} for policy in policies)
    assert (before["DaemonSet"]["spec"] != after["DaemonSet"]["spec"]) is rolls
    assert before["ConfigMap"]["data"] != after["ConfigMap"]["data"]


def test_policies_of_both_kinds_have_operands_of_their_own_without_a_word() -> None:
    policies = [node_policy(name, sriovDevicePlugin=VIRTUAL) for name in ("group-a", "group-b")]
    first, second, everywhere = (made(policy) for policy in (*policies, cluster_policy(sriovDevicePlugin=VIRTUAL)))
    assert not first.keys() & second.keys()
    assert not first.keys() & everywhere.keys()
    assert [refusal(policy) for policy in (*policies, cluster_policy())] == [None] * 3
    assert (refusal(cluster_policy("mine")) or {})["state"] == "ignore"
    daemon_set = first["DaemonSet/network-operator-sriov-device-plugin-group-a"]
    assert daemon_set["spec"]["selector"]["matchLabels"]["ds-owner"] == "nnp-group-a"
    assert daemon_set["spec"]["template"]["spec"]["nodeSelector"]["pool"] == "group-a"


def operator_of(tag: str) -> Object:
    pod = {"containers": [{"image": f"nvcr.io/nvidia/cloud-native/network-operator:{tag}"}]}
    return {"metadata": {"namespace": NAMESPACE}, "spec": {"template": {"spec": pod}}}


MULTUS = cluster_policy(secondaryNetwork=NETWORK)
OLDER = cluster_policy(secondaryNetwork={**NETWORK, "multus": {**IMAGE, "version": "v0"}})
BOTH = cluster_policy(nvIpam=IMAGE, secondaryNetwork=NETWORK)
NO_PODS = dict.fromkeys(("desiredNumberScheduled", "updatedNumberScheduled", "numberReady"), 0)


@pytest.mark.parametrize(
    ("policy", "workloads", "settled", "expected"),
    [
        pytest.param(BOTH, on_cluster(BOTH), True, "ready", id="all pods of all operands are ready"),
        pytest.param(MULTUS, on_cluster(MULTUS, numberReady=1), True, "notReady", id="a pod is not ready"),
        pytest.param(MULTUS, on_cluster(MULTUS, updatedNumberScheduled=1), True, "notReady", id="a pod is old"),
        pytest.param(MULTUS, on_cluster(MULTUS, observedGeneration=2), True, "notReady", id="a change is not seen yet"),
        pytest.param(MULTUS, on_cluster(MULTUS)[1:], True, "notReady", id="an operand is missing"),
        pytest.param(MULTUS, on_cluster(OLDER), True, "notReady", id="an operand is of an older policy"),
        pytest.param(MULTUS, on_cluster(MULTUS), False, "notReady", id="Kubernetes has not seen the last change"),
        pytest.param(MULTUS, on_cluster(MULTUS, **NO_PODS), True, "notReady", id="a DaemonSet without a pod"),
    ],
)
def test_a_policy_is_ready_when_all_pods_of_all_operands_are_and_its_status_is_written_once(
    policy: Object, workloads: list[Object], settled: bool, expected: str
) -> None:
    status = status_of(policy, HERE, workloads, settled=settled)
    assert status["state"] == expected
    assert status_patch(policy, status)["status"]["state"] == expected
    assert status_patch({**policy, "status": status}, status) == {}


def test_the_status_says_of_each_operand_whether_it_is_ready_or_not_asked_for() -> None:
    policy = cluster_policy(secondaryNetwork={"multus": IMAGE}, rdmaSharedDevicePlugin=SHARED)
    rolling = [item for item in on_cluster(policy) if item["metadata"]["name"] != "rdma-shared-dp-ds"]
    applied = status_of(policy, HERE, rolling, settled=True)["appliedStates"]
    assert {entry["name"]: entry["state"] for entry in applied if entry["state"] != "ignore"} == {
        "state-multus-cni": "ready",
        "state-RDMA-device-plugin": "notReady",
    }
    assert len(applied) == 12


def test_the_wait_for_a_changed_policy_may_end_while_statuses_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    operators = Operators(MagicMock(), MagicMock())
    operators._late["policy"] = 0.0

    def write_statuses(now: float) -> float:
        operators._late.pop("policy")
        return math.inf

    for step in ("_gpu_policies", "_operands"):
        monkeypatch.setattr(operators, step, lambda *arguments: None)
    monkeypatch.setattr(operators, "_statuses", write_statuses)
    assert operators.reconcile(0.0) == math.inf


@pytest.mark.parametrize("line", catalog().releases)
def test_an_operator_is_of_the_release_line_that_pins_its_version_and_its_chart_has_no_definition_of_a_pool(
    line: str,
) -> None:
    assert installed(operator_of(f"v{catalog().releases[line].charts[NETWORK_OPERATOR].version}")).line == line
    assert not list((CHARTS / line / NETWORK_OPERATOR / "crds").glob("*pools.yaml"))


CPU: dict[str, str] = {}
NIC = {"feature.node.kubernetes.io/pci-15b3.present": "true"}
GPU = {**NIC, "nvidia.com/gpu.present": "true"}
IDLE, ROLLING = {"status": {"desiredNumberScheduled": 0}}, {"status": {"numberUnavailable": 1}}
# Pods of an earlier template count only where something must delete them.
OLD_PODS = {"status": {"desiredNumberScheduled": 2, "updatedNumberScheduled": 1, "numberUnavailable": 0}}


def gpu_status(nodes: list[dict[str, str]], operand: Object = IDLE, name: str = "cluster-policy") -> Object:
    daemon_set = {"metadata": {"name": "toolkit"}, "spec": {}, **operand}
    return gpu_policy_status({"metadata": {"name": name}}, nodes, [daemon_set], "gpu-operator", "2026-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("nodes", "operand", "state", "why"),
    [
        ([CPU], IDLE, "ready", "NFDLabelsMissing"),
        ([], IDLE, "ready", "NFDLabelsMissing"),
        ([CPU, NIC], IDLE, "ready", "NoGPUNodes"),
        ([CPU, GPU], IDLE, "ready", "Reconciled"),
        ([CPU, GPU], ROLLING, "notReady", "Error"),
        ([CPU], ROLLING, "notReady", "Error"),
        ([GPU], {**OLD_PODS, "spec": {"updateStrategy": {"type": "OnDelete"}}}, "notReady", "Error"),
        ([GPU], {**OLD_PODS, "spec": {"updateStrategy": {"type": "RollingUpdate"}}}, "ready", "Reconciled"),
    ],
)
def test_the_gpu_policy_is_ready_for_another_reason_while_no_gpu_node_is_known(
    nodes: list[dict[str, str]], operand: Object, state: str, why: str
) -> None:
    found = gpu_status(nodes, operand)
    (ready,) = (entry for entry in found["conditions"] if entry["type"] == "Ready")
    assert (found["state"], ready["reason"]) == (state, why)


def test_a_gpu_policys_status_is_written_when_its_reason_changes_and_not_for_the_clock() -> None:
    missing, done = gpu_status([CPU]), gpu_status([GPU])
    assert is_news({}, missing)
    assert is_news({"status": missing}, done)
    later = {**done, "conditions": [{**entry, "lastTransitionTime": "later"} for entry in done["conditions"]]}
    assert not is_news({"status": done}, later)
    assert gpu_status([GPU], name="second") == {"state": "ignored"}


def daemon_set(generation: int, uid: str = "a") -> Object:
    return {"metadata": {"uid": uid, "generation": generation}}


def test_the_operator_of_23_10_puts_back_what_others_change_some_seconds_later_each_time_anew() -> None:
    changed, now = Changed(), 1000.0
    changed.wrote(daemon_set(1))
    for generation in (1, 3):
        assert changed.due([daemon_set(generation)], now) == []
        assert changed.next() == math.inf
        assert changed.due([daemon_set(generation + 1)], now) == []
        assert changed.next() == now + PUT_BACK_S
        # It stays due until it is written.
        for late in (PUT_BACK_S, PUT_BACK_S + 1):
            assert changed.due([daemon_set(generation + 1)], now + late) == ["a"]
        changed.wrote(daemon_set(generation + 2))
        now += 100


def test_one_of_before_this_process_counts_as_changed_and_one_that_is_gone_no_longer() -> None:
    changed = Changed()
    assert changed.due([daemon_set(7), daemon_set(7, "b")], 0.0) == []
    assert changed.due([daemon_set(7, "b")], PUT_BACK_S) == ["b"]
    assert changed.due([], PUT_BACK_S + 1) == []
    assert changed.next() == math.inf


OF_AMD: Object = {
    "apiVersion": "amd.com/v1alpha1",
    "kind": "NetworkConfig",
    "metadata": {"name": "gpu-fabric", "namespace": "kube-amd-network", "uid": "1"},
    "spec": {
        "selector": {"machine": "pollara"},
        "devicePlugin": {"enableNodeLabeller": True, "devicePluginImage": "plugin:1", "devicePluginTolerations": [{}]},
        "metricsExporter": {"enable": False},
        "secondaryNetwork": {"cniPlugins": {"enable": True, "image": "cni:1"}},
    },
}


def test_amds_operator_runs_what_its_object_asks_for_on_the_nodes_that_it_selects() -> None:
    made = amd_operands(OF_AMD, AMD_NETWORK_OPERATOR)
    pods = {item["metadata"]["name"]: item["spec"]["template"]["spec"] for item in made}

    assert list(pods) == ["gpu-fabric-device-plugin", "gpu-fabric-node-labeller", "gpu-fabric-cni-plugins"]
    assert {name: pod["containers"][0]["image"] for name, pod in pods.items()} == dict(
        zip(pods, ("plugin:1", None, "cni:1"), strict=True)
    )
    assert [pod["nodeSelector"] for pod in pods.values()] == [{"machine": "pollara"}] * 3
    assert [pod.get("tolerations") for pod in pods.values()] == [[{}], None, None]


@pytest.mark.parametrize(
    ("plugin", "driver", "runs"),
    [(True, False, "device-plugin"), (False, True, "dra-driver")],
    ids=["plug-in", "claims"],
)
def test_amds_gpu_operator_runs_the_one_that_its_object_has_on(plugin: bool, driver: bool, runs: str) -> None:
    spec = {"selector": {}, "devicePlugin": {"enableDevicePlugin": plugin}, "draDriver": {"enable": driver}}
    (made,) = amd_operands({**OF_AMD, "kind": "DeviceConfig", "spec": spec}, AMD_GPU_OPERATOR)

    assert made["metadata"]["name"] == f"gpu-fabric-{runs}"


def test_amds_object_is_made_ready_once() -> None:
    made = {**OF_AMD, **ready_patch(OF_AMD, "2026-11-29T16:00:00Z")}

    assert made["status"]["conditions"][0]["type"] == "Ready"
    assert ready_patch(made, "2026-11-29T17:00:00Z") == {}


@pytest.mark.parametrize(("shape", "offered"), [("BM.GPU.MI355X.8", {"amd.com/nic": 8}), ("BM.GPU.MI300X.8", {})])
def test_amds_plug_in_offers_all_of_amds_nics_as_one_resource(shape: str, offered: dict[str, int]) -> None:
    assert nics(inventory(catalog().shapes[shape])) == offered
