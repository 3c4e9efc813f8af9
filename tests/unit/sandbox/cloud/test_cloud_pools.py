"""The simulated provider's node pools, as a stack meets them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from cloud_engine import Engine, Failed, Invalid, Resource

from sandbox.cloud.wire import UNKNOWN

FABRIC = "gpu-h200x8-1128gb-fabric-contracted"
POOL = {"name": "system", "size": "s-4vcpu-8gb", "nodeCount": 1}


@pytest.fixture
def cluster(engine: Engine) -> Resource:
    inputs = {"name": "one", "region": "nyc2", "version": "1.36.1-do.0", "nodePool": POOL}
    return engine.up("KubernetesCluster", "one", inputs)


def inputs(cluster: Resource, **changes: Any) -> dict[str, Any]:
    return {"clusterId": cluster.id, "name": "gpu", "size": FABRIC, "nodeCount": 2, **changes}


def up(engine: Engine, cluster: Resource, **changes: Any) -> Resource:
    return engine.up("KubernetesNodePool", "gpu", inputs(cluster, **changes))


def node_names(pool: Resource) -> list[str]:
    return [node["name"] for node in pool.outputs["nodes"]]


def test_a_new_pool_has_running_nodes_named_after_it(engine: Engine, cluster: Resource) -> None:
    pool = up(engine, cluster)
    assert pool.outputs["actualNodeCount"] == 2
    assert all(node["status"] == "running" and node["dropletId"] for node in pool.outputs["nodes"])
    assert all(name.startswith("gpu-") for name in node_names(pool))
    assert set(node_names(pool)) < engine.planes.ready_nodes(cluster.id)


def test_pools_that_come_at_the_same_time_keep_each_others_nodes(engine: Engine, cluster: Resource) -> None:
    names = [f"gpu{number}" for number in range(6)]
    with ThreadPoolExecutor(6) as threads:
        list(threads.map(lambda name: up(engine, cluster, name=name), names))
    assert len(engine.planes.nodes[cluster.id]) == 1 + 2 * len(names)
    after = engine.refresh(cluster)
    assert after is not None
    assert after.outputs["rdmaSharedDevicePlugin"] == {"enabled": True}


def test_nodes_are_added_and_removed_in_place(engine: Engine, cluster: Resource) -> None:
    pool = up(engine, cluster)
    difference = engine.diff(pool, inputs(cluster, nodeCount=3))
    assert (difference.paths, difference.replaces) == (("nodeCount",), ())
    larger = engine.update(pool, inputs(cluster, nodeCount=3))
    assert node_names(larger)[:2] == node_names(pool)
    smaller = engine.update(larger, inputs(cluster, nodeCount=1))
    assert node_names(smaller) == node_names(pool)[:1]
    assert len(engine.planes.nodes[cluster.id]) == 2


@pytest.mark.parametrize(
    ("name", "value"),
    [("size", "gpu-h200x8-1128gb"), ("clusterId", "another"), ("gpuPartitionMode", "AMD_PARTITION_MODE_DPX_NPS2")],
)
def test_what_is_for_life_replaces_the_pool_the_old_one_first(
    engine: Engine, cluster: Resource, name: str, value: str
) -> None:
    difference = engine.diff(up(engine, cluster), inputs(cluster, **{name: value}))
    assert (difference.replaces, difference.delete_first) == ((name,), True)


def test_the_pool_of_a_cluster_that_is_replaced_is_replaced(engine: Engine, cluster: Resource) -> None:
    assert engine.diff(up(engine, cluster), inputs(cluster, clusterId=UNKNOWN)).replaces == ("clusterId",)


def test_a_number_of_nodes_that_is_there_already_makes_no_difference(engine: Engine, cluster: Resource) -> None:
    pool = up(engine, cluster, autoScale=True, minNodes=1, maxNodes=4)

    def scaled(record: dict[str, Any]) -> None:
        record["count"] = 3

    engine.api.change("pools", pool.id, scaled)
    after = engine.refresh(pool)
    assert after is not None
    assert after.outputs["actualNodeCount"] == 3
    asked = inputs(cluster, autoScale=True, minNodes=1, maxNodes=4)
    assert engine.diff(after, {**asked, "nodeCount": 3}).paths == ()
    del asked["nodeCount"]
    assert engine.diff(after, asked).paths == ()


def test_an_autoscaled_pool_starts_with_its_least_number_of_nodes(engine: Engine, cluster: Resource) -> None:
    asked = inputs(cluster, autoScale=True, minNodes=2, maxNodes=4)
    del asked["nodeCount"]
    pool = engine.up("KubernetesNodePool", "gpu", asked)
    assert pool.outputs["actualNodeCount"] == 2
    assert "nodeCount" not in pool.outputs
    assert engine.diff(pool, asked).paths == ()


def test_taints_and_labels_are_echoed_but_not_those_of_digitalocean(engine: Engine, cluster: Resource) -> None:
    taint = {"key": "k", "value": "v", "effect": "NoExecute"}
    asked = {"taints": [taint], "labels": {"team": "a"}, "tags": ["b", "a"]}
    pool = up(engine, cluster, **asked)
    assert pool.outputs["taints"] == [taint]
    assert pool.outputs["labels"] == {"team": "a"}
    assert set(pool.outputs["tags"]) == {"a", "b"}
    assert engine.diff(pool, inputs(cluster, **asked)).paths == ()


def test_a_pool_that_was_deleted_elsewhere_drops_out_of_the_state(engine: Engine, cluster: Resource) -> None:
    pool = up(engine, cluster)
    engine.delete(cluster)
    assert engine.refresh(pool) is None


def test_deleting_a_pool_takes_its_nodes_away(engine: Engine, cluster: Resource) -> None:
    pool = up(engine, cluster)
    engine.delete(pool)
    assert len(engine.planes.nodes[cluster.id]) == 1
    assert engine.refresh(pool) is None


def test_a_pool_is_imported_by_its_id_alone(engine: Engine, cluster: Resource) -> None:
    pool = up(engine, cluster)
    found = engine.imported("KubernetesNodePool", pool.id)
    assert found is not None
    assert found.inputs == inputs(cluster)
    assert engine.diff(found, inputs(cluster)).paths == ()


def test_the_default_pool_is_not_imported_as_a_pool(engine: Engine, cluster: Resource) -> None:
    with pytest.raises(Failed, match="part of cluster"):
        engine.imported("KubernetesNodePool", cluster.outputs["nodePool"]["id"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"size": "gpu-mi300x8-1920gb"}, "invalid droplet size"),
        ({"size": "gpu-mi300x8-1536gb-fabric-contracted"}, "not available in region nyc2"),
        ({"name": "system"}, "a node pool with the name system exists"),
        ({"nodeCount": 65}, "at most 64 nodes"),
        ({"size": "s-4vcpu-8gb", "nodeCount": 512}, "at most 512 nodes"),
        ({"autoScale": True, "minNodes": 4, "maxNodes": 2}, "max_nodes"),
        ({"gpuPartitionMode": "AMD_PARTITION_MODE_DPX_NPS2"}, "gpu_partition_mode"),
    ],
)
def test_the_api_refuses_a_pool_that_cannot_be(
    engine: Engine, cluster: Resource, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(Failed, match=message) as refused:
        up(engine, cluster, **changes)
    assert "POST https://api.digitalocean.com/v2/kubernetes/clusters/" in str(refused.value)
    assert ": 422 (request " in str(refused.value)
    assert len(engine.api.pools(cluster.id)) == 1


def test_a_pool_needs_a_cluster_that_is_there(engine: Engine, cluster: Resource) -> None:
    with pytest.raises(Failed, match="404"):
        up(engine, cluster, clusterId="1b8b2100-0e9f-4e8f-ad78-9eb578c2a0af")


@pytest.mark.parametrize("missing", ["clusterId", "size"])
def test_a_pool_needs_its_cluster_and_size(engine: Engine, cluster: Resource, missing: str) -> None:
    given = {name: value for name, value in inputs(cluster).items() if name != missing}
    with pytest.raises(Invalid, match=missing):
        engine.check("KubernetesNodePool", "gpu", given)


def test_labels_and_tags_that_are_taken_out_leave_no_difference_beside_the_stacks_own(
    engine: Engine, cluster: Resource
) -> None:
    own = {"labels": {"gpu-fabric/pool": "gpu"}, "tags": ["gpu-fabric"]}
    more = {"labels": {**own["labels"], "team": "a"}, "tags": [*own["tags"], "b"]}
    pool = engine.update(up(engine, cluster, **more), inputs(cluster, **own))
    after = engine.refresh(pool)
    assert after is not None
    assert engine.diff(after, inputs(cluster, **own)).paths == ()
