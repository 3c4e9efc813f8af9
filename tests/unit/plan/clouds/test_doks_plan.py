"""DOKS as planned: the guide's networks and pod object by object, and what else a node and a job need there."""

from __future__ import annotations

import json
from typing import Any

import pytest
from changes import Changes
from planned_fabrics import plan_of

from gpu_fabric.plan import Plan
from gpu_fabric.plan.records import PlannedCapacity, PlannedReadiness

ANNOTATION = "k8s.v1.cni.cncf.io/networks"
B300 = "gpu-b300x8-2304gb-fabric-contracted"
POOL = "cluster.pools[0]"


def on(shape: str, **more: Any) -> Plan:
    return plan_of("doks-h200", {f"{POOL}.shape": shape, **more})


@pytest.mark.parametrize(
    ("shape", "nics"),
    [
        ("gpu-h200x8-1128gb-fabric-contracted", 8),
        ("gpu-h100x8-640gb-contracted", 8),
        ("gpu-mi300x8-1536gb-fabric-contracted", 8),
        ("gpu-mi325x8-2048gb-fabric-contracted", 8),
        ("gpu-mi350x8-2304gb-fabric-contracted", 8),
        (B300, 16),
    ],
)
def test_networks_are_those_of_the_guide_one_a_nic_in_every_offered_namespace(shape: str, nics: int) -> None:
    plan = on(shape, **{"fabric.namespaces": ["default", "training"]})

    found = [entry.object.manifest() for entry in plan.applied("networks")]
    for manifest in found:
        manifest["spec"]["config"] = json.loads(manifest["spec"]["config"])
    assert found == [
        {
            "apiVersion": "k8s.cni.cncf.io/v1",
            "kind": "NetworkAttachmentDefinition",
            "metadata": {"name": f"roce-net-fabric{number}", "namespace": namespace},
            "spec": {"config": {"cniVersion": "0.3.1", "type": "host-device", "device": f"fabric{number}"}},
        }
        for namespace in ("default", "training")
        for number in range(nics)
    ]


@pytest.mark.parametrize(
    ("shape", "gpus", "nics"),
    [
        ("gpu-h200x8-1128gb-fabric-contracted", "nvidia.com/gpu", 8),
        ("gpu-mi325x8-2048gb-fabric-contracted", "amd.com/gpu", 8),
        (B300, "nvidia.com/gpu", 16),
    ],
)
def test_a_pod_is_wired_as_in_the_guide(shape: str, gpus: str, nics: int) -> None:
    patch: Any = on(shape).workload.pod_template_patch
    (worker,) = patch["spec"]["containers"]
    asked = {gpus: "8", **{f"rdma/fabric{number}": "1" for number in range(nics)}}

    assert worker["resources"] == {"requests": asked, "limits": asked}
    assert patch["metadata"]["annotations"] == {
        ANNOTATION: ", ".join(f"roce-net-fabric{number}@fabric{number}" for number in range(nics))
    }
    assert patch["spec"]["tolerations"] == [{"key": gpus, "operator": "Exists", "effect": "NoSchedule"}]
    assert "IPC_LOCK" in worker["securityContext"]["capabilities"]["add"]
    assert "hostNetwork" not in patch["spec"]
    (memory,) = [volume["emptyDir"] for volume in patch["spec"]["volumes"] if "emptyDir" in volume]
    assert memory["medium"] == "Memory"


def test_a_pod_of_another_namespace_names_each_network_with_its_own() -> None:
    job = plan_of("doks-h200", {"fabric.namespaces": ["default", "training"]}).workload

    assert set(job.networks_from_elsewhere) == {"default", "training"}
    assert job.networks_from_elsewhere["training"].startswith(
        "training/roce-net-fabric0@fabric0, training/roce-net-fabric1@fabric1, "
    )
    assert plan_of("host-device").workload.networks_from_elsewhere == {}


@pytest.mark.parametrize("stack", ["doks-h200", "doks-mi325x"])
def test_schedulers_are_told_that_new_pods_wait_for_the_nics_of_old_ones(stack: str) -> None:
    hints = plan_of(stack).workload.scheduler_hints

    assert (hints.pods_per_node, hints.strategy, hints.gang) == (1, "Recreate", True)


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        (B300, ["all 16 networks", "NCCL_IB_GID_INDEX", "800 to 850 GB/s"]),
        ("gpu-b300x8-2304gb-lc-fabric-contracted", ["all 16 networks"]),
        ("gpu-mi325x8-2048gb-fabric-contracted", ["supplementalGroups"]),
        ("gpu-mi350x8-2304gb-fabric-contracted", ["supplementalGroups", "librccl-anp.so", "ROCm 7"]),
        ("gpu-h200x8-1128gb-fabric-contracted", []),
    ],
)
def test_the_contract_says_what_jobs_on_a_size_must_know(shape: str, words: list[str]) -> None:
    advice = on(shape).workload.advice

    assert bool(advice) == bool(words)
    assert all(any(word in line for line in advice) for word in words)


@pytest.mark.parametrize(
    ("shape", "environment"),
    [
        ("gpu-h200x8-1128gb-fabric-contracted", {"NCCL_SOCKET_IFNAME": "=eth0"}),
        (B300, {"NCCL_SOCKET_IFNAME": "=eth0"}),
        ("gpu-mi325x8-2048gb-fabric-contracted", {"NCCL_SOCKET_IFNAME": "=eth0"}),
        (
            "gpu-mi350x8-2304gb-fabric-contracted",
            {"NCCL_SOCKET_IFNAME": "=eth0", "NCCL_NET_PLUGIN": "librccl-anp.so"},
        ),
    ],
)
def test_nccl_is_told_no_more_than_is_published(shape: str, environment: dict[str, str]) -> None:
    assert on(shape).workload.environment == environment


def cni_plugin(plan: Plan) -> dict[str, Any]:
    (planned,) = plan.applied("cni-plugins")
    assert planned.awaited
    return planned.object.manifest()


def test_routed_rails_come_with_the_daemon_set_of_their_plug_in_on_the_gpu_nodes() -> None:
    made = cni_plugin(plan_of("doks-b300"))
    pod = made["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    paths = {volume["name"]: volume["hostPath"]["path"] for volume in pod["volumes"]}

    assert made["metadata"]["name"] == "ip-preserving-host-device-cni"
    assert made["metadata"]["namespace"] == "kube-system"
    assert container["image"] == "ghcr.io/digitalocean-packages/ip-preserving-host-device:v1.0.0"
    assert container["securityContext"] == {"privileged": True}
    # How the image copies itself is not published: nothing is said for it.
    assert "command" not in container
    assert {paths[mount["name"]] for mount in container["volumeMounts"]} == {"/opt/cni/bin", "/var/lib/cni"}
    assert pod["nodeSelector"] == {"node.kubernetes.io/instance-type": "gpu-b300x8-2304gb-lc-fabric-contracted"}
    assert {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"} in pod["tolerations"]


@pytest.mark.parametrize(
    ("stack", "changes"),
    [("doks-h200", {}), ("doks-h200", {f"{POOL}.shape": B300}), ("doks-b300", {"software.cniPlugins": "node-image"})],
)
def test_other_rails_and_nodes_that_have_it_get_none(stack: str, changes: Changes) -> None:
    assert plan_of(stack, changes).applied("cni-plugins") == ()


def test_every_gpu_node_must_offer_every_rails_device_before_jobs_may_come() -> None:
    gate = plan_of("doks-b300").record(PlannedCapacity, "capacity")

    assert gate is not None
    assert gate.resources == {f"rdma/fabric{number}": number for number in range(16)}
    assert gate.count == 2
    assert gate.nodes == {"node.kubernetes.io/instance-type": "gpu-b300x8-2304gb-lc-fabric-contracted"}


def test_nodes_of_all_pools_are_counted_and_of_a_pool_that_scales_the_fewest() -> None:
    amd = "gpu-mi325x8-2048gb-fabric-contracted"
    scaled = {"contractedNodes": 6, "autoScale": {"minNodes": 1, "maxNodes": 6}}
    pools = [{"name": "a", "shape": amd, "nodes": 3}, {"name": "b", "shape": amd, "nodes": 2, **scaled}]
    gate = plan_of("doks-mi325x", {"cluster.pools": pools}).record(PlannedCapacity, "capacity")

    assert gate is not None
    assert gate.count == 4
    assert gate.nodes == {"node.kubernetes.io/instance-type": amd}


def test_elsewhere_the_operators_say_when_devices_are_there() -> None:
    assert plan_of("host-device").record(PlannedCapacity, "capacity") is None


def test_where_digitalocean_manages_the_plug_ins_no_gpu_operator_comes() -> None:
    assert plan_of("doks-h200").release("gpu-operator") is None
    assert (
        plan_of("doks-h200", {"cluster.plugins.gpu": "operator", "cluster.installed": ["gpu-operator"]}).releases == ()
    )


@pytest.mark.parametrize(
    ("changes", "plug_in"),
    [({"cluster.plugins.gpu": "operator"}, True), ({"software.gpuOperator.install": True}, False)],
    ids=["as the device plug-in", "beside the managed one"],
)
@pytest.mark.parametrize("line", ["26.4", "23.10"])
def test_a_gpu_operator_there_leaves_out_what_the_nodes_have(line: str, changes: Changes, plug_in: bool) -> None:
    plan = plan_of("doks-h200", {**changes, "software.releaseLine": line})

    assert plan.release("gpu-operator") is not None
    values: Any = plan.release("gpu-operator").values
    assert values["driver"]["enabled"] is False
    assert values["toolkit"] == {"enabled": False}
    assert values["devicePlugin"] == {"enabled": plug_in}
    assert values.get("nfd", {"enabled": True}) == {"enabled": True}
    assert plan.record(PlannedReadiness, "gpu-operator-ready") is not None
    assert [entry.name for entry in plan.applied("namespaces")] == ["gpu-operator"]
    assert plan.cluster.doks is not None
    assert plan.cluster.doks.cluster.nvidia_gpu_device_plugin == {"enabled": not plug_in}


def test_elsewhere_it_may_be_left_out_where_the_cluster_has_one() -> None:
    left_out: Changes = {
        "cluster.installed": ["gpu-operator", "nfd"],
        "software.gpuOperator.install": False,
    }

    assert [release.name for release in plan_of("host-device", left_out).releases] == ["network-operator"]
