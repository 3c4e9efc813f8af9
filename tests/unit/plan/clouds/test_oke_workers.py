"""The machines that Oracle is asked for, by each construct: which records there are, and what they say."""

from __future__ import annotations

from typing import Any

import pytest
from planned_oke import (
    EVERYTHING,
    FABRICS,
    PLACEMENTS,
    POOL,
    instance_pool_records,
    launched,
    record_of,
    resources_of,
)

from gpu_fabric.plan.clouds.oke.resources import OkeResources
from gpu_fabric.plan.clouds.record import Record, Ref

RECORDS = {
    "cluster-network": {"configuration-gpu": "core.InstanceConfiguration", "pool-gpu": "core.ClusterNetwork"},
    "compute-cluster": {"compute-cluster-gpu": "core.ComputeCluster", "pool-gpu": "containerengine.NodePool"},
    "compute-cluster-instances": {
        "compute-cluster-gpu": "core.ComputeCluster",
        **{f"pool-gpu-{number}": "core.Instance" for number in range(4)},
    },
    "gpu-memory-cluster": {
        "compute-cluster-gpu": "core.ComputeCluster",
        "configuration-gpu": "core.InstanceConfiguration",
        "pool-gpu-0": "core.ComputeGpuMemoryCluster",
        "pool-gpu-1": "core.ComputeGpuMemoryCluster",
    },
}
SELF_MANAGED = ["cluster-network", "compute-cluster-instances", "gpu-memory-cluster"]


def pool_record(resources: OkeResources, number: int = -1) -> Record:
    """The record of the pool's machines; the last of them."""
    return resources.pools[0].records[number]


@pytest.mark.parametrize("placement", RECORDS)
def test_a_placement_is_made_of_its_constructs(placement: str) -> None:
    (pool,) = resources_of(*PLACEMENTS[placement]).pools

    assert {record.logical_name: record.kind for record in pool.records} == RECORDS[placement]
    assert (pool.placement, pool.self_managed) == (placement, placement in SELF_MANAGED)
    assert pool.growth
    assert pool.replacement


@pytest.mark.parametrize("placement", RECORDS)
def test_machines_lie_in_the_worker_subnet_of_one_availability_domain(placement: str) -> None:
    records = resources_of(*PLACEMENTS[placement]).pools[0].records
    references = [reference for record in records for reference in record.references]

    assert Ref(ref="subnet-workers") in references
    domains = {reference.output for reference in references if reference.ref == "availability-domains"}
    assert domains == {"AD-1"}


@pytest.mark.parametrize("placement", SELF_MANAGED)
def test_self_managed_machines_come_after_policy_and_system_pool(placement: str) -> None:
    resources = resources_of(*PLACEMENTS[placement])

    assert {"policy-join", "system-pool"} <= set(pool_record(resources).after)


@pytest.mark.parametrize("placement", RECORDS)
def test_making_machines_may_take_hours(placement: str) -> None:
    stack, changes = PLACEMENTS[placement]

    assert pool_record(resources_of(stack, changes)).create_timeout == "180m"
    assert pool_record(resources_of(stack, {**changes, "cluster.createMinutes": 60})).create_timeout == "60m"


def test_a_cluster_network_is_as_large_as_the_pool_and_made_from_its_configuration() -> None:
    network = pool_record(resources_of(*PLACEMENTS["cluster-network"]))

    (pool,) = network.arguments["instance_pools"]  # type: ignore[misc,str-unpack,union-attr]
    assert pool == {
        "instance_configuration_id": Ref(ref="configuration-gpu"),
        "size": 4,
        "display_name": "oke-h100-26-4-gpu",
    }
    assert network.arguments["placement_configuration"] == {
        "availability_domain": Ref(ref="availability-domains", output="AD-1"),
        "primary_vnic_subnets": {"subnet_id": Ref(ref="subnet-workers")},
    }


def test_an_island_is_asked_for_where_it_is_stated() -> None:
    assert pool_record(resources_of(*EVERYTHING["open"])).arguments["cluster_configuration"] == {
        "hpc_island_id": "ocid1.hpcisland.oc1.iad.example",
        "network_block_ids": ["ocid1.networkblock.oc1.iad.example"],
    }
    stack, changes = PLACEMENTS["compute-cluster"]
    island = {f"{POOL}.hpcIslandId": "ocid1.hpcisland.oc1.iad.example"}
    cluster = record_of(resources_of(stack, {**changes, **island}), "compute-cluster-gpu")
    assert cluster.arguments["placement_constraint_details"] == {
        "type": "COMPUTE_CLUSTER",
        "hpc_island_id": "ocid1.hpcisland.oc1.iad.example",
    }


def test_a_node_pool_in_a_compute_cluster_says_so_and_keeps_its_image_and_cycling() -> None:
    pool = record_of(resources_of("oke-h200"), "pool-gpu").arguments
    details: Any = pool["node_config_details"]

    assert details["compute_cluster_id"] == Ref(ref="compute-cluster-gpu")
    assert details["size"] == 4
    assert details["node_pool_pod_network_option_details"] == {
        "cni_type": "OCI_VCN_IP_NATIVE",
        "max_pods_per_node": 64,
        "pod_nsg_ids": [Ref(ref="nsg-pods")],
        "pod_subnet_ids": [Ref(ref="subnet-pods")],
    }
    assert pool["node_source_details"] == {
        "source_type": "IMAGE",
        "image_id": "ocid1.image.oc1.us-chicago-1.aaaaaaaaexample",
        "boot_volume_size_in_gbs": "512",
    }
    assert pool["node_pool_cycling_details"] == {
        "is_node_cycling_enabled": True,
        "cycle_modes": ["BOOT_VOLUME_REPLACE"],
        "maximum_surge": "0",
        "maximum_unavailable": "1",
    }


def test_a_node_pool_that_does_not_cycle_says_so_since_what_is_left_out_stays_as_it_was() -> None:
    pool = record_of(resources_of("oke-h200", {f"{POOL}.cycling": None}), "pool-gpu").arguments
    assert pool["node_pool_cycling_details"] == {"is_node_cycling_enabled": False}


def test_a_managed_pool_takes_reservation_hosts_and_fault_domains_in_its_one_placement() -> None:
    stack, changes = PLACEMENTS["compute-cluster"]
    wishes = {
        f"{POOL}.capacityReservationId": "ocid1.capacityreservation.oc1.iad.example",
        f"{POOL}.hostGroupId": "ocid1.computehostgroup.oc1.iad.example",
        f"{POOL}.faultDomains": ["FAULT-DOMAIN-1"],
    }
    details: Any = pool_record(resources_of(stack, {**changes, **wishes})).arguments["node_config_details"]

    assert details["placement_configs"] == [
        {
            "availability_domain": Ref(ref="availability-domains", output="AD-1"),
            "subnet_id": Ref(ref="subnet-workers"),
            "capacity_reservation_id": "ocid1.capacityreservation.oc1.iad.example",
            "host_group_id": "ocid1.computehostgroup.oc1.iad.example",
            "fault_domains": ["FAULT-DOMAIN-1"],
        }
    ]


def test_an_instance_configuration_takes_reservation_and_hosts_too() -> None:
    details = launched(*EVERYTHING["there-already"])

    assert details["capacity_reservation_id"] == "ocid1.capacityreservation.oc1.iad.example"
    assert details["placement_constraint_details"] == {
        "type": "HOST_GROUP",
        "compute_host_group_id": "ocid1.computehostgroup.oc1.iad.example",
    }


def test_single_instances_are_spread_over_the_stated_fault_domains() -> None:
    stack, changes = PLACEMENTS["compute-cluster-instances"]
    domains = {f"{POOL}.faultDomains": ["FAULT-DOMAIN-1", "FAULT-DOMAIN-3"]}
    instances = resources_of(stack, {**changes, **domains}).pools[0].records[1:]

    assert [record.arguments["fault_domain"] for record in instances] == ["FAULT-DOMAIN-1", "FAULT-DOMAIN-3"] * 2


def test_an_instance_more_changes_no_other_record() -> None:
    stack, changes = PLACEMENTS["compute-cluster-instances"]
    few, more = (resources_of(stack, {**changes, f"{POOL}.nodes": nodes}).pools[0].records for nodes in (4, 5))

    assert more[:-1] == few


def test_memory_clusters_share_the_nodes_evenly_and_grow_by_their_target() -> None:
    clusters = resources_of(*PLACEMENTS["gpu-memory-cluster"]).pools[0].records[2:]

    assert [record.arguments["gpu_memory_fabric_id"] for record in clusters] == FABRICS
    assert [record.arguments["size"] for record in clusters] == ["18", "18"]
    for record in clusters:
        assert record.ignore_changes == ("size",)
        scale: Any = record.arguments["gpu_memory_cluster_scale_config"]
        assert scale["target_size"] == "18"


def test_machines_without_rdma_nics_would_come_through_an_instance_pool() -> None:
    configuration, pool = instance_pool_records()

    assert (configuration.kind, pool.kind) == ("core.InstanceConfiguration", "core.InstancePool")
    assert pool.arguments["size"] == 2


def test_the_system_pool_takes_oracles_image_and_asks_which_one_it_has() -> None:
    resources = resources_of("oke-h100-26-4")
    pool = resources.system_pool

    assert pool.node_source_details["image_id"] == Ref(ref="node-images", output="image")
    assert pool.ignore_changes == ()
    assert {entry.logical_name for entry in resources.lookups} >= {"node-images", "node-pools"}
    assert pool.node_shape_config == {"ocpus": 4, "memory_in_gbs": 16}
    (lookup,) = (entry for entry in resources.lookups if entry.logical_name == "node-images")
    assert lookup.arguments["node_pool_k8s_version"] == "v1.34.1"


def test_an_availability_domain_by_its_full_name_is_taken_as_it_is() -> None:
    resources = resources_of("oke-h100-26-4", {f"{POOL}.availabilityDomain": "Uocm:US-ASHBURN-AD-2"})
    placement: Any = record_of(resources, "pool-gpu").arguments["placement_configuration"]

    assert placement["availability_domain"] == "Uocm:US-ASHBURN-AD-2"


def test_every_machine_of_a_protected_stack_is_protected() -> None:
    protected = {record.logical_name for record in resources_of("oke-h200").records if record.protect}

    assert {"cluster", "system-pool", "pool-gpu", "compute-cluster-gpu", "vcn"} == protected
