"""Who joins a cluster of Oracle's simulated cloud, and as which node."""

from __future__ import annotations

import base64
from concurrent.futures import ThreadPoolExecutor

import pytest
from cloud_engine import Engine, Resource
from digitalocean_inputs import gpu_pool, refreshed
from oracle_engine import COMPARTMENT, GROUP_RULE, OracleEngine


def cluster_network(oke: OracleEngine, **metadata: str) -> Resource:
    configuration = oke.configuration(oke.subnet, {**oke.metadata(), **metadata})
    return oke.up("ClusterNetwork", "gpu", oke.cluster_network_inputs(configuration, oke.subnet))


def test_machines_have_the_labels_of_their_metadata_and_the_taints_of_their_boot_script(oke: OracleEngine) -> None:
    oke.allow()
    script = "#!/bin/bash\nKUBELET_EXTRA_ARGS='--register-with-taints=team=a:NoSchedule,b:NoExecute'\n"
    told = {"oke-initial-node-labels": "team=a,kind=gpu", "user_data": base64.b64encode(script.encode()).decode()}
    cluster_network(oke, **told)
    node = oke.nodes()[0]
    assert {"team": "a", "kind": "gpu"}.items() <= node["metadata"]["labels"].items()
    assert "oci.oraclecloud.com/rdma.hpc_island_id" in node["metadata"]["labels"]
    assert {"key": "team", "value": "a", "effect": "NoSchedule"} in node["spec"]["taints"]
    assert {"key": "b", "value": "", "effect": "NoExecute"} in node["spec"]["taints"]


def test_a_policy_that_comes_too_late_lets_new_machines_join_only(oke: OracleEngine) -> None:
    made = cluster_network(oke)
    found = oke.ask("Core/getClusterNetworkInstances", clusterNetworkId=made.id, compartmentId=COMPARTMENT)
    assert [instance["state"] for instance in found["instances"]] == ["Running", "Running"]
    oke.allow()
    assert oke.names() == []
    oke.update(made, {**made.inputs, "instancePools": [{**made.inputs["instancePools"][0], "size": 3}]})
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


@pytest.mark.parametrize("key", ["apiserver_host", "cluster_ca_cert", "type"])
def test_machines_join_no_other_cluster_than_their_metadata_name_and_no_basic_one(oke: OracleEngine, key: str) -> None:
    if key == "type":
        oke.cluster = oke.up("Cluster", "basic", oke.new_cluster(type="BASIC_CLUSTER"))
    oke.allow()
    cluster_network(oke, **({} if key == "type" else {key: base64.b64encode(b"another").decode()}))
    assert oke.names() == []


def test_a_preemptible_node_has_oracles_label_and_taint(oke: OracleEngine) -> None:
    inputs = oke.pool_inputs(1)
    action = {"preemptionAction": {"type": "TERMINATE", "isPreserveBootVolume": False}}
    placed = {**inputs["nodeConfigDetails"]["placementConfigs"][0], "preemptibleNodeConfig": action}
    config = {**inputs["nodeConfigDetails"], "placementConfigs": [placed]}
    oke.up("NodePool", "batch", {**inputs, "nodeConfigDetails": config})
    [node] = oke.nodes()
    assert node["metadata"]["labels"]["oci.oraclecloud.com/oke-is-preemptible"] == "true"
    assert "oci.oraclecloud.com/oke-is-preemptible" in {taint["key"] for taint in node["spec"]["taints"]}


def test_pools_that_come_at_the_same_time_keep_each_others_nodes(engine: Engine, cluster: Resource) -> None:
    names = [f"gpu{number}" for number in range(6)]
    with ThreadPoolExecutor(6) as threads:
        list(threads.map(lambda name: engine.up("KubernetesNodePool", name, gpu_pool(cluster, name=name)), names))
    assert len(engine.planes.nodes[cluster.id]) == 2 + 2 * len(names)
    assert refreshed(engine, cluster).outputs["rdmaSharedDevicePlugin"] == {"enabled": True}
