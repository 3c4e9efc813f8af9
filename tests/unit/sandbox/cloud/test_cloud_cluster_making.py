"""The simulated provider's clusters, as a stack meets them."""

from __future__ import annotations

from typing import Any

import pytest
from cloud_engine import Engine, Failed, Invalid, Resource
from digitalocean_inputs import INPUTS, POOL, VERSION, gpu_pool, refreshed

from sandbox.cloud.wire import UNKNOWN


@pytest.fixture
def cluster(engine: Engine) -> Resource:
    return engine.up("KubernetesCluster", "one", INPUTS)


def test_a_new_cluster_runs_and_has_the_nodes_of_its_default_pool(engine: Engine, cluster: Resource) -> None:
    outputs = cluster.outputs
    assert outputs["status"] == "running"
    assert outputs["clusterUrn"] == f"do:kubernetes:{cluster.id}"
    assert [node["status"] for node in outputs["nodePool"]["nodes"]] == ["running", "running"]
    assert engine.planes.ready_nodes(cluster.id) == {node["name"] for node in outputs["nodePool"]["nodes"]}


def test_what_the_cloud_chooses_is_shown_and_makes_no_difference(engine: Engine, cluster: Resource) -> None:
    assert (cluster.outputs["clusterSubnet"], cluster.outputs["serviceSubnet"]) == ("10.244.0.0/16", "10.245.0.0/16")
    assert cluster.outputs["vpcUuid"]
    assert cluster.outputs["maintenancePolicy"]["duration"] == "4h0m0s"
    assert engine.diff(cluster, INPUTS).paths == ()
    assert engine.diff(refreshed(engine, cluster), INPUTS).paths == ()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("region", "ams3"),
        ("vpcUuid", "another"),
        ("clusterSubnet", "10.10.0.0/16"),
        ("serviceSubnet", "10.11.0.0/19"),
        ("isolatedWorkers", True),
        ("version", "1.34.5-do.3"),
        ("version", "1.35.1-do.5"),
        ("nodePool.size", "s-8vcpu-16gb"),
        ("nodePool.gpuPartitionMode", "AMD_PARTITION_MODE_SPX_NPS1"),
    ],
)
def test_what_is_for_life_replaces_the_whole_cluster(
    engine: Engine, cluster: Resource, path: str, value: object
) -> None:
    top, _, below = path.partition(".")
    changed = {**INPUTS, top: {**POOL, below: value} if below else value}
    difference = engine.diff(cluster, changed)
    assert difference.paths == (path,)
    assert difference.replaces == (top,)


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"name": "two"}, "name"),
        ({"version": "1.36.1-do.0"}, "version"),
        ({"tags": ["team"]}, "tags"),
        ({"ha": True}, "ha"),
        ({"autoUpgrade": True}, "autoUpgrade"),
        ({"surgeUpgrade": False}, "surgeUpgrade"),
        ({"nodePool": {**POOL, "nodeCount": 3}}, "nodePool.nodeCount"),
        ({"nodePool": {**POOL, "labels": {"a": "b"}}}, "nodePool.labels"),
        ({"rdmaSharedDevicePlugin": {"enabled": False}}, "rdmaSharedDevicePlugin"),
        ({"maintenancePolicy": {"day": "sunday", "startTime": "04:00"}}, "maintenancePolicy.day"),
    ],
)
def test_everything_else_changes_in_place(
    engine: Engine, cluster: Resource, changes: dict[str, Any], path: str
) -> None:
    inputs = {**INPUTS, **changes}
    difference = engine.diff(cluster, inputs)
    assert path in difference.paths
    assert difference.replaces == ()


def test_an_explicit_name_lets_the_old_cluster_go_before_the_new_one_comes(engine: Engine, cluster: Resource) -> None:
    assert engine.diff(cluster, {**INPUTS, "region": "ams3"}).delete_first
    unnamed = {key: value for key, value in INPUTS.items() if key != "name"}
    generated = engine.up("KubernetesCluster", "other", unnamed)
    assert generated.outputs["name"].startswith("other-")
    assert not engine.diff(generated, {**unnamed, "region": "ams3"}).delete_first


def test_a_region_in_capitals_is_the_same_region(engine: Engine) -> None:
    made = engine.up("KubernetesCluster", "one", {**INPUTS, "region": "NYC2"})
    assert made.outputs["region"] == "nyc2"
    assert engine.diff(made, {**INPUTS, "region": "NYC2"}).paths == ()


def test_a_raised_version_is_an_upgrade_in_place(engine: Engine, cluster: Resource) -> None:
    newer = {**INPUTS, "version": "1.35.6-do.0"}
    upgraded = engine.update(cluster, newer)
    assert upgraded.outputs["version"] == "1.35.6-do.0"
    assert engine.diff(upgraded, newer).paths == ()
    labels = engine.planes.nodes[cluster.id][0]["metadata"]["labels"]
    assert labels["doks.digitalocean.com/version"] == "1.35.6-do.0"


@pytest.mark.parametrize(("asked", "given"), [("1.36", "1.36.1-do.0"), ("latest", "1.36.1-do.0")])
def test_a_version_that_is_no_exact_one_becomes_one_and_differs_for_ever(
    engine: Engine, asked: str, given: str
) -> None:
    made = engine.up("KubernetesCluster", "one", {**INPUTS, "version": asked})
    assert made.outputs["version"] == given
    assert "version" in engine.diff(made, {**INPUTS, "version": asked}).paths
    with pytest.raises(Failed, match="invalid version slug"):
        engine.update(made, {**INPUTS, "version": "latest"})


@pytest.mark.parametrize(
    ("version", "asked", "given"),
    [("1.36.1-do.0", None, True), (VERSION, None, False), ("1.36.1-do.0", False, False), (VERSION, True, True)],
)
def test_new_versions_are_highly_available_unless_told_otherwise(
    engine: Engine, version: str, asked: bool | None, given: bool
) -> None:
    inputs = {**INPUTS, "version": version} | ({} if asked is None else {"ha": asked})
    made = engine.up("KubernetesCluster", "one", inputs)
    assert made.outputs["ha"] is given
    assert bool(made.outputs["ipv4Address"]) is not given
    assert engine.diff(made, inputs).paths == ()


def test_high_availability_cannot_be_turned_off(engine: Engine) -> None:
    made = engine.up("KubernetesCluster", "one", {**INPUTS, "ha": True})
    assert engine.diff(made, {**INPUTS, "ha": False}).replaces == ()
    with pytest.raises(Failed, match=r"422.*cannot be disabled"):
        engine.update(made, {**INPUTS, "ha": False})


def test_managed_plugins_come_on_with_a_pool_and_make_no_difference(engine: Engine, cluster: Resource) -> None:
    assert cluster.outputs["rdmaSharedDevicePlugin"] is None
    engine.up("KubernetesNodePool", "gpu", gpu_pool(cluster))
    after = refreshed(engine, cluster)
    assert after.outputs["rdmaSharedDevicePlugin"] == {"enabled": True}
    assert after.outputs["nvidiaGpuDevicePlugin"] == {"enabled": True}
    assert after.outputs["amdGpuDevicePlugin"] is None
    assert engine.diff(after, INPUTS).paths == ()
    assert ("ConfigMap", "rdma-shared-device-plugin") in engine.planes.objects[cluster.id]


def test_an_update_after_the_pool_came_leaves_the_managed_plugins_on(engine: Engine, cluster: Resource) -> None:
    engine.up("KubernetesNodePool", "gpu", gpu_pool(cluster))
    updated = engine.update(cluster, {**INPUTS, "tags": ["team"]})
    assert updated.outputs["rdmaSharedDevicePlugin"] == {"enabled": True}


def test_a_plugin_switched_off_stays_off_when_the_block_is_dropped(engine: Engine) -> None:
    made = engine.up("KubernetesCluster", "one", {**INPUTS, "rdmaSharedDevicePlugin": {"enabled": False}})
    engine.up("KubernetesNodePool", "gpu", gpu_pool(made))
    assert engine.diff(refreshed(engine, made), INPUTS).paths == ()
    updated = engine.update(refreshed(engine, made), {**INPUTS, "tags": ["team"]})
    assert updated.outputs["rdmaSharedDevicePlugin"] == {"enabled": False}
    assert ("ConfigMap", "rdma-shared-device-plugin") not in engine.planes.objects[made.id]


@pytest.mark.parametrize("vendor", ["amd", "nvidia"])
def test_a_device_plugin_and_a_dra_driver_of_one_vendor_exclude_each_other(engine: Engine, vendor: str) -> None:
    both = {f"{vendor}GpuDevicePlugin": {"enabled": False}, f"{vendor}GpuDraDriver": {"enabled": True}}
    with pytest.raises(Invalid, match="conflicts with"):
        engine.check("KubernetesCluster", "one", {**INPUTS, **both})


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"region": None}, "region"),
        ({"version": None}, "version"),
        ({"nodePool": None}, "nodePool"),
        ({"nodePool": {"size": "c-4"}}, "nodePool.name"),
        ({"nodePool": {**POOL, "gpuPartitionMode": "HALVES"}}, "nodePool.gpuPartitionMode"),
        ({"nodePool": {**POOL, "taints": [{"key": "a", "effect": "NoSchedule"}]}}, "nodePool.taints[0].value"),
        ({"nodePool": {**POOL, "taints": [{"key": "a", "value": "", "effect": "Never"}]}}, "nodePool.taints[0].effect"),
        ({"rdmaSharedDevicePlugin": {}}, "rdmaSharedDevicePlugin.enabled"),
        ({"rdmaSharedDevPlugin": {"enabled": True}}, "rdmaSharedDevPlugin"),
        ({"kubeConfigs": []}, "kubeConfigs"),
        ({"kubeconfigExpireSeconds": -1}, "kubeconfigExpireSeconds"),
        ({"clusterSubnet": "10.1"}, "clusterSubnet"),
        ({"tags": ["two words"]}, "tags"),
        ({"region": 4}, "region"),
    ],
)
def test_wrong_inputs_are_refused_before_any_request(engine: Engine, changes: dict[str, Any], path: str) -> None:
    inputs = {key: value for key, value in {**INPUTS, **changes}.items() if value is not None}
    with pytest.raises(Invalid) as refused:
        engine.check("KubernetesCluster", "one", inputs)
    assert set(refused.value.reasons) == {path}
    assert engine.api.store.list("clusters") == []


def test_a_preview_knows_what_the_program_gives_and_leaves_the_rest_open(engine: Engine) -> None:
    shown = engine.previewed("KubernetesCluster", "one", {**INPUTS, "vpcUuid": UNKNOWN})
    assert shown["region"] == "nyc2"
    assert shown["surgeUpgrade"] is True
    assert [shown[name] for name in ("vpcUuid", "endpoint", "kubeConfigs", "ha")] == [UNKNOWN] * 4
    assert shown["nodePool"]["id"] is UNKNOWN
    assert shown["nodePool"]["size"] == "s-4vcpu-8gb"
    assert engine.api.store.list("clusters") == []


def test_a_vpc_that_is_to_be_replaced_replaces_the_cluster(engine: Engine, cluster: Resource) -> None:
    assert engine.diff(cluster, {**INPUTS, "vpcUuid": UNKNOWN}).replaces == ("vpcUuid",)


def test_a_preview_of_a_change_in_place_keeps_the_kubeconfig_known(engine: Engine, cluster: Resource) -> None:
    shown = engine.update(cluster, {**INPUTS, "tags": ["team"]}, preview=True).outputs
    assert shown["tags"] == ["team"]
    assert shown["kubeConfigs"] == cluster.outputs["kubeConfigs"]


def test_labels_that_are_dropped_stay_on_nodes_and_taints_do_not(engine: Engine) -> None:
    taint = {"key": "k", "value": "v", "effect": "NoSchedule"}
    marked = {**INPUTS, "nodePool": {**POOL, "labels": {"a": "1", "b": "2"}, "taints": [taint]}}
    made = engine.up("KubernetesCluster", "one", marked)
    assert engine.diff(refreshed(engine, made), marked).paths == ()
    engine.update(made, {**INPUTS, "nodePool": {**POOL, "labels": {"b": "3"}, "nodeCount": 3}})
    nodes = [node["metadata"]["labels"] for node in engine.planes.nodes[made.id]]
    assert [(labels.get("a"), labels["b"]) for labels in nodes] == [("1", "3"), ("1", "3"), (None, "3")]
    assert all("k" not in [taint["key"] for taint in node["spec"]["taints"]] for node in engine.planes.nodes[made.id])


def test_an_emptied_list_of_tags_never_reaches_the_cloud(engine: Engine) -> None:
    made = engine.up("KubernetesCluster", "one", {**INPUTS, "tags": ["team"]})
    updated = engine.update(made, INPUTS)
    assert updated.outputs["tags"] == ["team"]
    assert engine.diff(updated, INPUTS).paths == ("tags",)


@pytest.mark.parametrize(
    "dropped",
    [{"kubeconfigExpireSeconds": 600}, {"registryIntegration": True}, {"autoUpgrade": True}, {"ha": True}],
)
def test_what_the_program_drops_makes_no_difference_after_an_update(engine: Engine, dropped: dict[str, Any]) -> None:
    made = engine.up("KubernetesCluster", "one", {**INPUTS, **dropped})
    assert engine.diff(engine.update(made, INPUTS), INPUTS).paths == ()


def test_a_deleted_cluster_is_gone_at_once_and_a_second_time(engine: Engine, cluster: Resource) -> None:
    engine.delete(cluster)
    assert engine.refresh(cluster) is None
    assert cluster.id not in engine.planes.nodes
    engine.delete(cluster)
