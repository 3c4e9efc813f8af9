"""Self-managed machines of Oracle's simulated cloud: who launches them, who joins a cluster, and what joins late."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from changes import Changes, changed
from cloud_engine import Failed, Resource
from committed_stacks import folder_of
from oracle_engine import COMPARTMENT, GROUP_RULE, H100, IMAGE, OracleEngine, oracle_on

from gpu_fabric.spec.load import read_document, validate
from sandbox.cloud.oci.machines import bring_about
from sandbox.cloud.oci.nodes import remember_image
from sandbox.home import SandboxHome


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


def cluster_network(engine: OracleEngine, cluster: Resource, subnet: Resource, **metadata: str) -> Resource:
    configuration = engine.configuration(subnet, {**engine.metadata(cluster), **metadata})
    return engine.up("ClusterNetwork", "gpu", engine.cluster_network_inputs(configuration, subnet))


def test_machines_of_a_cluster_network_become_nodes_with_the_labels_of_their_metadata(
    engine: OracleEngine, cluster: Resource, subnet: Resource
) -> None:
    engine.allow(cluster)
    made = cluster_network(engine, cluster, subnet, **{"oke-initial-node-labels": "team=a,kind=gpu"})
    assert made.id.startswith("ocid1.clusternetwork.oc1.iad.")
    assert made.outputs["state"] == "RUNNING"
    assert made.outputs["instancePools"][0]["id"].startswith("ocid1.instancepool.oc1.iad.")
    nodes = engine.planes.nodes[cluster.id]
    assert len(nodes) == 2
    labels = nodes[0]["metadata"]["labels"]
    assert (labels["team"], labels["kind"], labels["node.kubernetes.io/instance-type"]) == ("a", "gpu", H100)
    assert "oci.oraclecloud.com/rdma.hpc_island_id" in labels
    assert engine.diff(made, made.inputs).paths == ()
    after = engine.refresh(made)
    assert after is not None
    assert after.inputs == made.inputs


def test_without_a_policy_the_machines_run_and_no_node_appears(
    engine: OracleEngine, cluster: Resource, subnet: Resource
) -> None:
    made = cluster_network(engine, cluster, subnet)
    found = engine.ask("Core/getClusterNetworkInstances", clusterNetworkId=made.id, compartmentId=COMPARTMENT)
    assert [instance["state"] for instance in found["instances"]] == ["Running", "Running"]
    assert engine.names_of_nodes(cluster) == []


def test_a_policy_that_comes_too_late_lets_new_machines_join_only(
    engine: OracleEngine, cluster: Resource, subnet: Resource
) -> None:
    made = cluster_network(engine, cluster, subnet)
    engine.allow(cluster)
    assert engine.names_of_nodes(cluster) == []
    pool = {**made.inputs["instancePools"][0], "size": 3}
    engine.update(made, {**made.inputs, "instancePools": [pool]})
    assert len(engine.names_of_nodes(cluster)) == 1


@pytest.mark.parametrize(
    "statement",
    [
        "Allow dynamic-group 'nodes' to {CLUSTER_INSPECT} in tenancy",
        "Allow dynamic-group 'nodes' to {CLUSTER_JOIN} in compartment id ocid1.compartment.oc1..other",
        "Allow dynamic-group 'nodes' to {CLUSTER_JOIN} in tenancy where target.cluster.id = 'another'",
        "Allow group Administrators to {CLUSTER_JOIN} in tenancy",
        "Allow any-user to {CLUSTER_JOIN} in tenancy where target.cluster.id = 'another'",
    ],
)
def test_a_policy_about_something_else_lets_nobody_join(
    engine: OracleEngine, cluster: Resource, subnet: Resource, statement: str
) -> None:
    group = {"compartmentId": engine.api.account.tenancy, "name": "nodes", "description": "d"}
    engine.up("DynamicGroup", "nodes", {**group, "matchingRule": GROUP_RULE})
    given = {"compartmentId": COMPARTMENT, "name": "p", "description": "d", "statements": [statement]}
    engine.up("Policy", "p", given)
    cluster_network(engine, cluster, subnet)
    assert engine.names_of_nodes(cluster) == []


@pytest.mark.parametrize("key", ["apiserver_host", "cluster_ca_cert"])
def test_machines_whose_metadata_name_another_cluster_do_not_join(
    engine: OracleEngine, cluster: Resource, subnet: Resource, key: str
) -> None:
    engine.allow(cluster)
    cluster_network(engine, cluster, subnet, **{key: base64.b64encode(b"another").decode()})
    assert engine.names_of_nodes(cluster) == []


def test_no_machine_joins_a_basic_cluster(
    engine: OracleEngine, network: tuple[Resource, Resource, Resource], subnet: Resource
) -> None:
    basic = engine.up("Cluster", "basic", engine.cluster_inputs(*network, type="BASIC_CLUSTER"))
    engine.allow(basic)
    cluster_network(engine, basic, subnet)
    assert engine.names_of_nodes(basic) == []


def test_the_taints_of_the_boot_script_are_the_nodes(engine: OracleEngine, cluster: Resource, subnet: Resource) -> None:
    engine.allow(cluster)
    script = "#!/bin/bash\nKUBELET_EXTRA_ARGS='--register-with-taints=team=a:NoSchedule,b:NoExecute'\n"
    cluster_network(engine, cluster, subnet, user_data=base64.b64encode(script.encode()).decode())
    taints = engine.planes.nodes[cluster.id][0]["spec"]["taints"]
    assert {"key": "team", "value": "a", "effect": "NoSchedule"} in taints
    assert {"key": "b", "value": "", "effect": "NoExecute"} in taints


def test_a_cluster_network_grows_and_shrinks_in_place_and_the_newest_machine_goes_first(
    engine: OracleEngine, cluster: Resource, subnet: Resource
) -> None:
    engine.allow(cluster)
    made = cluster_network(engine, cluster, subnet)
    before = engine.names_of_nodes(cluster)
    pool = made.inputs["instancePools"][0]
    larger = {**made.inputs, "instancePools": [{**pool, "size": 3}]}
    difference = engine.diff(made, larger)
    assert (difference.paths, difference.replaces) == (("instancePools[0].size",), ())
    grown = engine.update(made, larger)
    assert set(before) < set(engine.names_of_nodes(cluster))
    engine.update(grown, made.inputs)
    assert engine.names_of_nodes(cluster) == before


def test_another_placement_replaces_a_cluster_network(
    engine: OracleEngine, cluster: Resource, subnet: Resource
) -> None:
    made = cluster_network(engine, cluster, subnet)
    placement = {**made.inputs["placementConfiguration"], "availabilityDomain": "another"}
    assert engine.diff(made, {**made.inputs, "placementConfiguration": placement}).replaces == (
        "placementConfiguration",
    )


def test_an_instance_configuration_is_for_life_and_not_deleted_while_a_pool_uses_it(
    engine: OracleEngine, cluster: Resource, subnet: Resource
) -> None:
    configuration = engine.configuration(subnet, engine.metadata(cluster))
    network = engine.up("ClusterNetwork", "gpu", engine.cluster_network_inputs(configuration, subnet))
    details = {**configuration.inputs["instanceDetails"]["launchDetails"], "metadata": {"a": "b"}}
    changed = {**configuration.inputs, "instanceDetails": {"instanceType": "compute", "launchDetails": details}}
    difference = engine.diff(configuration, changed)
    assert (difference.replaces, difference.delete_first) == (("instanceDetails",), False)
    with pytest.raises(Failed, match="409-Conflict"):
        engine.delete(configuration)
    other = engine.up("InstanceConfiguration", "gpu", changed)
    pool = {**network.inputs["instancePools"][0], "instanceConfigurationId": other.id}
    assert engine.diff(network, {**network.inputs, "instancePools": [pool]}).replaces == ()
    engine.update(network, {**network.inputs, "instancePools": [pool]})
    engine.delete(configuration)


def test_deleting_the_machines_takes_their_nodes_and_frees_the_subnet(
    engine: OracleEngine, cluster: Resource, subnet: Resource
) -> None:
    engine.allow(cluster)
    made = cluster_network(engine, cluster, subnet)
    engine.delete(made)
    assert engine.names_of_nodes(cluster) == []
    engine.delete(cluster)
    engine.delete(subnet)


def test_single_machines_of_a_compute_cluster_join_and_hosts_do_not(
    engine: OracleEngine, cluster: Resource, subnet: Resource
) -> None:
    engine.allow(cluster)
    fabric = engine.up("ComputeCluster", "rdma", {"compartmentId": COMPARTMENT, "availabilityDomain": engine.domain})
    common = {
        "compartmentId": COMPARTMENT,
        "availabilityDomain": engine.domain,
        "createVnicDetails": {"subnetId": subnet.id, "assignPublicIp": "true"},
        "sourceDetails": {"sourceType": "image", "sourceId": IMAGE},
    }
    gpu = {**common, "shape": H100, "computeClusterId": fabric.id, "metadata": engine.metadata(cluster)}
    node = engine.up("Instance", "gpu-0", gpu)
    flexible = {"shape": "VM.Standard.E5.Flex", "shapeConfig": {"ocpus": 1, "memoryInGbs": 4}}
    host = engine.up("Instance", "bastion", {**common, **flexible, "metadata": {"ssh_authorized_keys": "key"}})
    assert engine.names_of_nodes(cluster) == [node.outputs["privateIp"]]
    assert host.outputs["publicIp"]
    assert engine.diff(node, gpu).paths == ()
    assert engine.diff(node, {**gpu, "metadata": {}}, ["metadata"]).paths == ()
    with pytest.raises(Failed, match="409-Conflict"):
        engine.delete(fabric)
    engine.delete(node)
    assert engine.names_of_nodes(cluster) == []


def test_a_memory_cluster_grows_by_its_target_size_if_it_may(
    engine: OracleEngine, cluster: Resource, subnet: Resource
) -> None:
    engine.allow(cluster)
    fabric = engine.up("ComputeCluster", "rdma", {"compartmentId": COMPARTMENT, "availabilityDomain": engine.domain})
    configuration = engine.configuration(subnet, engine.metadata(cluster), "BM.GPU.GB200-v3.4")
    inputs: dict[str, Any] = {
        "compartmentId": COMPARTMENT,
        "availabilityDomain": engine.domain,
        "computeClusterId": fabric.id,
        "instanceConfigurationId": configuration.id,
        "gpuMemoryFabricId": "ocid1.computegpumemoryfabric.oc1.iad.rack",
        "gpuMemoryClusterScaleConfig": {"isUpsizeEnabled": True, "isDownsizeEnabled": False, "targetSize": "2"},
    }
    made = engine.up("ComputeGpuMemoryCluster", "rack", inputs)
    label = "oci.oraclecloud.com/host.gpu_memory_fabric_id"
    assert [node["metadata"]["labels"][label] for node in engine.planes.nodes[cluster.id]] == ["rack", "rack"]

    def sized(size: str) -> dict[str, Any]:
        return {**inputs, "gpuMemoryClusterScaleConfig": {**inputs["gpuMemoryClusterScaleConfig"], "targetSize": size}}

    grown = engine.update(made, sized("3"))
    assert len(engine.names_of_nodes(cluster)) == 3
    with pytest.raises(Failed, match="isDownsizeEnabled is not set"):
        engine.update(grown, sized("1"))
    assert engine.diff(made, {**inputs, "gpuMemoryFabricId": "another"}).replaces == ("gpuMemoryFabricId",)


def test_a_shape_without_an_rdma_network_is_for_instance_pools_only(
    engine: OracleEngine, cluster: Resource, subnet: Resource
) -> None:
    engine.allow(cluster)
    configuration = engine.configuration(subnet, engine.metadata(cluster), "BM.GPU.A10.4")
    with pytest.raises(Failed, match="has no RDMA network"):
        engine.up("ClusterNetwork", "gpu", engine.cluster_network_inputs(configuration, subnet))
    placement = {"availabilityDomain": engine.domain, "primaryVnicSubnets": {"subnetId": subnet.id}}
    common = {"compartmentId": COMPARTMENT, "instanceConfigurationId": configuration.id}
    pool = engine.up("InstancePool", "gpu", {**common, "placementConfigurations": [placement], "size": 2})
    assert len(engine.names_of_nodes(cluster)) == 2
    larger = {**pool.inputs, "size": 3}
    assert (engine.diff(pool, larger).paths, engine.diff(pool, larger).replaces) == (("size",), ())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"metadata": {"user_data": "x" * 32001}}, "metadata have 32010 bytes"),
        ({"shape": "BM.GPU.H1000.8"}, "there is no shape"),
        ({"sourceDetails": {"sourceType": "image"}}, "names no image"),
    ],
)
def test_machines_that_cannot_be_launched_are_refused(
    engine: OracleEngine, cluster: Resource, subnet: Resource, changes: dict[str, Any], message: str
) -> None:
    details = {"metadata": engine.metadata(cluster), **changes}
    configuration = engine.configuration(subnet, **details)
    with pytest.raises(Failed, match=message):
        engine.up("ClusterNetwork", "gpu", engine.cluster_network_inputs(configuration, subnet))


def annotations_after(engine: OracleEngine, cluster: Resource, home: SandboxHome, **changes: Changes) -> dict[str, str]:
    """What the cluster's first machine says of itself once stacks of these names have said what their images bring."""
    for name, changed_keys in changes.items():
        keys = {"cluster.name": name, "cluster.compartmentId": COMPARTMENT, **changed_keys}
        spec, problems = validate(changed(read_document("oke-h100-26-4", folder_of("oke-h100-26-4")), keys))
        assert spec is not None, problems
        remember_image(home, spec)
    bring_about(engine.api, cluster.id)
    found: dict[str, str] = engine.planes.nodes[cluster.id][0]["metadata"]["annotations"]
    return found


def test_machines_come_up_as_their_own_stack_says_whatever_another_one_says(
    engine: OracleEngine, cluster: Resource, subnet: Resource, tmp_path: Path
) -> None:
    home = SandboxHome(tmp_path)
    engine.api.folder = home.cloud / "oci"
    engine.allow(cluster)
    cluster_network(engine, cluster, subnet)
    by_image = annotations_after(engine, cluster, home, one={})
    by_daemon_set = annotations_after(engine, cluster, home, one={"fabric.virtualFunctions": "daemon-set"})
    assert "sandbox.gpu-fabric/rdma-mode" in by_image
    assert by_image != by_daemon_set
    assert annotations_after(engine, cluster, home, one={}, other={"fabric.virtualFunctions": "daemon-set"}) == by_image


def test_a_stack_that_is_on_no_cloud_of_oracles_has_no_image_to_remember(tmp_path: Path) -> None:
    spec, problems = validate(read_document("dev", folder_of("dev")))
    assert spec is not None, problems
    remember_image(SandboxHome(tmp_path), spec)
    assert not (tmp_path / "cloud").exists()
