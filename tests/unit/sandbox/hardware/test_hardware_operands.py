"""What the Network Operator runs for a policy, and when it calls the policy ready."""

from __future__ import annotations

import math
from typing import Any
from unittest.mock import MagicMock

import pytest
from played_objects import IMAGE, NAMESPACE, Object, cluster_policy, node_policy, shared_config, sriov_config

from sandbox.hardware.operands import Installed, installed, operands_of
from sandbox.hardware.operators import Operators
from sandbox.hardware.policy_status import refusal, status_of, status_patch

HERE = Installed(NAMESPACE)
NETWORK = {"multus": IMAGE, "cniPlugins": IMAGE}
SHARED = {**IMAGE, "config": shared_config()}
VIRTUAL = {**IMAGE, "config": sriov_config()}


def made(policy: Object) -> dict[str, Object]:
    return {f"{item['kind']}/{item['metadata']['name']}": item for item in operands_of(policy, HERE)}


def pod_of(policy: Object, name: str) -> Object:
    spec: Object = made(policy)[f"DaemonSet/{name}"]["spec"]["template"]["spec"]
    return spec


def on_cluster(policy: Object, **status: Any) -> list[Object]:
    """The policy's workloads, each with all its pods ready unless `status` says otherwise."""
    ready = {
        "DaemonSet": {"desiredNumberScheduled": 2, "updatedNumberScheduled": 2, "numberReady": 2},
        "Deployment": {"replicas": 2, "updatedReplicas": 2, "readyReplicas": 2},
    }
    found = []
    for item in operands_of(policy, HERE):
        if item["kind"] != "ConfigMap":
            metadata = {**item["metadata"], "generation": 3}
            present = {"observedGeneration": 3, **ready[item["kind"]], **status}
            found.append({**item, "metadata": metadata, "status": present})
    return found


def test_each_section_brings_the_workloads_of_the_real_operator() -> None:
    policy = cluster_policy(
        nvIpam=IMAGE, secondaryNetwork={**NETWORK, "ipoib": IMAGE}, rdmaSharedDevicePlugin=SHARED, ibKubernetes=IMAGE
    )
    assert set(made(policy)) == {
        "DaemonSet/kube-multus-ds",
        "DaemonSet/cni-plugins-ds",
        "DaemonSet/ipoib-cni-ds",
        "DaemonSet/rdma-shared-dp-ds",
        "ConfigMap/rdma-devices",
        "DaemonSet/nv-ipam-node",
        "Deployment/nv-ipam-controller",
        "Deployment/ib-kubernetes",
    }


def test_an_operand_goes_with_its_policy() -> None:
    owners = {item["metadata"]["ownerReferences"][0]["uid"] for item in made(cluster_policy(nvIpam=IMAGE)).values()}
    assert owners == {"uid-of-nic-cluster-policy"}


def test_an_image_falls_back_to_the_policys_common_repository_and_version() -> None:
    policy = cluster_policy(secondaryNetwork={"multus": {"image": "multus-cni"}})
    policy["spec"]["global"] = {"repository": "mirror.example/nvidia", "version": "v2"}
    assert pod_of(policy, "kube-multus-ds")["containers"][0]["image"] == "mirror.example/nvidia/multus-cni:v2"


def test_an_image_may_be_named_by_its_digest() -> None:
    policy = cluster_policy(secondaryNetwork={"multus": {**IMAGE, "version": "sha256:0123"}})
    assert pod_of(policy, "kube-multus-ds")["containers"][0]["image"].endswith("some-image@sha256:0123")


def test_a_device_plugin_runs_only_where_a_nics_driver_is_in_place() -> None:
    pod = pod_of(cluster_policy(sriovDevicePlugin=VIRTUAL), "network-operator-sriov-device-plugin")
    assert pod["nodeSelector"] == {
        "feature.node.kubernetes.io/pci-15b3.present": "true",
        "network.nvidia.com/operator.mofed.wait": "false",
    }


def test_every_daemon_set_tolerates_the_gpu_taint_and_what_the_policy_says() -> None:
    dedicated = {"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}
    pod = pod_of(cluster_policy(secondaryNetwork=NETWORK, tolerations=[dedicated]), "kube-multus-ds")
    assert [toleration["key"] for toleration in pod["tolerations"]] == ["nvidia.com/gpu", "dedicated"]


def test_the_plugins_pod_reads_the_configuration_from_the_policys_config_map() -> None:
    policy = cluster_policy(sriovDevicePlugin=VIRTUAL)
    (volume,) = pod_of(policy, "network-operator-sriov-device-plugin")["volumes"]
    assert made(policy)[f"ConfigMap/{volume['configMap']['name']}"]["data"] == {"config.json": sriov_config()}


@pytest.mark.parametrize("rolls", [True, False])
def test_a_changed_configuration_rolls_the_plug_in_where_the_line_does_so(rolls: bool) -> None:
    operator = Installed("nvidia-network-operator", rolls=rolls)
    texts = (shared_config(), shared_config("rdma1"))
    policies = (cluster_policy(rdmaSharedDevicePlugin={**SHARED, "config": text}) for text in texts)
    before, after = ({item["kind"]: item for item in operands_of(policy, operator)} for policy in policies)

    assert (before["DaemonSet"]["spec"] != after["DaemonSet"]["spec"]) is rolls
    assert before["ConfigMap"]["data"] != after["ConfigMap"]["data"]


def test_policies_for_single_nodes_have_operands_of_their_own_on_those_nodes() -> None:
    policies = [node_policy(name, sriovDevicePlugin=VIRTUAL) for name in ("group-a", "group-b")]
    first, second = (made(policy) for policy in policies)
    daemon_set = next(item for item in first.values() if item["kind"] == "DaemonSet")

    assert not first.keys() & second.keys()
    assert "ConfigMap/network-operator-sriovdp-config-group-a" in first
    assert daemon_set["metadata"]["name"] == "network-operator-sriov-device-plugin-group-a"
    assert daemon_set["spec"]["selector"]["matchLabels"]["ds-owner"] == "nnp-group-a"
    assert daemon_set["spec"]["template"]["spec"]["nodeSelector"]["pool"] == "group-a"


@pytest.mark.parametrize(
    ("tag", "name"), [("v23.10.0", "sriov-device-plugin"), ("v26.4.1", "network-operator-sriov-device-plugin")]
)
def test_the_plugins_daemon_set_is_called_as_in_the_installed_release(tag: str, name: str) -> None:
    container = {"image": f"nvcr.io/nvidia/cloud-native/network-operator:{tag}"}
    operator = {"metadata": {"namespace": "n"}, "spec": {"template": {"spec": {"containers": [container]}}}}
    _, daemon_set = operands_of(cluster_policy(sriovDevicePlugin=VIRTUAL), installed(operator))
    assert (daemon_set["metadata"]["namespace"], daemon_set["metadata"]["name"]) == ("n", name)
    assert daemon_set["spec"]["selector"]["matchLabels"]["name"] == name


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
def test_a_policy_is_ready_when_all_pods_of_all_operands_are(
    policy: Object, workloads: list[Object], settled: bool, expected: str
) -> None:
    assert status_of(policy, HERE, workloads, settled=settled)["state"] == expected


def test_the_status_says_of_each_operand_whether_it_is_ready_or_not_asked_for() -> None:
    policy = cluster_policy(secondaryNetwork={"multus": IMAGE}, rdmaSharedDevicePlugin=SHARED)
    rolling = [item for item in on_cluster(policy) if item["metadata"]["name"] != "rdma-shared-dp-ds"]
    applied = status_of(policy, HERE, rolling, settled=True)["appliedStates"]
    assert {entry["name"]: entry["state"] for entry in applied} == {
        "state-multus-cni": "ready",
        "state-container-networking-plugins": "ignore",
        "state-ipoib-cni": "ignore",
        "state-OFED": "ignore",
        "state-SRIOV-device-plugin": "ignore",
        "state-RDMA-device-plugin": "notReady",
        "state-ib-kubernetes": "ignore",
        "state-nv-ipam-cni": "ignore",
        "state-nic-feature-discovery": "ignore",
        "state-doca-telemetry-service": "ignore",
    }


def test_a_cluster_policy_of_another_name_is_ignored() -> None:
    assert (refusal(cluster_policy("mine")) or {})["state"] == "ignore"
    assert refusal(cluster_policy()) is None


def test_a_section_in_both_kinds_of_policies_is_obeyed_twice_without_a_word() -> None:
    both = (cluster_policy(sriovDevicePlugin=VIRTUAL), node_policy("a", sriovDevicePlugin=VIRTUAL))
    names = {item["metadata"]["name"] for policy in both for item in operands_of(policy, HERE)}

    assert [refusal(policy) for policy in both] == [None, None]
    assert {"network-operator-sriov-device-plugin", "network-operator-sriov-device-plugin-a"} <= names


def test_a_status_that_is_there_is_not_written_again() -> None:
    policy = cluster_policy(secondaryNetwork=NETWORK)
    status = status_of(policy, HERE, on_cluster(policy), settled=True)
    assert status_patch(policy, status)["status"]["state"] == "ready"
    assert status_patch({**policy, "status": status}, status) == {}


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
