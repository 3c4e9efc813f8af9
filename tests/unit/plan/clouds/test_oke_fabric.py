"""The fabric on clusters that Oracle makes: the same as on a cluster that is there already, for every shape."""

from __future__ import annotations

import json
from typing import Any

import pytest
from changes import Changes
from planned_fabrics import plan_of
from planned_oke import POOL

from gpu_fabric.plan import Plan

# RDMA NICs of a node, and the PCI device of their virtual functions, as Oracle's shapes table and policies have them.
VIRTUAL = {
    "BM.GPU4.8": (16, "101a"),
    "BM.GPU.B4.8": (16, "101a"),
    "BM.GPU.A100-v2.8": (16, "101a"),
    "BM.GPU.H100.8": (16, "101e"),
    "BM.GPU.H200.8": (8, "101e"),
    "BM.GPU.B200.8": (8, "101e"),
    "BM.GPU.MI300X.8": (8, "101e"),
}

# RDMA devices of a node by their numbers, as Oracle's lists for pods on the host's network have them.
DEVICES = {
    "BM.GPU4.8": (0, 2, 6, 8, 10, 12, 14, 16, 1, 3, 7, 9, 11, 13, 15, 17),
    "BM.GPU.A100-v2.8": (1, 2, 3, 4, 5, 6, 7, 8, 14, 15, 16, 17, 9, 10, 11, 12),
    "BM.GPU.H100.8": (0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 15, 16, 17),
    "BM.GPU.H200.8": (0, 3, 4, 5, 6, 9, 10, 11),
    "BM.GPU.B200.8": (0, 3, 4, 5, 6, 9, 10, 11),
    "BM.GPU.MI300X.8": (0, 2, 3, 4, 5, 7, 8, 9),
}

EXISTING = {
    "provider": "existing",
    "kubeconfig": "kubeconfig",
    "ranges": {"pods": "10.240.0.0/12", "services": "10.96.0.0/16", "nodes": "10.140.0.0/16"},
}


def on_oke(shape: str, **fabric: Any) -> Plan:
    return plan_of("oke-h100-26-4", _changes(shape, fabric))


def on_existing(shape: str, **fabric: Any) -> Plan:
    pools = [{"name": "gpu", "shape": shape, "nodes": 4}]
    return plan_of("oke-h100-26-4", {**_changes(shape, fabric), "cluster": {**EXISTING, "pools": pools}})


def _changes(shape: str, fabric: dict[str, Any]) -> Changes:
    return {f"{POOL}.shape": shape, "fabric": fabric or {"addressing": {"supernet": "192.168.0.0/16"}}}


@pytest.mark.parametrize("fabric", [{}, {"model": "host-network"}], ids=["sriov", "host-network"])
@pytest.mark.parametrize("shape", VIRTUAL)
def test_only_cluster_cost_and_findings_differ_from_the_same_machines_in_a_cluster_that_is_there(
    shape: str, fabric: dict[str, Any]
) -> None:
    made, there = (plan.model_dump(mode="json") for plan in (on_oke(shape, **fabric), on_existing(shape, **fabric)))

    assert {key for key in made if made[key] != there[key]} == {"choices", "cluster", "cost", "findings"}
    assert {key for key in made["choices"] if made["choices"][key] != there["choices"][key]} == {"provider"}


@pytest.mark.parametrize("shape", VIRTUAL)
def test_every_nic_has_one_virtual_function_of_the_shapes_device_and_a_network_of_its_mtu(shape: str) -> None:
    plan = on_oke(shape)
    rails, device = VIRTUAL[shape]
    said = json.dumps(plan.sriov_plugin.model_dump(mode="json", by_alias=True)) if plan.sriov_plugin else ""

    assert len(plan.rails) == rails
    assert len([name for name in plan.workload.resources if "rail_" in name]) == rails
    assert f'"{device}"' in said
    assert {network.mtu for network in plan.workload.networks} == {4220}
    assert plan.workload.environment["NCCL_IB_HCA"] == "mlx5"


@pytest.mark.parametrize("shape", DEVICES)
def test_on_the_hosts_network_nccl_gets_just_the_nics_of_oracles_list(shape: str) -> None:
    listed = on_oke(shape, model="host-network").workload.environment["NCCL_IB_HCA"]

    assert listed.startswith("=")
    assert sorted(listed[1:].split(",")) == sorted(f"mlx5_{number}" for number in DEVICES[shape])


def test_the_guides_job_finds_its_settings_on_a_cluster_from_an_empty_compartment() -> None:
    plan = plan_of("oke-a100")

    assert [release.chart.version for release in plan.releases] == ["v23.9.1", "23.10.0", "1.15.1"]
    assert plan.workload.resources["nvidia.com/sriov_rdma_vf"] == "16"
    assert {rail.network for rail in plan.rails} == {plan.rails[0].network}
    for name, value in {"GID_INDEX": "3", "TC": "41", "SL": "0", "TIMEOUT": "22", "SPLIT_DATA_ON_QPS": "0"}.items():
        assert plan.workload.environment[f"NCCL_IB_{name}"] == value


@pytest.mark.parametrize("stack", ["oke-a100", "oke-h100-26-4", "oke-h200"])
def test_gpu_nodes_are_known_by_the_label_that_oracle_gives_them(stack: str) -> None:
    plan = plan_of(stack)

    assert plan.workload.node_selector == {"node.kubernetes.io/instance-type": plan.cluster.pools[0].shape}
