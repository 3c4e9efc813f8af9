"""What is planned at Oracle, held against the same with one thing changed; what is asked for is in rows/oke.yaml."""

from typing import Any

import pytest
from changes import Changes
from planned_fabrics import plan_of
from planned_oke import FABRICS, PLACEMENTS, POOL, record_of, resources_of

EXISTING = {
    "provider": "existing",
    "kubeconfig": "kubeconfig",
    "ranges": {"pods": "10.240.0.0/12", "services": "10.96.0.0/16", "nodes": "10.140.0.0/16"},
}
# Oracle's shapes with virtual functions.
VIRTUAL = [f"BM.GPU{rest}" for rest in ("4.8", ".B4.8", ".A100-v2.8", ".H100.8", ".H200.8", ".B200.8", ".MI300X.8")]


@pytest.mark.parametrize("fabric", [{"addressing": {"supernet": "192.168.0.0/16"}}, {"model": "host-network"}])
@pytest.mark.parametrize("shape", VIRTUAL)
def test_only_cluster_cost_and_findings_differ_from_the_same_machines_in_a_cluster_that_is_there(
    shape: str, fabric: dict[str, Any]
) -> None:
    on_oke: Changes = {f"{POOL}.shape": shape, "fabric": fabric}
    on_existing = {**on_oke, "cluster": {**EXISTING, "pools": [{"name": "gpu", "shape": shape, "nodes": 4}]}}
    made, there = (plan_of("oke-h100-26-4", changes).model_dump(mode="json") for changes in (on_oke, on_existing))

    assert {key for key in made if made[key] != there[key]} == {"choices", "cluster", "cost", "findings"}
    assert {key for key in made["choices"] if made["choices"][key] != there["choices"][key]} == {"provider"}


def test_existing_resources_are_taken_over_by_their_ids_and_all_others_are_created() -> None:
    kinds = {"vcn": "vcn", "subnet-workers": "subnet", "cluster": "cluster", "system-pool": "nodepool"}
    ids = {name: f"ocid1.{kind}.oc1.iad.mine" for name, kind in {**kinds, "pool-gpu": "clusternetwork"}.items()}
    found = resources_of("oke-h100-26-4", {"cluster.adopt": ids})

    assert {record.logical_name: record.adopts for record in found.records if record.adopts} == ids
    assert record_of(found, "pool-gpu").ignore_changes == tuple(record_of(found, "pool-gpu").arguments)
    assert [record.logical_name for record in found.records] == [
        record.logical_name for record in resources_of("oke-h100-26-4").records
    ]


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_machines_of_every_construct_can_be_counted_come_last_and_may_take_hours(placement: str) -> None:
    stack, changes = PLACEMENTS[placement]
    (pool,) = resources_of(stack, changes).pools
    machines = pool.records[-1]
    (sooner,) = resources_of(stack, {**changes, "cluster.createMinutes": 60}).pools

    assert pool.node_labels == {"gpu-fabric/pool": "gpu"}
    assert pool.nodes == (36 if placement == "gpu-memory-cluster" else 4)
    said = str([record.arguments for record in pool.records])
    assert "gpu-fabric/pool=gpu" in said or "{'key': 'gpu-fabric/pool', 'value': 'gpu'}" in said
    assert pool.self_managed == (placement != "compute-cluster")
    assert not pool.self_managed or {"policy-join", "system-pool"} <= set(machines.after)
    assert (machines.create_timeout, sooner.records[-1].create_timeout) == ("180m", "60m")


def test_an_instance_more_changes_no_other_record() -> None:
    stack, changes = PLACEMENTS["compute-cluster-instances"]
    few, more = (resources_of(stack, {**changes, f"{POOL}.nodes": nodes}).pools[0].records for nodes in (4, 5))

    assert more[:-1] == few


def test_memory_clusters_share_the_nodes_evenly_and_grow_by_their_target() -> None:
    clusters = resources_of(*PLACEMENTS["gpu-memory-cluster"]).pools[0].records[2:]

    assert [record.arguments["gpu_memory_fabric_id"] for record in clusters] == FABRICS
    for record in clusters:
        scale: Any = record.arguments["gpu_memory_cluster_scale_config"]
        assert (record.arguments["size"], scale["target_size"], record.ignore_changes) == ("18", "18", ("size",))
