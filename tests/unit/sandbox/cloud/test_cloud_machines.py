"""Who joins a cluster of Oracle's simulated cloud, and as which node."""

import base64
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from changes import Changes, changed
from cloud_engine import Engine, Resource
from committed_stacks import folder_of
from digitalocean_inputs import gpu_pool, refreshed
from oracle_engine import COMPARTMENT, GROUP_RULE, OracleEngine

from gpu_fabric.spec.load import read_document, validate
from sandbox.cloud.oci.machines import bring_about
from sandbox.cloud.oci.oke_nodes import remember_image
from sandbox.home import SandboxHome
from sandbox.simulated_nodes import CLIQUE_ANNOTATION


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


def test_pods_and_services_of_a_cluster_have_the_ranges_that_were_asked_for(oke: OracleEngine) -> None:
    options = {"kubernetesNetworkConfig": {"podsCidr": "10.9.0.0/16"}}
    asked = oke.up("Cluster", "asked", oke.new_cluster(options=options))
    assert oke.planes.ranges[asked.id] == ("10.9.0.0/16", "10.96.0.0/16")


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


def test_machines_come_up_as_their_own_stack_says_whatever_another_one_says(oke: OracleEngine, tmp_path: Path) -> None:
    oke.api.folder = SandboxHome(tmp_path).cloud / "oci"
    oke.allow()
    cluster_network(oke)
    daemon_set: Changes = {"fabric.virtualFunctions": "daemon-set"}

    def annotations_after(*stacks: tuple[str, Changes]) -> dict[str, str]:
        """What the first machine says of itself once stacks of these names have said what their images bring."""
        for name, keys in stacks:
            own: Changes = {"cluster.name": name, "cluster.compartmentId": COMPARTMENT, **keys}
            spec, problems = validate(changed(read_document("oke-h100-26-4", folder_of("oke-h100-26-4")), own))
            assert spec is not None, problems
            remember_image(SandboxHome(tmp_path), spec)
        bring_about(oke.api, oke.cluster.id)
        found: dict[str, str] = oke.nodes()[0]["metadata"]["annotations"]
        return found

    by_image = annotations_after(("one", {}))
    assert "sandbox.gpu-fabric/rdma-mode" in by_image
    assert annotations_after(("one", daemon_set)) != by_image
    assert annotations_after(("one", {}), ("other", daemon_set)) == by_image


def test_the_nodes_of_each_memory_fabric_are_of_one_clique_and_others_of_none(oke: OracleEngine) -> None:
    oke.allow()
    common = {"compartmentId": COMPARTMENT, "availabilityDomain": oke.domain}
    racks = {
        "computeClusterId": oke.up("ComputeCluster", "racks", {**common, "displayName": "racks"}).id,
        "instanceConfigurationId": oke.configuration(oke.subnet, oke.metadata(), "BM.GPU.GB200-v3.4").id,
        "gpuMemoryClusterScaleConfig": {"isUpsizeEnabled": True, "isDownsizeEnabled": False, "targetSize": "2"},
        **common,
    }
    # Oracle chooses the fabric of the last one.
    for name, fabric in ("a", {"gpuMemoryFabricId": "fabric-a"}), ("b", {"gpuMemoryFabricId": "fabric-b"}), ("c", {}):
        oke.up("ComputeGpuMemoryCluster", name, {**racks, **fabric, "displayName": name, "size": "2"})
    cluster_network(oke)

    cliques = Counter(node["metadata"]["annotations"].get(CLIQUE_ANNOTATION) for node in oke.nodes())

    assert cliques.pop(None) == 2
    assert list(cliques.values()) == [2, 2, 2]
