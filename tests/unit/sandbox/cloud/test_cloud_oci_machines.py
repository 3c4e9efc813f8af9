"""Self-managed machines of Oracle's simulated cloud: who launches them, who joins a cluster, and what joins late."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from changes import Changes, changed
from cloud_engine import Failed, Resource
from committed_stacks import folder_of
from oracle_engine import COMPARTMENT, GROUP_RULE, H100, IMAGE, OracleEngine

from gpu_fabric.spec.load import read_document, validate
from sandbox.cloud.oci.machines import bring_about
from sandbox.cloud.oci.nodes import remember_image
from sandbox.home import SandboxHome


def cluster_network(oke: OracleEngine, **metadata: str) -> Resource:
    configuration = oke.configuration(oke.subnet, {**oke.metadata(), **metadata})
    return oke.up("ClusterNetwork", "gpu", oke.cluster_network_inputs(configuration, oke.subnet))


def test_machines_of_a_cluster_network_become_nodes_with_the_labels_of_their_metadata(oke: OracleEngine) -> None:
    oke.allow()
    made = cluster_network(oke, **{"oke-initial-node-labels": "team=a,kind=gpu"})
    assert made.id.startswith("ocid1.clusternetwork.oc1.iad.")
    assert made.outputs["state"] == "RUNNING"
    assert made.outputs["instancePools"][0]["id"].startswith("ocid1.instancepool.oc1.iad.")
    nodes = oke.nodes()
    assert len(nodes) == 2
    labels = nodes[0]["metadata"]["labels"]
    assert (labels["team"], labels["kind"], labels["node.kubernetes.io/instance-type"]) == ("a", "gpu", H100)
    assert "oci.oraclecloud.com/rdma.hpc_island_id" in labels
    assert oke.diff(made, made.inputs).paths == ()
    after = oke.refresh(made)
    assert after is not None
    assert after.inputs == made.inputs


def test_without_a_policy_the_machines_run_and_no_node_appears(oke: OracleEngine) -> None:
    made = cluster_network(oke)
    found = oke.ask("Core/getClusterNetworkInstances", clusterNetworkId=made.id, compartmentId=COMPARTMENT)
    assert [instance["state"] for instance in found["instances"]] == ["Running", "Running"]
    assert oke.names() == []


def test_a_policy_that_comes_too_late_lets_new_machines_join_only(oke: OracleEngine) -> None:
    made = cluster_network(oke)
    oke.allow()
    assert oke.names() == []
    pool = {**made.inputs["instancePools"][0], "size": 3}
    oke.update(made, {**made.inputs, "instancePools": [pool]})
    assert len(oke.names()) == 1


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
def test_a_policy_about_something_else_lets_nobody_join(oke: OracleEngine, statement: str) -> None:
    group = {"compartmentId": oke.api.account.tenancy, "name": "nodes", "description": "d"}
    oke.up("DynamicGroup", "nodes", {**group, "matchingRule": GROUP_RULE})
    given = {"compartmentId": COMPARTMENT, "name": "p", "description": "d", "statements": [statement]}
    oke.up("Policy", "p", given)
    cluster_network(oke)
    assert oke.names() == []


@pytest.mark.parametrize("key", ["apiserver_host", "cluster_ca_cert"])
def test_machines_whose_metadata_name_another_cluster_do_not_join(oke: OracleEngine, key: str) -> None:
    oke.allow()
    cluster_network(oke, **{key: base64.b64encode(b"another").decode()})
    assert oke.names() == []


def test_no_machine_joins_a_basic_cluster(oci: OracleEngine) -> None:
    oci.cluster = oci.up("Cluster", "basic", oci.new_cluster(type="BASIC_CLUSTER"))
    oci.allow()
    cluster_network(oci)
    assert oci.names() == []


def test_the_taints_of_the_boot_script_are_the_nodes(oke: OracleEngine) -> None:
    oke.allow()
    script = "#!/bin/bash\nKUBELET_EXTRA_ARGS='--register-with-taints=team=a:NoSchedule,b:NoExecute'\n"
    cluster_network(oke, user_data=base64.b64encode(script.encode()).decode())
    taints = oke.nodes()[0]["spec"]["taints"]
    assert {"key": "team", "value": "a", "effect": "NoSchedule"} in taints
    assert {"key": "b", "value": "", "effect": "NoExecute"} in taints


def test_a_cluster_network_grows_and_shrinks_in_place_and_the_newest_machine_goes_first(oke: OracleEngine) -> None:
    oke.allow()
    made = cluster_network(oke)
    before = oke.names()
    pool = made.inputs["instancePools"][0]
    larger = {**made.inputs, "instancePools": [{**pool, "size": 3}]}
    difference = oke.diff(made, larger)
    assert (difference.paths, difference.replaces) == (("instancePools[0].size",), ())
    grown = oke.update(made, larger)
    assert set(before) < set(oke.names())
    oke.update(grown, made.inputs)
    assert oke.names() == before


def test_another_placement_replaces_a_cluster_network(oke: OracleEngine) -> None:
    made = cluster_network(oke)
    placement = {**made.inputs["placementConfiguration"], "availabilityDomain": "another"}
    assert oke.diff(made, {**made.inputs, "placementConfiguration": placement}).replaces == ("placementConfiguration",)


def test_an_instance_configuration_is_for_life_and_not_deleted_while_a_pool_uses_it(oke: OracleEngine) -> None:
    configuration = oke.configuration(oke.subnet, oke.metadata())
    network = oke.up("ClusterNetwork", "gpu", oke.cluster_network_inputs(configuration, oke.subnet))
    details = {**configuration.inputs["instanceDetails"]["launchDetails"], "metadata": {"a": "b"}}
    changed = {**configuration.inputs, "instanceDetails": {"instanceType": "compute", "launchDetails": details}}
    difference = oke.diff(configuration, changed)
    assert (difference.replaces, difference.delete_first) == (("instanceDetails",), False)
    with pytest.raises(Failed, match="409-Conflict"):
        oke.delete(configuration)
    other = oke.up("InstanceConfiguration", "gpu", changed)
    pool = {**network.inputs["instancePools"][0], "instanceConfigurationId": other.id}
    assert oke.diff(network, {**network.inputs, "instancePools": [pool]}).replaces == ()
    oke.update(network, {**network.inputs, "instancePools": [pool]})
    oke.delete(configuration)


def test_deleting_the_machines_takes_their_nodes_and_frees_the_subnet(oke: OracleEngine) -> None:
    oke.allow()
    made = cluster_network(oke)
    oke.delete(made)
    assert oke.names() == []
    oke.delete(oke.cluster)
    oke.delete(oke.subnet)


def test_single_machines_of_a_compute_cluster_join_and_hosts_do_not(oke: OracleEngine) -> None:
    oke.allow()
    fabric = oke.up("ComputeCluster", "rdma", {"compartmentId": COMPARTMENT, "availabilityDomain": oke.domain})
    common = {
        "compartmentId": COMPARTMENT,
        "availabilityDomain": oke.domain,
        "createVnicDetails": {"subnetId": oke.subnet.id, "assignPublicIp": "true"},
        "sourceDetails": {"sourceType": "image", "sourceId": IMAGE},
    }
    gpu = {**common, "shape": H100, "computeClusterId": fabric.id, "metadata": oke.metadata()}
    node = oke.up("Instance", "gpu-0", gpu)
    flexible = {"shape": "VM.Standard.E5.Flex", "shapeConfig": {"ocpus": 1, "memoryInGbs": 4}}
    host = oke.up("Instance", "bastion", {**common, **flexible, "metadata": {"ssh_authorized_keys": "key"}})
    assert oke.names() == [node.outputs["privateIp"]]
    assert host.outputs["publicIp"]
    assert oke.diff(node, gpu).paths == ()
    assert oke.diff(node, {**gpu, "metadata": {}}, ["metadata"]).paths == ()
    with pytest.raises(Failed, match="409-Conflict"):
        oke.delete(fabric)
    oke.delete(node)
    assert oke.names() == []


def test_a_memory_cluster_grows_by_its_target_size_if_it_may(oke: OracleEngine) -> None:
    oke.allow()
    fabric = oke.up("ComputeCluster", "rdma", {"compartmentId": COMPARTMENT, "availabilityDomain": oke.domain})
    configuration = oke.configuration(oke.subnet, oke.metadata(), "BM.GPU.GB200-v3.4")
    inputs: dict[str, Any] = {
        "compartmentId": COMPARTMENT,
        "availabilityDomain": oke.domain,
        "computeClusterId": fabric.id,
        "instanceConfigurationId": configuration.id,
        "gpuMemoryFabricId": "ocid1.computegpumemoryfabric.oc1.iad.rack",
        "gpuMemoryClusterScaleConfig": {"isUpsizeEnabled": True, "isDownsizeEnabled": False, "targetSize": "2"},
    }
    made = oke.up("ComputeGpuMemoryCluster", "rack", inputs)
    label = "oci.oraclecloud.com/host.gpu_memory_fabric_id"
    assert [node["metadata"]["labels"][label] for node in oke.nodes()] == ["rack", "rack"]

    def sized(size: str) -> dict[str, Any]:
        return {**inputs, "gpuMemoryClusterScaleConfig": {**inputs["gpuMemoryClusterScaleConfig"], "targetSize": size}}

    grown = oke.update(made, sized("3"))
    assert len(oke.names()) == 3
    with pytest.raises(Failed, match="isDownsizeEnabled is not set"):
        oke.update(grown, sized("1"))
    assert oke.diff(made, {**inputs, "gpuMemoryFabricId": "another"}).replaces == ("gpuMemoryFabricId",)


def test_a_shape_without_an_rdma_network_is_for_instance_pools_only(oke: OracleEngine) -> None:
    oke.allow()
    configuration = oke.configuration(oke.subnet, oke.metadata(), "BM.GPU.A10.4")
    with pytest.raises(Failed, match="has no RDMA network"):
        oke.up("ClusterNetwork", "gpu", oke.cluster_network_inputs(configuration, oke.subnet))
    placement = {"availabilityDomain": oke.domain, "primaryVnicSubnets": {"subnetId": oke.subnet.id}}
    common = {"compartmentId": COMPARTMENT, "instanceConfigurationId": configuration.id}
    pool = oke.up("InstancePool", "gpu", {**common, "placementConfigurations": [placement], "size": 2})
    assert len(oke.names()) == 2
    larger = {**pool.inputs, "size": 3}
    assert (oke.diff(pool, larger).paths, oke.diff(pool, larger).replaces) == (("size",), ())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"metadata": {"user_data": "x" * 32001}}, "metadata have 32010 bytes"),
        ({"shape": "BM.GPU.H1000.8"}, "there is no shape"),
        ({"sourceDetails": {"sourceType": "image"}}, "names no image"),
    ],
)
def test_machines_that_cannot_be_launched_are_refused(oke: OracleEngine, changes: dict[str, Any], message: str) -> None:
    details = {"metadata": oke.metadata(), **changes}
    configuration = oke.configuration(oke.subnet, **details)
    with pytest.raises(Failed, match=message):
        oke.up("ClusterNetwork", "gpu", oke.cluster_network_inputs(configuration, oke.subnet))


def annotations_after(oke: OracleEngine, home: SandboxHome, **changes: Changes) -> dict[str, str]:
    """What the cluster's first machine says of itself once stacks of these names have said what their images bring."""
    for name, changed_keys in changes.items():
        keys = {"cluster.name": name, "cluster.compartmentId": COMPARTMENT, **changed_keys}
        spec, problems = validate(changed(read_document("oke-h100-26-4", folder_of("oke-h100-26-4")), keys))
        assert spec is not None, problems
        remember_image(home, spec)
    bring_about(oke.api, oke.cluster.id)
    found: dict[str, str] = oke.nodes()[0]["metadata"]["annotations"]
    return found


def test_machines_come_up_as_their_own_stack_says_whatever_another_one_says(oke: OracleEngine, tmp_path: Path) -> None:
    home = SandboxHome(tmp_path)
    oke.api.folder = home.cloud / "oci"
    oke.allow()
    cluster_network(oke)
    by_image = annotations_after(oke, home, one={})
    by_daemon_set = annotations_after(oke, home, one={"fabric.virtualFunctions": "daemon-set"})
    assert "sandbox.gpu-fabric/rdma-mode" in by_image
    assert by_image != by_daemon_set
    assert annotations_after(oke, home, one={}, other={"fabric.virtualFunctions": "daemon-set"}) == by_image


def test_a_stack_that_is_on_no_cloud_of_oracles_has_no_image_to_remember(tmp_path: Path) -> None:
    spec, problems = validate(read_document("dev", folder_of("dev")))
    assert spec is not None, problems
    remember_image(SandboxHome(tmp_path), spec)
    assert not (tmp_path / "cloud").exists()
