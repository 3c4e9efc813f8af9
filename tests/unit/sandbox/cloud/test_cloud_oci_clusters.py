"""Clusters, node pools and add-ons of Oracle's simulated cloud, as a stack meets them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from cloud_engine import Failed, Resource
from oracle_engine import COMPARTMENT, H100, OracleEngine, oracle_on

from sandbox.cloud.oci.events import play_on
from sandbox.cloud.oci.node_pools import NodePool
from sandbox.cloud.requests import Refused

NEW_BOOT_VOLUMES = {"isNodeCyclingEnabled": True, "cycleModes": ["BOOT_VOLUME_REPLACE"]}


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[OracleEngine]:
    with oracle_on(tmp_path) as made:
        yield made


@pytest.fixture
def network(engine: OracleEngine) -> tuple[Resource, Resource, Resource]:
    return engine.network()


@pytest.fixture
def subnet(network: tuple[Resource, Resource, Resource]) -> Resource:
    return network[1]


@pytest.fixture
def cluster(engine: OracleEngine, network: tuple[Resource, Resource, Resource]) -> Resource:
    return engine.up("Cluster", "one", engine.cluster_inputs(*network))


def gpu_pool(engine: OracleEngine, cluster: Resource, subnet: Resource, **config: Any) -> dict[str, Any]:
    made = engine.up("ComputeCluster", "rdma", {"compartmentId": COMPARTMENT, "availabilityDomain": engine.domain})
    inputs = engine.node_pool_inputs(cluster, subnet, 2, name="gpu", nodeShape=H100)
    del inputs["nodeShapeConfig"]
    return {**inputs, "nodeConfigDetails": {**inputs["nodeConfigDetails"], "computeClusterId": made.id, **config}}


def let_pools_launch(engine: OracleEngine) -> None:
    text = f"Allow any-user to {{COMPUTE_CLUSTER_LAUNCH_INSTANCE}} in compartment id {COMPARTMENT}"
    statements = [f"{text} where request.principal.type = 'nodepool'"]
    given = {"compartmentId": COMPARTMENT, "name": "services", "description": "d", "statements": statements}
    engine.up("Policy", "services", given)


def test_a_new_cluster_is_active_and_has_its_private_endpoint(cluster: Resource) -> None:
    assert cluster.id.startswith("ocid1.cluster.oc1.iad.")
    assert cluster.outputs["state"] == "ACTIVE"
    [endpoint] = cluster.outputs["endpoints"]
    assert endpoint["privateEndpoint"].startswith("127.0.0.1:")
    assert endpoint["publicEndpoint"] == ""


def test_a_cluster_that_stays_the_same_makes_no_difference(
    engine: OracleEngine, network: tuple[Resource, Resource, Resource], cluster: Resource
) -> None:
    same = engine.cluster_inputs(*network)
    assert engine.diff(cluster, same).paths == ()
    after = engine.refresh(cluster)
    assert after is not None
    assert after.inputs == cluster.inputs
    # what Oracle filled in stays when the program no longer says it
    assert engine.diff(after, {**same, "options": {}}).paths == ()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("compartmentId", "ocid1.compartment.oc1..other"),
        ("kmsKeyId", "ocid1.key.oc1.iad.some"),
        ("clusterPodNetworkOptions", [{"cniType": "OCI_VCN_IP_NATIVE"}]),
    ],
)
def test_what_is_for_life_replaces_the_cluster(
    engine: OracleEngine, network: tuple[Resource, Resource, Resource], cluster: Resource, name: str, value: Any
) -> None:
    difference = engine.diff(cluster, engine.cluster_inputs(*network, **{name: value}))
    assert (difference.replaces, difference.delete_first) == ((name,), True)


def test_the_endpoint_changes_in_place_and_another_subnet_of_it_replaces_the_cluster(
    engine: OracleEngine, network: tuple[Resource, Resource, Resource], cluster: Resource
) -> None:
    inputs = engine.cluster_inputs(*network)
    endpoint = inputs["endpointConfig"]
    for changes in ({"isPublicIpEnabled": True}, {"nsgIds": []}):
        found = engine.diff(cluster, {**inputs, "endpointConfig": {**endpoint, **changes}})
        assert found.paths
        assert found.replaces == ()
    moved = {**inputs, "endpointConfig": {**endpoint, "subnetId": "another"}}
    without = {name: value for name, value in inputs.items() if name != "endpointConfig"}
    for changed in (moved, without):
        assert engine.diff(cluster, changed).replaces == ("endpointConfig",)


def test_a_higher_version_is_an_upgrade_in_place_and_a_lower_one_is_refused(
    engine: OracleEngine, network: tuple[Resource, Resource, Resource], cluster: Resource
) -> None:
    higher = engine.cluster_inputs(*network, kubernetesVersion="v1.35.0")
    assert engine.diff(cluster, higher).replaces == ()
    raised = engine.update(cluster, higher)
    assert raised.id == cluster.id
    assert raised.outputs["kubernetesVersion"] == "v1.35.0"
    with pytest.raises(Failed, match="is lower than the cluster's"):
        engine.update(raised, engine.cluster_inputs(*network))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kubernetesVersion": "1.34.1"}, "is not offered"),
        ({"type": "HUGE_CLUSTER"}, "allowed are BASIC_CLUSTER"),
        ({"clusterPodNetworkOptions": [{"cniType": "CALICO"}]}, "cniType"),
        ({"options": {"kubernetesNetworkConfig": {"servicesCidr": "10.140.0.0/24"}}}, "overlaps with the VCN"),
    ],
)
def test_the_api_refuses_a_cluster_that_cannot_be(
    engine: OracleEngine, network: tuple[Resource, Resource, Resource], changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(Failed, match=f"400-InvalidParameter.*{message}"):
        engine.up("Cluster", "one", engine.cluster_inputs(*network, **changes))


def test_what_a_cluster_lies_in_is_not_deleted_before_it(
    engine: OracleEngine, network: tuple[Resource, Resource, Resource], cluster: Resource
) -> None:
    for used in network[1:]:
        with pytest.raises(Failed, match=f"409-Conflict, {used.id} is in use by {cluster.id}"):
            engine.delete(used)
    engine.delete(cluster)
    assert cluster.id not in engine.planes.nodes
    for used in (network[2], network[1], network[0]):
        engine.delete(used)


def test_the_kubeconfig_asks_the_command_oci_for_a_token(engine: OracleEngine, cluster: Resource) -> None:
    found = engine.ask("ContainerEngine/getClusterKubeConfig", clusterId=cluster.id, endpoint="PRIVATE_ENDPOINT")
    document = yaml.safe_load(found["content"])
    command = document["users"][0]["user"]["exec"]
    assert [command["command"], *command["args"]] == [
        "oci", "ce", "cluster", "generate-token", "--cluster-id", cluster.id, "--region", "us-ashburn-1",
    ]  # fmt: skip
    assert document["clusters"][0]["cluster"]["server"].startswith("https://127.0.0.1:")
    with pytest.raises(Failed, match="no public endpoint"):
        engine.ask("ContainerEngine/getClusterKubeConfig", clusterId=cluster.id, endpoint="PUBLIC_ENDPOINT")


def test_a_pools_nodes_have_oracles_labels_and_its_own(
    engine: OracleEngine, cluster: Resource, subnet: Resource
) -> None:
    inputs = engine.node_pool_inputs(cluster, subnet, 2, initialNodeLabels=[{"key": "team", "value": "a"}])
    pool = engine.up("NodePool", "system", inputs)
    assert [node["privateIp"] for node in pool.outputs["nodes"]] == [
        node["metadata"]["name"] for node in engine.planes.nodes[cluster.id]
    ]
    node = engine.planes.nodes[cluster.id][0]
    labels = node["metadata"]["labels"]
    assert labels["node.kubernetes.io/instance-type"] == "VM.Standard.E5.Flex"
    assert labels["team"] == "a"
    assert labels["topology.kubernetes.io/region"] == "us-ashburn-1"
    assert node["status"]["capacity"]["cpu"] == "8"
    assert engine.diff(pool, inputs).paths == ()


def test_a_pools_size_changes_in_place(engine: OracleEngine, cluster: Resource, subnet: Resource) -> None:
    pool = engine.up("NodePool", "system", engine.node_pool_inputs(cluster, subnet, 1))
    before = engine.names_of_nodes(cluster)
    larger = engine.node_pool_inputs(cluster, subnet, 3)
    difference = engine.diff(pool, larger)
    assert (difference.paths, difference.replaces) == (("nodeConfigDetails.size",), ())
    grown = engine.update(pool, larger)
    assert len(engine.names_of_nodes(cluster)) == 3
    engine.update(grown, engine.node_pool_inputs(cluster, subnet, 1))
    assert engine.names_of_nodes(cluster) == before


def test_a_deleted_node_makes_room_for_another_as_the_pool_is_now(
    engine: OracleEngine, cluster: Resource, subnet: Resource
) -> None:
    def machines() -> dict[str, str]:
        nodes = engine.planes.nodes[cluster.id]
        return {node["spec"]["providerID"]: node["status"]["nodeInfo"]["kubeletVersion"] for node in nodes}

    pool = engine.up("NodePool", "system", engine.node_pool_inputs(cluster, subnet, 2))
    first, second = machines()
    NodePool(engine.api).replace(pool.id, first, smaller=False)
    assert len(machines()) == 2
    assert second in machines()
    assert first not in machines()
    NodePool(engine.api).replace(pool.id, second, smaller=True)
    assert len(machines()) == 1
    with pytest.raises(Refused, match="NotAuthorizedOrNotFound"):
        NodePool(engine.api).replace(pool.id, second, smaller=False)


def test_new_labels_reach_new_nodes_only_unless_the_pool_cycles_them(
    engine: OracleEngine, cluster: Resource, subnet: Resource
) -> None:
    def labelled() -> list[bool]:
        return ["team" in node["metadata"]["labels"] for node in engine.planes.nodes[cluster.id]]

    pool = engine.up("NodePool", "system", engine.node_pool_inputs(cluster, subnet, 1))
    labels = {"initialNodeLabels": [{"key": "team", "value": "a"}]}
    grown = engine.update(pool, engine.node_pool_inputs(cluster, subnet, 2, **labels))
    assert labelled() == [False, True]
    cycling = {"isNodeCyclingEnabled": True, "cycleModes": ["INSTANCE_REPLACE"]}
    engine.update(grown, engine.node_pool_inputs(cluster, subnet, 2, **labels, nodePoolCyclingDetails=cycling))
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
    engine: OracleEngine, cluster: Resource, subnet: Resource, more: dict[str, Any], reason: str
) -> None:
    pool = engine.up("NodePool", "gpu", engine.node_pool_inputs(cluster, subnet, 1))
    cycling = {"nodePoolCyclingDetails": NEW_BOOT_VOLUMES, **more}
    with pytest.raises(Failed, match=reason):
        engine.update(pool, engine.node_pool_inputs(cluster, subnet, 1, **cycling))
    [node] = engine.planes.nodes[cluster.id]
    assert "team" not in node["metadata"]["labels"]


def test_gpu_nodes_of_a_compute_cluster_are_tainted_and_know_their_place_in_the_fabric(
    engine: OracleEngine, cluster: Resource, subnet: Resource
) -> None:
    let_pools_launch(engine)
    engine.up("NodePool", "gpu", gpu_pool(engine, cluster, subnet))
    [one, other] = engine.planes.nodes[cluster.id]
    assert {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"} in one["spec"]["taints"]
    assert "nvidia.com/gpu" not in one["status"]["capacity"]
    host = "oci.oraclecloud.com/rdma.host_id"
    assert one["metadata"]["labels"][host] != other["metadata"]["labels"][host]
    assert ("DaemonSet", "nvidia-gpu-device-plugin") in engine.planes.objects[cluster.id]


def test_a_pool_in_a_compute_cluster_needs_the_policy_for_it(
    engine: OracleEngine, cluster: Resource, subnet: Resource
) -> None:
    with pytest.raises(Failed, match=r"404-NotAuthorizedOrNotFound.*COMPUTE_CLUSTER_LAUNCH_INSTANCE"):
        engine.up("NodePool", "gpu", gpu_pool(engine, cluster, subnet))


def test_another_compute_cluster_replaces_the_pool_and_the_old_one_stays_until_then(
    engine: OracleEngine, cluster: Resource, subnet: Resource
) -> None:
    let_pools_launch(engine)
    inputs = gpu_pool(engine, cluster, subnet)
    pool = engine.up("NodePool", "gpu", inputs)
    other = {**inputs, "nodeConfigDetails": {**inputs["nodeConfigDetails"], "computeClusterId": "another"}}
    assert engine.diff(pool, other).replaces == ("nodeConfigDetails",)
    held = engine.imported("ComputeCluster", inputs["nodeConfigDetails"]["computeClusterId"])
    assert held is not None
    with pytest.raises(Failed, match="409-Conflict"):
        engine.delete(held)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kubernetesVersion": "v1.35.0"}, "is not one for a cluster of v1.34.1"),
        ({"nodeShape": "BM.GPU.H1000.8"}, "there is no shape"),
        ({"nodeShapeConfig": None}, "needs a shapeConfig"),
        ({"nodeSourceDetails": None}, "names no image"),
    ],
)
def test_the_api_refuses_a_pool_that_cannot_be(
    engine: OracleEngine, cluster: Resource, subnet: Resource, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(Failed, match=message):
        engine.up("NodePool", "system", engine.node_pool_inputs(cluster, subnet, **changes))


def test_a_pool_has_the_pod_network_of_its_cluster(engine: OracleEngine, cluster: Resource, subnet: Resource) -> None:
    inputs = engine.node_pool_inputs(cluster, subnet)
    native = {"cniType": "OCI_VCN_IP_NATIVE", "podSubnetIds": [subnet.id]}
    inputs["nodeConfigDetails"]["nodePoolPodNetworkOptionDetails"] = native
    with pytest.raises(Failed, match="is not the cluster's"):
        engine.up("NodePool", "system", inputs)


def test_an_image_that_was_imported_starts_on_a_gpu_shape_once_it_is_said_to(
    engine: OracleEngine, cluster: Resource, subnet: Resource
) -> None:
    let_pools_launch(engine)
    source = {"sourceType": "objectStorageUri", "sourceUri": "https://objectstorage.example/image"}
    image = engine.up("Image", "gpu", {"compartmentId": COMPARTMENT, "imageSourceDetails": source})
    inputs = gpu_pool(engine, cluster, subnet)
    inputs["nodeSourceDetails"] = {"sourceType": "IMAGE", "imageId": image.id}
    with pytest.raises(Failed, match=f"{H100} is incompatible"):
        engine.up("NodePool", "gpu", inputs)
    engine.up("ShapeManagement", "gpu", {"compartmentId": COMPARTMENT, "imageId": image.id, "shapeName": H100})
    assert engine.up("NodePool", "gpu", inputs).id


def test_an_add_on_comes_up_once_a_machine_without_gpus_is_there(
    engine: OracleEngine, cluster: Resource, subnet: Resource
) -> None:
    addon = {"clusterId": cluster.id, "addonName": "NodeFeatureDiscovery", "removeAddonResourcesOnDelete": True}
    with pytest.raises(Failed, match="NEEDS_ATTENTION"):
        engine.up("Addon", "nfd", addon)
    engine.up("NodePool", "system", engine.node_pool_inputs(cluster, subnet))
    with pytest.raises(Failed, match="409-Conflict, addon NodeFeatureDiscovery exists"):
        engine.up("Addon", "nfd", addon)
    made = engine.up("Addon", "nfd", {**addon, "overrideExisting": True})
    assert made.outputs["state"] == "ACTIVE"
    assert engine.diff(made, {**addon, "overrideExisting": True, "version": "v2"}).replaces == ()
    assert engine.diff(made, {**addon, "overrideExisting": True, "addonName": "CoreDNS"}).replaces == ("addonName",)


@pytest.mark.parametrize(
    ("name", "message"), [("NvidiaGpuOperator", "needs NodeFeatureDiscovery"), ("Nothing", "there is no add-on")]
)
def test_an_add_on_that_cannot_be_is_refused(engine: OracleEngine, cluster: Resource, name: str, message: str) -> None:
    with pytest.raises(Failed, match=message):
        engine.up("Addon", "a", {"clusterId": cluster.id, "addonName": name, "removeAddonResourcesOnDelete": True})


def test_the_images_for_nodes_are_listed_for_their_version(engine: OracleEngine) -> None:
    asked = {"nodePoolOptionId": "all", "nodePoolK8sVersion": "v1.34.1"}
    sources = engine.ask("ContainerEngine/getNodePoolOption", **asked)["sources"]
    assert all("OKE-1.34.1" in source["sourceName"] for source in sources)
    assert {source["imageId"].split(".")[1] for source in sources} == {"image"}


def test_a_pool_of_a_cluster_without_it_is_gone(engine: OracleEngine, cluster: Resource, subnet: Resource) -> None:
    pool = engine.up("NodePool", "system", engine.node_pool_inputs(cluster, subnet))
    engine.delete(cluster)
    assert engine.refresh(pool) is None


def test_a_pool_whose_image_is_of_another_version_is_refused_new_and_changed(
    engine: OracleEngine, network: tuple[Resource, Resource, Resource]
) -> None:
    cluster = engine.up("Cluster", "one", engine.cluster_inputs(*network))

    def pool(version: str, image: str) -> dict[str, Any]:
        source = {"sourceType": "IMAGE", "imageId": images(engine, image)}
        return engine.node_pool_inputs(cluster, network[1], kubernetesVersion=version, nodeSourceDetails=source)

    with pytest.raises(Failed, match="409-Conflict, Kubernetes version does not match"):
        engine.up("NodePool", "system", pool("v1.34.1", "v1.33.1"))
    made = engine.up("NodePool", "system", pool("v1.33.1", "v1.33.1"))
    with pytest.raises(Failed, match=r"409-Conflict, .* of OKE worker node image \(v1\.33\.1\)"):
        engine.update(made, pool("v1.34.1", "v1.33.1"))
    assert engine.update(made, pool("v1.34.1", "v1.34.1")).outputs["nodes"]
    [found] = engine.ask("ContainerEngine/getNodePools", compartmentId=COMPARTMENT, clusterId=cluster.id)["nodePools"]
    assert found["nodeSourceDetails"][0]["imageId"] == images(engine, "v1.34.1")


def images(engine: OracleEngine, version: str) -> str:
    asked = {"nodePoolOptionId": "all", "nodePoolK8sVersion": version}
    return str(engine.ask("ContainerEngine/getNodePoolOption", **asked)["sources"][0]["imageId"])


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
    engine: OracleEngine, cluster: Resource, subnet: Resource, nodes: str, more: dict[str, str], message: str
) -> None:
    pool = engine.up("NodePool", "system", engine.node_pool_inputs(cluster, subnet))
    with pytest.raises(Failed, match=message):
        engine.up("Addon", "scaler", scaled(cluster, nodes.format(pool=pool.id), **more))


def test_the_autoscaler_adds_nodes_to_the_most_once_a_policy_lets_its_pods(
    engine: OracleEngine, cluster: Resource, subnet: Resource
) -> None:
    engine.up("NodePool", "system", engine.node_pool_inputs(cluster, subnet, 1))
    inputs = engine.node_pool_inputs(cluster, subnet, 1, name="cpu")
    pool = engine.up("NodePool", "cpu", inputs)
    engine.up("Addon", "scaler", scaled(cluster, f"1:2:{pool.id}", authType="workload"))
    assert play_on(engine.api, "pool-resized").startswith("no policy")

    text = f"Allow any-user to manage cluster-node-pools in compartment id {COMPARTMENT} where ALL "
    where = f"{{request.principal.type = 'workload', request.principal.cluster_id = '{cluster.id}'}}"
    given = {"compartmentId": COMPARTMENT, "name": "scaler", "description": "d", "statements": [text + where]}
    engine.up("Policy", "scaler", given)

    assert play_on(engine.api, "pool-resized") == "cpu has 2 nodes"
    assert len(engine.names_of_nodes(cluster)) == 3
    assert play_on(engine.api, "pool-resized") == "there is no node pool that may grow"
    grown = engine.refresh(pool)
    assert grown is not None
    assert grown.outputs["nodeConfigDetails"]["size"] == 2


def preemptible(engine: OracleEngine, cluster: Resource, subnet: Resource, **placed: Any) -> dict[str, Any]:
    inputs = engine.node_pool_inputs(cluster, subnet, 1, name="batch")
    [placement] = inputs["nodeConfigDetails"]["placementConfigs"]
    action = {"preemptionAction": {"type": "TERMINATE", "isPreserveBootVolume": False}}
    placed = {**placement, "preemptibleNodeConfig": action, **placed}
    return {**inputs, "nodeConfigDetails": {**inputs["nodeConfigDetails"], "placementConfigs": [placed]}}


def test_preemptible_nodes_have_oracles_label_and_taint(
    engine: OracleEngine, cluster: Resource, subnet: Resource
) -> None:
    engine.up("NodePool", "batch", preemptible(engine, cluster, subnet))
    [node] = engine.planes.nodes[cluster.id]

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
    engine: OracleEngine, cluster: Resource, subnet: Resource, shape: str, placed: dict[str, Any], message: str
) -> None:
    inputs = {**preemptible(engine, cluster, subnet, **placed), "nodeShape": shape}
    del inputs["nodeShapeConfig"]
    with pytest.raises(Failed, match=message):
        engine.up("NodePool", "batch", inputs)
