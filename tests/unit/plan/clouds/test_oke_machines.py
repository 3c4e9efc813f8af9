"""What a GPU machine on Oracle's cloud is launched with: agent, metadata, volume, labels, image."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from planned_fabrics import plan_of
from planned_oke import EVERYTHING, HOSTS, IMAGE, KEY, PLACEMENTS, POOL, launched, record_of, resources_of

from gpu_fabric.catalog import catalog
from gpu_fabric.findings import ConfigurationError
from gpu_fabric.plan.clouds.record import Ref

FACTS = catalog().oke_clusters


def booted(metadata: dict[str, Any]) -> str:
    return base64.b64decode(metadata["user_data"]).decode()


def test_the_cloud_agents_plug_ins_are_those_of_the_catalog() -> None:
    plugins = launched("oke-h100-26-4")["agent_config"]["plugins_configs"]

    assert {entry["name"]: entry["desired_state"] for entry in plugins} == FACTS.instances.agent_plugins
    assert FACTS.instances.agent_plugins["Compute HPC RDMA Auto-Configuration"] == "ENABLED"
    assert FACTS.instances.agent_plugins["Bastion"] == "DISABLED"


def test_self_managed_machines_know_their_cluster_from_their_metadata() -> None:
    metadata = launched("oke-a100")["metadata"]

    assert set(metadata) == {
        "apiserver_host",
        "cluster_ca_cert",
        "oke-initial-node-labels",
        "oke-k8version",
        "oke-kubeproxy-proxy-mode",
        "oke-tenancy-id",
        "ssh_authorized_keys",
        "user_data",
    }
    assert metadata["apiserver_host"] == Ref(ref="cluster", output="apiserver_host")
    assert metadata["cluster_ca_cert"] == Ref(ref="cluster-kubeconfig", output="cluster_ca_cert")
    assert metadata["oke-k8version"] == "v1.27.2"
    assert metadata["oke-tenancy-id"] == "ocid1.tenancy.oc1..aaaaaaaaexample"


def test_with_native_pods_the_metadata_say_where_pods_get_addresses() -> None:
    metadata = launched(*EVERYTHING["open"])["metadata"]

    assert metadata["oke-native-pod-networking"] == "true"
    assert metadata["oke-max-pods"] == "64"
    assert metadata["pod-subnets"] == Ref(ref="subnet-pods")
    assert metadata["pod-nsgids"] == Ref(ref="nsg-pods")
    assert metadata["ssh_authorized_keys"] == KEY
    assert "oci.oraclecloud.com/vcn-native-ip-cni=true" in metadata["oke-initial-node-labels"]


def test_machines_have_no_public_address_and_no_metadata_without_a_header() -> None:
    details = launched("oke-h100-26-4")

    assert details["create_vnic_details"] == {
        "subnet_id": Ref(ref="subnet-workers"),
        "nsg_ids": [Ref(ref="nsg-workers")],
        "assign_public_ip": False,
    }
    assert details["instance_options"] == {"are_legacy_imds_endpoints_disabled": True}


def test_the_boot_volume_is_as_stated() -> None:
    details = launched("oke-h100-26-4", {f"{POOL}.bootVolume": {"sizeGib": 300, "vpusPerGib": 20}})

    assert details["source_details"]["boot_volume_size_in_gbs"] == "300"
    assert details["source_details"]["boot_volume_vpus_per_gb"] == "20"


@pytest.mark.parametrize(("plugin", "label"), [("operator", True), ("managed", False)])
def test_oracles_gpu_plug_in_is_off_on_the_nodes_where_the_operator_advertises(plugin: str, label: bool) -> None:
    changes = {"cluster.gpuPlugin": plugin, f"{POOL}.labels": {"team": "a"}}
    if plugin == "managed":
        changes["software.gpuOperator"] = {"values": {"devicePlugin": {"enabled": False}}}
    labels = launched("oke-h100-26-4", changes)["metadata"]["oke-initial-node-labels"].split(",")

    assert "team=a" in labels
    assert ("oci.oraclecloud.com/disable-gpu-device-plugin=true" in labels) is label


def test_amd_machines_have_oracles_plug_in() -> None:
    metadata = launched("oke-h100-26-4", {f"{POOL}.shape": "BM.GPU.MI300X.8"})["metadata"]

    assert metadata["oke-initial-node-labels"] == "gpu-fabric/pool=gpu"


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_a_pools_nodes_can_be_counted_by_a_label_that_they_come_up_with(placement: str) -> None:
    resources = resources_of(*PLACEMENTS[placement])
    (pool,) = resources.pools

    assert pool.node_labels == {"gpu-fabric/pool": "gpu"}
    assert pool.nodes == (36 if placement == "gpu-memory-cluster" else 4)
    said = str([record.arguments for record in pool.records])
    assert "gpu-fabric/pool=gpu" in said or "{'key': 'gpu-fabric/pool', 'value': 'gpu'}" in said


def test_stated_taints_are_the_kubelets_and_the_vendors_own_is_left_to_oracle() -> None:
    taints = [{"key": "example.com/team", "value": "a"}, {"key": "x", "effect": "NoExecute"}]

    script = booted(launched("oke-h100-26-4", {f"{POOL}.taints": taints})["metadata"])
    assert "--register-with-taints=example.com/team=a:NoSchedule,x=:NoExecute" in script
    assert "--register-with-taints" not in booted(launched("oke-h100-26-4")["metadata"])


def test_a_managed_pools_script_leaves_the_joining_to_what_the_pool_brings() -> None:
    metadata: Any = record_of(resources_of("oke-h200"), "pool-gpu").arguments["node_metadata"]

    assert "MODE=managed" in booted(metadata)
    assert "MODE=self-managed" in booted(launched("oke-h100-26-4")["metadata"])


def test_an_imported_image_may_start_on_the_pools_shape_before_the_pool_is_made() -> None:
    resources = resources_of("oke-a100")
    image, allowed = resources.images

    source: Any = image.arguments["image_source_details"]
    assert source["source_type"] == "objectStorageUri"
    assert (allowed.arguments["image_id"], allowed.arguments["shape_name"]) == (
        Ref(ref="image-gpu"),
        "BM.GPU.A100-v2.8",
    )
    assert launched("oke-a100")["source_details"]["image_id"] == Ref(ref="image-gpu")
    assert "image-shape-gpu" in record_of(resources, "configuration-gpu").after


def test_pools_of_one_image_import_it_once() -> None:
    uri = "https://objectstorage.us-ashburn-1.oraclecloud.com/n/example/b/images/o/gpu"
    pools = [
        {"name": name, "shape": "BM.GPU.H100.8", "nodes": 2, "availabilityDomain": "AD-1", "imageUri": uri}
        for name in ("first", "second")
    ]
    resources = resources_of("oke-h100-26-4", {"cluster.pools": pools})

    assert [record.logical_name for record in resources.images] == ["image-first", "image-shape-first"]
    assert "image-shape-first" in record_of(resources, "configuration-second").after


def test_an_image_by_its_id_is_not_imported() -> None:
    assert resources_of(*PLACEMENTS["cluster-network"]).images == ()
    assert launched(*PLACEMENTS["cluster-network"])["source_details"]["image_id"] == IMAGE


LARGEST = catalog().oke_clusters.flexible_machines
MACHINES = ("systemPool", "access.bastion", "access.operator")


def refused_machine(place: str, shape: str, ocpus: int, memory: int) -> list[str]:
    """What of a CPU machine's size the rules refuse."""
    size = {"shape": shape, "ocpus": ocpus, "memoryGib": memory}
    changes: dict[str, Any] = {"cluster.access": HOSTS, f"cluster.{place}": size}
    if place.startswith("access"):
        host = place.partition(".")[2]
        changes = {"cluster.access": {**HOSTS, host: {**HOSTS[host], **size}}}
    try:
        plan_of("oke-h100-26-4", changes)
    except ConfigurationError as error:
        return [finding.path.rpartition(".")[2] for finding in error.findings if finding.id == "OKE044"]
    return []


@pytest.mark.parametrize("place", MACHINES)
@pytest.mark.parametrize("shape", LARGEST)
def test_the_largest_machine_of_a_flexible_shape_is_planned_and_no_larger_one(shape: str, place: str) -> None:
    ocpus, memory = LARGEST[shape].most_ocpus, LARGEST[shape].most_gib

    assert refused_machine(place, shape, ocpus, memory) == []
    assert refused_machine(place, shape, ocpus, min(memory + 1, 2098)) == ["memoryGib"] * (memory < 2098)
    assert refused_machine(place, shape, min(ocpus + 1, 126), memory) == ["ocpus"] * (ocpus < 126)
    assert refused_machine(place, shape, 1, 65) == ["memoryGib"]
