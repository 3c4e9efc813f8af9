"""Pools beside the fabric: what is planned for their nodes, and that the fabric leaves them alone."""

from __future__ import annotations

from typing import Any

import pytest
from changes import Changes
from planned_fabrics import plan_of
from planned_oke import record_of, resources_of

from gpu_fabric.contract.nodes import OtherNodes
from gpu_fabric.plan import Plan
from gpu_fabric.plan.clouds.record import Ref, Text
from gpu_fabric.resources.losses import losses
from gpu_fabric.resources.order import resources

STACKS = ("doks-inference", "oke-pools")
_OTHERS = "cluster.otherPools"
_SELECTOR = {"doks-inference": "gpu-h200x8-1128gb-fabric-contracted", "oke-pools": "BM.GPU.H200.8"}


def contract(stack: str, pool: str) -> OtherNodes:
    return next(nodes for nodes in plan_of(stack).cluster.other_pools if nodes.name == pool)


def manifests(plan: Plan, kind: str | None = None) -> list[dict[str, Any]]:
    """The plan's objects of a kind, or all of them."""
    found = [entry.object.manifest() for entry in plan.objects]
    return [entry for entry in found if kind in (None, entry["kind"])]


def values(plan: Plan, chart: str) -> dict[str, Any]:
    release = plan.release(chart)
    assert release is not None
    return dict(release.values)


@pytest.mark.parametrize("stack", STACKS)
def test_jobs_of_the_fabric_are_those_of_a_stack_without_other_pools(stack: str) -> None:
    alone = plan_of(stack, {_OTHERS: None})
    beside = plan_of(stack)

    assert beside.workload == alone.workload
    assert beside.workload.node_selector == {"node.kubernetes.io/instance-type": _SELECTOR[stack]}
    assert beside.rails == alone.rails
    assert beside.addresses == alone.addresses


def test_pods_of_a_pool_choose_it_by_name_and_tolerate_its_taints() -> None:
    nodes = contract("doks-inference", "inference")

    assert nodes.node_selector == {"gpu-fabric/pool": "inference"}
    assert (nodes.gpu_resource, nodes.gpus_per_node) == ("nvidia.com/gpu", 1)
    assert {entry.key for entry in nodes.tolerations} == {"nvidia.com/gpu", "role"}
    assert (nodes.nodes, nodes.least_nodes, nodes.most_nodes) == (2, 1, 4)


def test_pods_of_a_cpu_pool_request_no_gpus_and_tolerate_nothing() -> None:
    nodes = contract("doks-inference", "cpu")

    assert (nodes.gpu_resource, nodes.gpus_per_node, nodes.tolerations) == (None, 0, ())


def test_pods_on_preemptible_nodes_tolerate_oracles_taint() -> None:
    nodes = contract("oke-pools", "batch")

    assert nodes.reclaimable
    assert [entry.to_dict() for entry in nodes.tolerations] == [
        {"key": "oci.oraclecloud.com/oke-is-preemptible", "operator": "Exists"}
    ]


def test_a_spot_size_is_one_that_digitalocean_takes_back() -> None:
    spot = [{"name": "spot", "size": "gpu-b300x1-288gb-spot", "nodes": 1}]
    [nodes] = plan_of("doks-inference", {_OTHERS: spot}).cluster.other_pools

    assert nodes.reclaimable


def test_drivers_and_labels_reach_gpus_beside_the_fabric_and_no_operand_of_the_fabric_does() -> None:
    plan = plan_of("oke-pools")
    operator = values(plan, "gpu-operator")
    [policy] = manifests(plan, "NicClusterPolicy")

    assert {"key": "role", "operator": "Exists", "effect": "NoSchedule"} in operator["daemonsets"]["tolerations"]
    worker = operator["node-feature-discovery"]["worker"]["tolerations"]
    assert {"key": "role", "operator": "Exists", "effect": "NoSchedule"} in worker
    [term] = policy["spec"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [
        {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["BM.GPU.H200.8"]}
    ]
    assert all(entry["key"] != "role" for entry in policy["spec"]["tolerations"])


def test_where_the_chart_creates_the_policy_it_is_for_the_fabrics_nodes_as_well() -> None:
    tainted = {"name": "inference", "shape": "VM.GPU.A10.1", "nodes": 1, "taints": [{"key": "role", "value": "x"}]}
    given = values(plan_of("oke-h100", {_OTHERS: [tainted]}), "network-operator")

    [term] = given["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert [entry["values"] for entry in term["matchExpressions"]] == [["BM.GPU.H100.8"]]
    assert "role" not in str(given.get("tolerations"))
    assert "nodeAffinity" not in values(plan_of("oke-h100"), "network-operator")


def test_a_policy_of_a_cluster_without_such_gpus_stays_as_it_was() -> None:
    [policy] = manifests(plan_of("oke-pools", {f"{_OTHERS}[1]": None}), "NicClusterPolicy")

    assert "nodeAffinity" not in policy["spec"]


def test_kueue_gives_out_the_fabrics_nodes_alone() -> None:
    kueue: Changes = {"software.schedulers": {"kueue": {}}}
    found = [
        {entry["kind"]: entry for entry in manifests(plan_of("oke-pools", {**kueue, **more}))}
        for more in ({}, {_OTHERS: None})
    ]

    for kind in ("ClusterQueue", "ResourceFlavor"):
        assert found[0][kind] == found[1][kind]


def test_digitalocean_makes_a_pool_of_each_with_labels_taints_and_bounds() -> None:
    cloud = plan_of("doks-inference").cluster.doks
    assert cloud is not None
    inference, cpu = cloud.other_pools

    assert inference.logical_name == "pool-inference"
    assert inference.size == "gpu-l40sx1-48gb"
    assert inference.labels == {"role": "inference", "gpu-fabric/pool": "inference"}
    assert inference.taints == [{"key": "role", "value": "inference", "effect": "NoSchedule"}]
    assert (inference.auto_scale, inference.min_nodes, inference.max_nodes) == (True, 1, 4)
    assert inference.ignore_changes == ("node_count",)
    assert (cpu.size, cpu.node_count, cpu.taints, cpu.ignore_changes) == ("s-8vcpu-16gb", 1, None, ())


def test_digitaloceans_plug_in_of_another_vendors_gpus_is_switched_on() -> None:
    amd = [{"name": "amd", "size": "gpu-mi300x1-192gb", "nodes": 1}]
    cloud = plan_of("doks-h200", {_OTHERS: amd}).cluster.doks
    assert cloud is not None

    assert cloud.cluster.amd_gpu_device_plugin == {"enabled": True}


def test_an_existing_pool_beside_the_fabric_is_taken_over_by_its_id() -> None:
    identifier = "66666666-7777-8888-9999-000000000000"
    cloud = plan_of("doks-inference", {"cluster.adopt": {"pools": {"cpu": identifier}}}).cluster.doks
    assert cloud is not None

    assert [pool.adopts for pool in (*cloud.pools, *cloud.other_pools)] == [None, None, identifier]


def test_oracle_makes_a_node_pool_of_each_by_its_shape() -> None:
    cpu, inference, batch = resources_of("oke-pools").other_pools

    assert cpu.node_shape_config == {"ocpus": 4, "memory_in_gbs": 32}
    assert cpu.node_metadata is None
    assert cpu.node_source_details["image_id"] == Ref(ref="node-images", output="image")
    assert inference.node_shape_config is None
    sizes = [pool.node_source_details["boot_volume_size_in_gbs"] for pool in (cpu, inference)]
    assert sizes == ["128", "512"]
    assert inference.node_source_details["image_id"] == Ref(ref="node-images", output="image_for_gpus")
    labels = {entry["key"]: entry["value"] for entry in inference.initial_node_labels or [] if isinstance(entry, dict)}
    assert labels == {
        "gpu-fabric/pool": "inference",
        "oci.oraclecloud.com/disable-gpu-device-plugin": "true",
        "role": "inference",
    }
    [placement] = batch.node_config_details["placement_configs"]  # type: ignore[misc, union-attr]
    assert placement["preemptible_node_config"] == {  # type: ignore[call-overload, index]
        "preemption_action": {"type": "TERMINATE", "is_preserve_boot_volume": False}
    }


def test_taints_of_a_node_pool_are_those_that_its_kubelet_registers_with() -> None:
    from base64 import b64decode

    _, inference, _ = resources_of("oke-pools").other_pools
    assert inference.node_metadata is not None
    script = b64decode(str(inference.node_metadata["user_data"])).decode()

    assert "--register-with-taints=role=inference:NoSchedule" in script


def test_the_autoscaler_gets_bounds_and_id_of_each_pool_that_scales_and_the_identity_of_its_pods() -> None:
    [addon] = resources_of("oke-pools").addons
    given = {entry["key"]: entry["value"] for entry in addon.configurations or [] if isinstance(entry, dict)}

    assert addon.addon_name == "ClusterAutoscaler"
    assert given["authType"] == "workload"
    assert given["nodes"] == Text(
        text="2:4:{gpu}, 1:5:{cpu}", refs={"gpu": Ref(ref="pool-gpu"), "cpu": Ref(ref="pool-cpu")}
    )
    assert "policy-autoscaler" in addon.after


def test_other_settings_of_the_autoscaler_are_the_stack_files() -> None:
    stated = [{"name": "ClusterAutoscaler", "version": "v1.2", "configurations": {"scaleDownUnneededTime": "20m"}}]
    [addon] = resources_of("oke-pools", {"cluster.addons": stated}).addons
    keys = [entry["key"] for entry in addon.configurations or [] if isinstance(entry, dict)]

    assert addon.version == "v1.2"
    assert keys == ["authType", "nodes", "scaleDownUnneededTime"]


def test_an_autoscaler_for_no_pool_is_an_add_on_like_any_other() -> None:
    [addon] = resources_of("oke-h100-26-4", {"cluster.addons": [{"name": "ClusterAutoscaler"}]}).addons

    assert (addon.configurations, addon.after) == (None, ("system-pool",))


def test_the_number_of_nodes_of_a_pool_that_scales_is_the_autoscalers() -> None:
    cloud = resources_of("oke-pools")

    assert record_of(cloud, "pool-gpu").ignore_changes == ("node_config_details.size",)
    assert record_of(cloud, "pool-cpu").ignore_changes == ("node_config_details.size",)
    assert record_of(cloud, "pool-inference").ignore_changes == ()
    assert cloud.pools[0].awaited == 2


@pytest.mark.parametrize("most", [4, 40])
def test_addresses_are_proved_for_the_most_nodes_of_a_pool_that_scales(most: int) -> None:
    bounds = {"minNodes": 1, "maxNodes": most}
    plan = plan_of("oke-pools", {"cluster.pools[0].autoScale": bounds})

    assert plan.addresses.proof.nodes == most
    assert {pool.needed for pool in plan.addresses.pools} == {most}


def test_the_machines_of_every_pool_have_a_row_of_the_cost_and_preemptible_ones_a_price_of_their_own() -> None:
    prices = {"VM.Standard.E5.Flex preemptible": {"hourly": 0.1}, "VM.Standard.E5.Flex": {"hourly": 0.2}}
    pools = {pool.name: pool for pool in plan_of("oke-pools", {"cluster.prices": prices}).cost.pools}

    assert list(pools) == ["gpu", "cpu", "inference", "batch", "system"]
    assert [pools["cpu"].nodes, pools["cpu"].most_nodes] == [1, 5]
    assert str(pools["batch"].all and pools["batch"].all.most) == "0.10"
    assert str(pools["cpu"].all and pools["cpu"].all.most) == "1.00"


def test_a_pool_that_goes_loses_its_nodes_and_gpus_at_most() -> None:
    plan = plan_of("doks-inference")
    found = losses(plan, resources(plan))

    assert (found["cluster-pool-inference"].nodes, found["cluster-pool-inference"].gpus) == (4, 4)
    assert found["cluster-pool-inference"].up_to
    assert (found["cluster-doks"].nodes, found["cluster-doks"].gpus) == (7, 20)
