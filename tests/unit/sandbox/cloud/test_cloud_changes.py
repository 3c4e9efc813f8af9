"""What changes in place at the simulated clouds, what is replaced and in which order, and what makes no difference."""

from typing import Any

import pytest
from cloud_engine import Engine, Failed, Resource
from digitalocean_inputs import INPUTS, POOL, gpu_pool, refreshed
from oracle_engine import OracleEngine

from sandbox.cloud.oci.node_pools import NodePool
from sandbox.cloud.requests import Refused

Inputs = dict[str, Any]
NET = {"name": "net", "region": "nyc2", "ipRange": "10.20.0.0/20"}


@pytest.mark.parametrize(
    ("kind", "path", "value", "replaces"),
    [
        ("KubernetesCluster", "region", "ams3", True),
        ("KubernetesCluster", "vpcUuid", "another", True),
        ("KubernetesCluster", "clusterSubnet", "10.10.0.0/16", True),
        ("KubernetesCluster", "serviceSubnet", "10.11.0.0/19", True),
        # a version is raised in place, and never lowered
        ("KubernetesCluster", "version", "1.34.5-do.3", True),
        ("KubernetesCluster", "version", "1.35.1-do.5", True),
        ("KubernetesCluster", "version", "1.36.1-do.0", False),
        ("KubernetesCluster", "nodePool.size", "s-8vcpu-16gb", True),
        ("KubernetesCluster", "nodePool.nodeCount", 3, False),
        ("KubernetesCluster", "nodePool.labels", {"a": "b"}, False),
        ("KubernetesCluster", "name", "two", False),
        ("KubernetesCluster", "tags", ["team"], False),
        ("KubernetesCluster", "ha", True, False),
        ("KubernetesCluster", "rdmaSharedDevicePlugin", {"enabled": False}, False),
        ("KubernetesNodePool", "size", "gpu-h200x8-1128gb", True),
        ("KubernetesNodePool", "clusterId", "another", True),
        ("KubernetesNodePool", "gpuPartitionMode", "AMD_PARTITION_MODE_DPX_NPS2", True),
        ("KubernetesNodePool", "nodeCount", 3, False),
        ("Vpc", "region", "ams3", True),
        ("Vpc", "ipRange", "10.30.0.0/20", True),
        ("Vpc", "description", "for GPUs", False),
    ],
)
def test_what_digitalocean_cannot_change_is_replaced_the_old_one_first(
    engine: Engine, cluster: Resource, kind: str, path: str, value: object, replaces: bool
) -> None:
    inputs = {"KubernetesCluster": INPUTS, "KubernetesNodePool": gpu_pool(cluster), "Vpc": NET}[kind]
    made = cluster if kind == "KubernetesCluster" else engine.up(kind, "one", inputs)
    top, _, below = path.partition(".")
    difference = engine.diff(made, {**inputs, top: {**POOL, below: value} if below else value})
    assert difference.paths == (path,)
    assert difference.replaces == ((top,) if replaces else ())
    assert difference.delete_first is replaces
    assert engine.diff(made, inputs).paths == ()


def test_a_plugin_switched_off_stays_off_when_the_block_is_dropped(engine: Engine) -> None:
    made = engine.up("KubernetesCluster", "one", {**INPUTS, "rdmaSharedDevicePlugin": {"enabled": False}})
    engine.up("KubernetesNodePool", "gpu", gpu_pool(made))
    assert engine.diff(refreshed(engine, made), INPUTS).paths == ()
    updated = engine.update(refreshed(engine, made), {**INPUTS, "tags": ["team"]})
    assert updated.outputs["rdmaSharedDevicePlugin"] == {"enabled": False}
    assert updated.outputs["nvidiaGpuDevicePlugin"] == {"enabled": True}
    assert ("ConfigMap", "rdma-shared-device-plugin") not in engine.planes.objects[made.id]


def test_labels_that_are_dropped_stay_on_nodes_and_taints_do_not(engine: Engine) -> None:
    taint = {"key": "k", "value": "v", "effect": "NoSchedule"}
    marked = {**INPUTS, "nodePool": {**POOL, "labels": {"a": "1", "b": "2"}, "taints": [taint]}}
    made = engine.up("KubernetesCluster", "one", marked)
    assert engine.diff(refreshed(engine, made), marked).paths == ()
    engine.update(made, {**INPUTS, "nodePool": {**POOL, "labels": {"b": "3"}, "nodeCount": 3}})
    nodes = engine.planes.nodes[made.id]
    labels = [(node["metadata"]["labels"].get("a"), node["metadata"]["labels"]["b"]) for node in nodes]
    assert labels == [("1", "3"), ("1", "3"), (None, "3")]
    assert all("k" not in [taint["key"] for taint in node["spec"]["taints"]] for node in nodes)


def test_a_pools_labels_and_tags_that_are_taken_out_leave_no_difference_and_its_first_nodes_stay(
    engine: Engine, cluster: Resource
) -> None:
    own = {"labels": {"gpu-fabric/pool": "gpu"}, "tags": ["gpu-fabric"]}
    more = {"labels": {**own["labels"], "team": "a"}, "tags": [*own["tags"], "b"]}
    pool = engine.up("KubernetesNodePool", "gpu", gpu_pool(cluster, **more, nodeCount=3))
    smaller = engine.update(pool, gpu_pool(cluster, **own, nodeCount=1))
    assert smaller.outputs["nodes"][0]["name"] == pool.outputs["nodes"][0]["name"]
    assert engine.diff(refreshed(engine, smaller), gpu_pool(cluster, **own, nodeCount=1)).paths == ()
    assert len(engine.planes.nodes[cluster.id]) == 2 + 1


def test_an_update_that_times_out_keeps_the_resource_and_what_became_of_it(engine: Engine, cluster: Resource) -> None:
    pool = cluster.outputs["nodePool"]["id"]
    engine.api.change("pools", pool, lambda record: record.update(stuck=True))
    with pytest.raises(Failed, match="Timeout waiting") as failed:
        engine.update(cluster, {**INPUTS, "nodePool": {**POOL, "nodeCount": 3}})
    assert failed.value.kept is not None
    assert failed.value.kept["nodePool"]["actualNodeCount"] == 3


def test_what_is_imported_by_its_id_is_as_the_program_that_made_it_says(engine: Engine, cluster: Resource) -> None:
    made = [cluster, engine.up("Vpc", "net", NET), engine.up("KubernetesNodePool", "gpu", gpu_pool(cluster))]
    for resource in made:
        found = engine.imported(resource.kind, resource.id)
        assert found is not None
        given = {name: value for name, value in resource.inputs.items() if name != "__defaults"}
        assert engine.diff(found, given).paths == ()
    assert engine.imported("Vpc", "../../token") is None


def test_a_cluster_whose_default_pool_has_lost_its_tag_is_imported_where_there_is_one_pool_alone(
    engine: Engine, cluster: Resource
) -> None:
    engine.api.change("pools", cluster.outputs["nodePool"]["id"], lambda record: record.update(own_tags=[]))
    engine.up("KubernetesNodePool", "gpu", gpu_pool(cluster))
    with pytest.raises(Failed, match="terraform:default-node-pool"):
        engine.imported("KubernetesCluster", cluster.id)
    other = engine.up("KubernetesCluster", "two", {**INPUTS, "name": "two"})
    engine.api.change("pools", other.outputs["nodePool"]["id"], lambda record: record.update(own_tags=[]))
    found = engine.imported("KubernetesCluster", other.id)
    assert found is not None
    assert found.outputs["nodePool"]["name"] == "system"


def test_a_project_lists_resources_that_a_deletion_gives_to_the_default_one(engine: Engine, cluster: Resource) -> None:
    urn = cluster.outputs["clusterUrn"]
    inputs = {"name": "training", "environment": "production"}
    project = engine.up("Project", "training", inputs)
    assert (project.outputs["environment"], engine.diff(project, inputs).paths) == ("Production", ())
    listed = engine.up("ProjectResources", "listed", {"project": project.id, "resources": [urn]})
    assert refreshed(engine, project).outputs["resources"] == [urn]
    engine.delete(listed)
    whole = engine.update(project, {**inputs, "resources": [urn]})
    engine.delete(whole)
    assert engine.refresh(listed) is None
    [default] = engine.api.store.list("projects")
    assert (default["is_default"], default["resources"]) == (True, [urn])
    engine.delete(cluster)
    assert engine.api.store.list("projects")[0]["resources"] == []


@pytest.mark.parametrize(
    ("kind", "path", "value", "replaces"),
    [
        ("Cluster", "compartmentId", "ocid1.compartment.oc1..other", True),
        ("Cluster", "kmsKeyId", "ocid1.key.oc1.iad.some", True),
        ("Cluster", "clusterPodNetworkOptions", [{"cniType": "OCI_VCN_IP_NATIVE"}], True),
        ("Cluster", "kubernetesVersion", "v1.35.0", False),
        ("Cluster", "endpointConfig.isPublicIpEnabled", True, False),
        ("Cluster", "endpointConfig.nsgIds", [], False),
        ("Cluster", "endpointConfig.subnetId", "another", True),
        ("Cluster", "endpointConfig", None, True),
        ("Vcn", "displayName", "other", False),
        ("Vcn", "dnsLabel", "other", True),
        ("NodePool", "nodeConfigDetails.size", 3, False),
        ("NodePool", "nodeConfigDetails.computeClusterId", "another", True),
        ("ClusterNetwork", "placementConfiguration.availabilityDomain", "another", True),
        ("ClusterNetwork", "instancePools", [{"instanceConfigurationId": "another", "size": 3}], False),
        ("InstanceConfiguration", "instanceDetails.instanceType", "instance_options", True),
    ],
)
def test_what_oracle_cannot_change_is_replaced(
    oke: OracleEngine, kind: str, path: str, value: object, replaces: bool
) -> None:
    made = {
        "Cluster": lambda: oke.cluster,
        "Vcn": lambda: oke.parts[0],
        "NodePool": lambda: oke.up("NodePool", "system", oke.pool_inputs()),
        "ClusterNetwork": lambda: machines(oke),
        "InstanceConfiguration": lambda: oke.configuration(oke.subnet, oke.metadata()),
    }[kind]()
    top, _, below = path.partition(".")
    changed = {**made.inputs, top: {**made.inputs[top], below: value} if below else value}
    difference = oke.diff(made, {name: entry for name, entry in changed.items() if entry is not None})
    assert difference.paths
    assert difference.replaces == ((top,) if replaces else ())
    after = oke.refresh(made)
    assert after is not None
    assert (after.inputs, oke.diff(made, made.inputs).paths) == (made.inputs, ())


def machines(oke: OracleEngine) -> Resource:
    configuration = oke.configuration(oke.subnet, oke.metadata())
    return oke.up("ClusterNetwork", "gpu", oke.cluster_network_inputs(configuration, oke.subnet))


def test_pools_at_oracle_grow_and_shrink_in_place_and_the_newest_node_goes_first(oke: OracleEngine) -> None:
    oke.allow()
    network = machines(oke)
    pool = oke.up("NodePool", "system", oke.pool_inputs(1))
    before = oke.names()
    larger = {**network.inputs, "instancePools": [{**network.inputs["instancePools"][0], "size": 3}]}
    grown = oke.update(network, larger), oke.update(pool, oke.pool_inputs(3))
    assert set(before) < set(oke.names())
    assert len(oke.names()) == len(before) + 3
    for after, inputs in zip(grown, (network.inputs, oke.pool_inputs(1)), strict=True):
        oke.update(after, inputs)
    assert oke.names() == before


def test_a_deleted_node_makes_room_for_another_as_the_pool_is_now(oke: OracleEngine) -> None:
    def machines() -> list[str]:
        return [node["spec"]["providerID"] for node in oke.nodes()]

    pool = oke.up("NodePool", "system", oke.pool_inputs(2))
    first, second = machines()
    NodePool(oke.api).replace(pool.id, first, smaller=False)
    assert (len(machines()), second in machines(), first in machines()) == (2, True, False)
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
