"""Clusters, node pools and add-ons of Oracle's simulated cloud, as a stack meets them."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from cloud_engine import Failed, Resource
from oracle_engine import COMPARTMENT, H100, OracleEngine

from sandbox.cloud.oci.events import play_on
from sandbox.cloud.oci.node_pools import NodePool
from sandbox.cloud.requests import Refused

NEW_BOOT_VOLUMES = {"isNodeCyclingEnabled": True, "cycleModes": ["BOOT_VOLUME_REPLACE"]}


def gpu_pool(oke: OracleEngine, **config: Any) -> dict[str, Any]:
    made = oke.up("ComputeCluster", "rdma", {"compartmentId": COMPARTMENT, "availabilityDomain": oke.domain})
    inputs = oke.pool_inputs(2, name="gpu", nodeShape=H100)
    del inputs["nodeShapeConfig"]
    return {**inputs, "nodeConfigDetails": {**inputs["nodeConfigDetails"], "computeClusterId": made.id, **config}}


def let_pools_launch(oracle: OracleEngine) -> None:
    text = f"Allow any-user to {{COMPUTE_CLUSTER_LAUNCH_INSTANCE}} in compartment id {COMPARTMENT}"
    statements = [f"{text} where request.principal.type = 'nodepool'"]
    given = {"compartmentId": COMPARTMENT, "name": "services", "description": "d", "statements": statements}
    oracle.up("Policy", "services", given)


def test_a_new_cluster_is_active_and_has_its_private_endpoint(oke: OracleEngine) -> None:
    assert oke.cluster.id.startswith("ocid1.cluster.oc1.iad.")
    assert oke.cluster.outputs["state"] == "ACTIVE"
    [endpoint] = oke.cluster.outputs["endpoints"]
    assert endpoint["privateEndpoint"].startswith("127.0.0.1:")
    assert endpoint["publicEndpoint"] == ""


def test_a_cluster_that_stays_the_same_makes_no_difference(oke: OracleEngine) -> None:
    same = oke.new_cluster()
    assert oke.diff(oke.cluster, same).paths == ()
    after = oke.refresh(oke.cluster)
    assert after is not None
    assert after.inputs == oke.cluster.inputs
    # what Oracle filled in stays when the program no longer says it
    assert oke.diff(after, {**same, "options": {}}).paths == ()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("compartmentId", "ocid1.compartment.oc1..other"),
        ("kmsKeyId", "ocid1.key.oc1.iad.some"),
        ("clusterPodNetworkOptions", [{"cniType": "OCI_VCN_IP_NATIVE"}]),
    ],
)
def test_what_is_for_life_replaces_the_cluster(oke: OracleEngine, name: str, value: Any) -> None:
    difference = oke.diff(oke.cluster, oke.new_cluster(**{name: value}))
    assert (difference.replaces, difference.delete_first) == ((name,), True)


def test_the_endpoint_changes_in_place_and_another_subnet_of_it_replaces_the_cluster(oke: OracleEngine) -> None:
    inputs = oke.new_cluster()
    endpoint = inputs["endpointConfig"]
    for changes in ({"isPublicIpEnabled": True}, {"nsgIds": []}):
        found = oke.diff(oke.cluster, {**inputs, "endpointConfig": {**endpoint, **changes}})
        assert found.paths
        assert found.replaces == ()
    moved = {**inputs, "endpointConfig": {**endpoint, "subnetId": "another"}}
    without = {name: value for name, value in inputs.items() if name != "endpointConfig"}
    for changed in (moved, without):
        assert oke.diff(oke.cluster, changed).replaces == ("endpointConfig",)


def test_a_higher_version_is_an_upgrade_in_place_and_a_lower_one_is_refused(oke: OracleEngine) -> None:
    higher = oke.new_cluster(kubernetesVersion="v1.35.0")
    assert oke.diff(oke.cluster, higher).replaces == ()
    raised = oke.update(oke.cluster, higher)
    assert raised.id == oke.cluster.id
    assert raised.outputs["kubernetesVersion"] == "v1.35.0"
    with pytest.raises(Failed, match="is lower than the cluster's"):
        oke.update(raised, oke.new_cluster())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kubernetesVersion": "1.34.1"}, "is not offered"),
        ({"type": "HUGE_CLUSTER"}, "allowed are BASIC_CLUSTER"),
        ({"clusterPodNetworkOptions": [{"cniType": "CALICO"}]}, "cniType"),
        ({"options": {"kubernetesNetworkConfig": {"servicesCidr": "10.140.0.0/24"}}}, "overlaps with the VCN"),
    ],
)
def test_the_api_refuses_a_cluster_that_cannot_be(oci: OracleEngine, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(Failed, match=f"400-InvalidParameter.*{message}"):
        oci.up("Cluster", "one", oci.new_cluster(**changes))


def test_what_a_cluster_lies_in_is_not_deleted_before_it(oke: OracleEngine) -> None:
    for used in oke.parts[1:]:
        with pytest.raises(Failed, match=f"409-Conflict, {used.id} is in use by {oke.cluster.id}"):
            oke.delete(used)
    oke.delete(oke.cluster)
    assert oke.cluster.id not in oke.planes.nodes
    for used in (oke.parts[2], oke.parts[1], oke.parts[0]):
        oke.delete(used)


def test_the_kubeconfig_asks_the_command_oci_for_a_token(oke: OracleEngine) -> None:
    found = oke.ask("ContainerEngine/getClusterKubeConfig", clusterId=oke.cluster.id, endpoint="PRIVATE_ENDPOINT")
    document = yaml.safe_load(found["content"])
    command = document["users"][0]["user"]["exec"]
    assert [command["command"], *command["args"]] == [
        "oci", "ce", "cluster", "generate-token", "--cluster-id", oke.cluster.id, "--region", "us-ashburn-1",
    ]  # fmt: skip
    assert document["clusters"][0]["cluster"]["server"].startswith("https://127.0.0.1:")
    with pytest.raises(Failed, match="no public endpoint"):
        oke.ask("ContainerEngine/getClusterKubeConfig", clusterId=oke.cluster.id, endpoint="PUBLIC_ENDPOINT")


def test_a_pools_nodes_have_oracles_labels_and_its_own(oke: OracleEngine) -> None:
    inputs = oke.pool_inputs(2, initialNodeLabels=[{"key": "team", "value": "a"}])
    pool = oke.up("NodePool", "system", inputs)
    assert [node["privateIp"] for node in pool.outputs["nodes"]] == [node["metadata"]["name"] for node in oke.nodes()]
    node = oke.nodes()[0]
    labels = node["metadata"]["labels"]
    assert labels["node.kubernetes.io/instance-type"] == "VM.Standard.E5.Flex"
    assert labels["team"] == "a"
    assert labels["topology.kubernetes.io/region"] == "us-ashburn-1"
    assert node["status"]["capacity"]["cpu"] == "8"
    assert oke.diff(pool, inputs).paths == ()


def test_a_pools_size_changes_in_place(oke: OracleEngine) -> None:
    pool = oke.up("NodePool", "system", oke.pool_inputs(1))
    before = oke.names()
    larger = oke.pool_inputs(3)
    difference = oke.diff(pool, larger)
    assert (difference.paths, difference.replaces) == (("nodeConfigDetails.size",), ())
    grown = oke.update(pool, larger)
    assert len(oke.names()) == 3
    oke.update(grown, oke.pool_inputs(1))
    assert oke.names() == before


def test_a_deleted_node_makes_room_for_another_as_the_pool_is_now(oke: OracleEngine) -> None:
    def machines() -> dict[str, str]:
        nodes = oke.nodes()
        return {node["spec"]["providerID"]: node["status"]["nodeInfo"]["kubeletVersion"] for node in nodes}

    pool = oke.up("NodePool", "system", oke.pool_inputs(2))
    first, second = machines()
    NodePool(oke.api).replace(pool.id, first, smaller=False)
    assert len(machines()) == 2
    assert second in machines()
    assert first not in machines()
    NodePool(oke.api).replace(pool.id, second, smaller=True)
    assert len(machines()) == 1
    with pytest.raises(Refused, match="NotAuthorizedOrNotFound"):
        NodePool(oke.api).replace(pool.id, second, smaller=False)


def test_new_labels_reach_new_nodes_only_unless_the_pool_cycles_them(oke: OracleEngine) -> None:
    def labelled() -> list[bool]:
        return ["team" in node["metadata"]["labels"] for node in oke.nodes()]

    pool = oke.up("NodePool", "system", oke.pool_inputs(1))
    labels = {"initialNodeLabels": [{"key": "team", "value": "a"}]}
    grown = oke.update(pool, oke.pool_inputs(2, **labels))
    assert labelled() == [False, True]
    cycling = {"isNodeCyclingEnabled": True, "cycleModes": ["INSTANCE_REPLACE"]}
    oke.update(grown, oke.pool_inputs(2, **labels, nodePoolCyclingDetails=cycling))
    assert labelled() == [True, True]


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"initialNodeLabels": [{"key": "team", "value": "a"}]}, "initialNodeLabels"),
        ({"nodePoolCyclingDetails": {**NEW_BOOT_VOLUMES, "maximumUnavailable": "0"}}, "maximumUnavailable is 0"),
    ],
    ids=["other labels", "no node less"],
)
def test_new_boot_volumes_bring_no_labels_and_need_a_node_that_may_be_unavailable(
    oke: OracleEngine, more: dict[str, Any], reason: str
) -> None:
    pool = oke.up("NodePool", "gpu", oke.pool_inputs(1))
    cycling = {"nodePoolCyclingDetails": NEW_BOOT_VOLUMES, **more}
    with pytest.raises(Failed, match=reason):
        oke.update(pool, oke.pool_inputs(1, **cycling))
    [node] = oke.nodes()
    assert "team" not in node["metadata"]["labels"]


def test_gpu_nodes_of_a_compute_cluster_are_tainted_and_know_their_place_in_the_fabric(oke: OracleEngine) -> None:
    let_pools_launch(oke)
    oke.up("NodePool", "gpu", gpu_pool(oke))
    [one, other] = oke.nodes()
    assert {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"} in one["spec"]["taints"]
    assert "nvidia.com/gpu" not in one["status"]["capacity"]
    host = "oci.oraclecloud.com/rdma.host_id"
    assert one["metadata"]["labels"][host] != other["metadata"]["labels"][host]
    assert ("DaemonSet", "nvidia-gpu-device-plugin") in oke.planes.objects[oke.cluster.id]


def test_a_pool_in_a_compute_cluster_needs_the_policy_for_it(oke: OracleEngine) -> None:
    with pytest.raises(Failed, match=r"404-NotAuthorizedOrNotFound.*COMPUTE_CLUSTER_LAUNCH_INSTANCE"):
        oke.up("NodePool", "gpu", gpu_pool(oke))


def test_another_compute_cluster_replaces_the_pool_and_the_old_one_stays_until_then(oke: OracleEngine) -> None:
    let_pools_launch(oke)
    inputs = gpu_pool(oke)
    pool = oke.up("NodePool", "gpu", inputs)
    other = {**inputs, "nodeConfigDetails": {**inputs["nodeConfigDetails"], "computeClusterId": "another"}}
    assert oke.diff(pool, other).replaces == ("nodeConfigDetails",)
    held = oke.imported("ComputeCluster", inputs["nodeConfigDetails"]["computeClusterId"])
    assert held is not None
    with pytest.raises(Failed, match="409-Conflict"):
        oke.delete(held)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kubernetesVersion": "v1.35.0"}, "is not one for a cluster of v1.34.1"),
        ({"nodeShape": "BM.GPU.H1000.8"}, "there is no shape"),
        ({"nodeShapeConfig": None}, "needs a shapeConfig"),
        ({"nodeSourceDetails": None}, "names no image"),
    ],
)
def test_the_api_refuses_a_pool_that_cannot_be(oke: OracleEngine, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(Failed, match=message):
        oke.up("NodePool", "system", oke.pool_inputs(**changes))


def test_a_pool_has_the_pod_network_of_its_cluster(oke: OracleEngine) -> None:
    inputs = oke.pool_inputs()
    native = {"cniType": "OCI_VCN_IP_NATIVE", "podSubnetIds": [oke.subnet.id]}
    inputs["nodeConfigDetails"]["nodePoolPodNetworkOptionDetails"] = native
    with pytest.raises(Failed, match="is not the cluster's"):
        oke.up("NodePool", "system", inputs)


def test_an_image_that_was_imported_starts_on_a_gpu_shape_once_it_is_said_to(oke: OracleEngine) -> None:
    let_pools_launch(oke)
    source = {"sourceType": "objectStorageUri", "sourceUri": "https://objectstorage.example/image"}
    image = oke.up("Image", "gpu", {"compartmentId": COMPARTMENT, "imageSourceDetails": source})
    inputs = gpu_pool(oke)
    inputs["nodeSourceDetails"] = {"sourceType": "IMAGE", "imageId": image.id}
    with pytest.raises(Failed, match=f"{H100} is incompatible"):
        oke.up("NodePool", "gpu", inputs)
    oke.up("ShapeManagement", "gpu", {"compartmentId": COMPARTMENT, "imageId": image.id, "shapeName": H100})
    assert oke.up("NodePool", "gpu", inputs).id


def test_an_add_on_comes_up_once_a_machine_without_gpus_is_there(oke: OracleEngine) -> None:
    addon = {"clusterId": oke.cluster.id, "addonName": "NodeFeatureDiscovery", "removeAddonResourcesOnDelete": True}
    with pytest.raises(Failed, match="NEEDS_ATTENTION"):
        oke.up("Addon", "nfd", addon)
    oke.up("NodePool", "system", oke.pool_inputs())
    with pytest.raises(Failed, match="409-Conflict, addon NodeFeatureDiscovery exists"):
        oke.up("Addon", "nfd", addon)
    made = oke.up("Addon", "nfd", {**addon, "overrideExisting": True})
    assert made.outputs["state"] == "ACTIVE"
    assert oke.diff(made, {**addon, "overrideExisting": True, "version": "v2"}).replaces == ()
    assert oke.diff(made, {**addon, "overrideExisting": True, "addonName": "CoreDNS"}).replaces == ("addonName",)


@pytest.mark.parametrize(
    ("name", "message"), [("NvidiaGpuOperator", "needs NodeFeatureDiscovery"), ("Nothing", "there is no add-on")]
)
def test_an_add_on_that_cannot_be_is_refused(oke: OracleEngine, name: str, message: str) -> None:
    with pytest.raises(Failed, match=message):
        oke.up("Addon", "a", {"clusterId": oke.cluster.id, "addonName": name, "removeAddonResourcesOnDelete": True})


def test_the_images_for_nodes_are_listed_for_their_version(oracle: OracleEngine) -> None:
    asked = {"nodePoolOptionId": "all", "nodePoolK8sVersion": "v1.34.1"}
    sources = oracle.ask("ContainerEngine/getNodePoolOption", **asked)["sources"]
    assert all("OKE-1.34.1" in source["sourceName"] for source in sources)
    assert {source["imageId"].split(".")[1] for source in sources} == {"image"}


def test_a_pool_of_a_cluster_without_it_is_gone(oke: OracleEngine) -> None:
    pool = oke.up("NodePool", "system", oke.pool_inputs())
    oke.delete(oke.cluster)
    assert oke.refresh(pool) is None


def test_a_pool_whose_image_is_of_another_version_is_refused_new_and_changed(oci: OracleEngine) -> None:
    cluster = oci.up("Cluster", "one", oci.new_cluster())

    def pool(version: str, image: str) -> dict[str, Any]:
        source = {"sourceType": "IMAGE", "imageId": images(oci, image)}
        return oci.node_pool_inputs(cluster, oci.parts[1], kubernetesVersion=version, nodeSourceDetails=source)

    with pytest.raises(Failed, match="409-Conflict, Kubernetes version does not match"):
        oci.up("NodePool", "system", pool("v1.34.1", "v1.33.1"))
    made = oci.up("NodePool", "system", pool("v1.33.1", "v1.33.1"))
    with pytest.raises(Failed, match=r"409-Conflict, .* of OKE worker node image \(v1\.33\.1\)"):
        oci.update(made, pool("v1.34.1", "v1.33.1"))
    assert oci.update(made, pool("v1.34.1", "v1.34.1")).outputs["nodes"]
    [found] = oci.ask("ContainerEngine/getNodePools", compartmentId=COMPARTMENT, clusterId=cluster.id)["nodePools"]
    assert found["nodeSourceDetails"][0]["imageId"] == images(oci, "v1.34.1")


def images(oracle: OracleEngine, version: str) -> str:
    asked = {"nodePoolOptionId": "all", "nodePoolK8sVersion": version}
    return str(oracle.ask("ContainerEngine/getNodePoolOption", **asked)["sources"][0]["imageId"])


def scaled(cluster: Resource, nodes: str, **more: str) -> dict[str, Any]:
    """The autoscaler with its setting of node pools."""
    settings = [{"key": key, "value": value} for key, value in {"nodes": nodes, **more}.items()]
    common = {"removeAddonResourcesOnDelete": True, "overrideExisting": True}
    return {"clusterId": cluster.id, "addonName": "ClusterAutoscaler", "configurations": settings, **common}


@pytest.mark.parametrize(
    ("nodes", "more", "message"),
    [
        ("1-4:{pool}", {}, "is not MIN:MAX:OCID"),
        ("4:1:{pool}", {}, "is not MIN:MAX:OCID"),
        ("1:4:ocid1.nodepool.oc1.iad.another", {}, "404-NotAuthorizedOrNotFound"),
        ("1:4:{pool}", {"authType": "user"}, "authType user"),
    ],
)
def test_the_autoscaler_is_told_of_node_pools_of_its_cluster(
    oke: OracleEngine, nodes: str, more: dict[str, str], message: str
) -> None:
    pool = oke.up("NodePool", "system", oke.pool_inputs())
    with pytest.raises(Failed, match=message):
        oke.up("Addon", "scaler", scaled(oke.cluster, nodes.format(pool=pool.id), **more))


def test_the_autoscaler_adds_nodes_to_the_most_once_a_policy_lets_its_pods(oke: OracleEngine) -> None:
    oke.up("NodePool", "system", oke.pool_inputs(1))
    inputs = oke.pool_inputs(1, name="cpu")
    pool = oke.up("NodePool", "cpu", inputs)
    oke.up("Addon", "scaler", scaled(oke.cluster, f"1:2:{pool.id}", authType="workload"))
    assert play_on(oke.api, "pool-resized").startswith("no policy")

    text = f"Allow any-user to manage cluster-node-pools in compartment id {COMPARTMENT} where ALL "
    where = f"{{request.principal.type = 'workload', request.principal.cluster_id = '{oke.cluster.id}'}}"
    given = {"compartmentId": COMPARTMENT, "name": "scaler", "description": "d", "statements": [text + where]}
    oke.up("Policy", "scaler", given)

    assert play_on(oke.api, "pool-resized") == "cpu has 2 nodes"
    assert len(oke.names()) == 3
    assert play_on(oke.api, "pool-resized") == "there is no node pool that may grow"
    grown = oke.refresh(pool)
    assert grown is not None
    assert grown.outputs["nodeConfigDetails"]["size"] == 2


def preemptible(oke: OracleEngine, **placed: Any) -> dict[str, Any]:
    inputs = oke.pool_inputs(1, name="batch")
    [placement] = inputs["nodeConfigDetails"]["placementConfigs"]
    action = {"preemptionAction": {"type": "TERMINATE", "isPreserveBootVolume": False}}
    placed = {**placement, "preemptibleNodeConfig": action, **placed}
    return {**inputs, "nodeConfigDetails": {**inputs["nodeConfigDetails"], "placementConfigs": [placed]}}


def test_preemptible_nodes_have_oracles_label_and_taint(oke: OracleEngine) -> None:
    oke.up("NodePool", "batch", preemptible(oke))
    [node] = oke.nodes()

    assert node["metadata"]["labels"]["oci.oraclecloud.com/oke-is-preemptible"] == "true"
    assert "oci.oraclecloud.com/oke-is-preemptible" in {taint["key"] for taint in node["spec"]["taints"]}


@pytest.mark.parametrize(
    ("shape", "placed", "message"),
    [
        ("BM.GPU.A10.4", {}, "is a bare-metal shape"),
        ("VM.GPU.A10.1", {"capacityReservationId": "ocid1.capacityreservation.oc1.iad.some"}, "capacity reservation"),
        (
            "VM.GPU.A10.1",
            {"preemptibleNodeConfig": {"preemptionAction": {"type": "STOP"}}},
            "type is not TERMINATE",
        ),
    ],
)
def test_preemptible_machines_are_virtual_and_take_no_reservation(
    oke: OracleEngine, shape: str, placed: dict[str, Any], message: str
) -> None:
    inputs = {**preemptible(oke, **placed), "nodeShape": shape}
    del inputs["nodeShapeConfig"]
    with pytest.raises(Failed, match=message):
        oke.up("NodePool", "batch", inputs)
