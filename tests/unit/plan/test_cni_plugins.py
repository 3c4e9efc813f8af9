"""CNI plug-ins that the networks call and no operator brings: who lays them into the nodes."""

from __future__ import annotations

from typing import Any

import pytest
from changes import Changes
from planned_fabrics import plan_of

from gpu_fabric.plan import Plan


def daemon_set(plan: Plan) -> dict[str, Any]:
    (planned,) = plan.applied("cni-plugins")
    return planned.object.manifest()


def pods(plan: Plan) -> dict[str, Any]:
    found: dict[str, Any] = daemon_set(plan)["spec"]["template"]["spec"]
    return found


@pytest.mark.parametrize(
    ("stack", "changes", "plugins"),
    [
        ("oke-h100-26-4", {}, ["sriov-cni", "rdma-cni"]),
        ("sriov-whereabouts", {}, ["sriov-cni", "rdma-cni"]),
        ("sriov-per-node", {"fabric.rdmaMode": "shared"}, ["sriov-cni"]),
        ("ib-sriov", {}, ["ib-sriov-cni", "rdma-cni"]),
        ("ib-sriov", {"fabric.rdmaMode": "shared"}, ["ib-sriov-cni"]),
        ("host-device", {"fabric.rdmaMode": "exclusive"}, ["rdma-cni"]),
        ("guide-23-10", {}, ["sriov-cni", "rdma-cni"]),
    ],
)
def test_a_daemon_set_brings_the_plug_ins_that_the_networks_call_and_the_operators_images_lack(
    stack: str, changes: Changes, plugins: list[str]
) -> None:
    assert [container["name"] for container in pods(plan_of(stack, changes))["containers"]] == plugins


@pytest.mark.parametrize(
    ("stack", "changes"),
    [
        ("roce-macvlan", {}),
        ("ipoib", {}),
        ("host-network", {}),
        ("host-device", {}),
        ("sriov-operator", {}),
        ("externally-managed", {}),
        ("ib-sriov-pkey", {}),
        ("spiderpool-sriov-per-node", {}),
        ("doks-h200", {}),
        ("sriov-per-node", {"software.cniPlugins": "node-image"}),
    ],
)
def test_there_is_none_where_nothing_lacks_or_the_node_image_has_them(stack: str, changes: Changes) -> None:
    assert plan_of(stack, changes).applied("cni-plugins") == ()


def test_every_plug_in_that_is_brought_is_called_and_every_one_that_lacks_is_brought() -> None:
    plan = plan_of("oke-h100-26-4")
    chain = plan.applied("networks")[0].object.manifest()["spec"]["config"]
    brought = [container["name"].removesuffix("-cni") for container in pods(plan)["containers"]]

    assert all(f'"type":"{plugin}"' in chain for plugin in brought)


@pytest.mark.parametrize(
    ("stack", "images"),
    [
        (
            "oke-h100-26-4",
            [
                # Digests of NVIDIA's page images-sha256 of 26.4.1.
                "nvcr.io/nvidia/mellanox/sriov-cni:network-operator-v26.4.1@"
                "sha256:9d627407b27ff817152e1c0d1d26d60a49b8cc9d8e54f9ad28d0b8fe4f017b35",
                "nvcr.io/nvidia/mellanox/rdma-cni:network-operator-v26.4.1@"
                "sha256:03f9845060c952c78208365536d1d08d3ea7955309f7ce5b2c350090f66309a4",
            ],
        ),
        (
            "guide-23-10",
            ["ghcr.io/k8snetworkplumbingwg/sriov-cni:v2.7.0", "ghcr.io/k8snetworkplumbingwg/rdma-cni:v1.2.0"],
        ),
    ],
)
def test_images_are_those_of_the_release_line(stack: str, images: list[str]) -> None:
    assert [container["image"] for container in pods(plan_of(stack))["containers"]] == images


def test_each_container_finds_the_nodes_plug_in_folder_and_what_system_it_runs() -> None:
    template = pods(plan_of("oke-h100-26-4"))
    paths = {volume["name"]: volume["hostPath"]["path"] for volume in template["volumes"]}

    for container in template["containers"]:
        assert {mount["mountPath"]: paths[mount["name"]] for mount in container["volumeMounts"]} == {
            "/host/opt/cni/bin": "/opt/cni/bin",
            "/host/etc/os-release": "/etc/os-release",
        }


def test_it_reaches_the_gpu_nodes_and_no_others_before_there_is_a_pod_network() -> None:
    template = pods(plan_of("oke-h100-26-4"))

    assert template["nodeSelector"] == {"node.kubernetes.io/instance-type": "BM.GPU.H100.8"}
    assert template["tolerations"] == [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    assert template["hostNetwork"] is True


def test_where_no_label_tells_the_gpu_nodes_those_with_nvidias_nics_are_meant() -> None:
    assert pods(plan_of("ib-sriov"))["nodeSelector"] == {"feature.node.kubernetes.io/pci-15b3.present": "true"}


def test_kinds_of_nodes_share_the_daemon_set_by_what_they_have_in_common() -> None:
    assert pods(plan_of("node-kinds"))["nodeSelector"] == {"example.com/fabric": "rdma"}


def test_it_lies_in_the_namespace_that_lets_privileged_pods_in() -> None:
    plan = plan_of("oke-h100-26-4")
    namespaces = {entry.name: entry.object.metadata.labels or {} for entry in plan.applied("namespaces")}

    labels = namespaces[daemon_set(plan)["metadata"]["namespace"]]
    assert labels["pod-security.kubernetes.io/enforce"] == "privileged"
