"""Address pools and networks as the objects that nv-ipam and Multus read."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from fabric.plan import Plan, PlannedObject

PlanWith = Callable[[Any], Plan]


def chain(network: PlannedObject) -> list[dict[str, Any]]:
    plugins: list[dict[str, Any]] = json.loads(network.object.manifest()["spec"]["config"])["plugins"]
    return plugins


def test_every_rail_has_a_pool_in_the_operators_own_namespace(dev_plan: Plan) -> None:
    manifests = [entry.object.manifest() for entry in dev_plan.ip_pools]

    assert {manifest["metadata"]["namespace"] for manifest in manifests} == {"nvidia-network-operator"}
    assert [(manifest["metadata"]["name"], manifest["spec"]["subnet"]) for manifest in manifests] == [
        (pool.name, str(pool.subnet)) for pool in dev_plan.addresses.pools
    ]


def test_the_flat_layout_makes_the_pool_of_the_oke_guide(plan_with: PlanWith) -> None:
    (pool,) = plan_with(
        {
            "fabric.addressing": {
                "layout": "flat",
                "supernet": "192.168.0.0/16",
                "addressesPerNode": 100,
                "gateway": "first",
            },
        }
    ).ip_pools

    assert pool.object.manifest()["spec"] == {
        "subnet": "192.168.0.0/16",
        "perNodeBlockSize": 100,
        "gateway": "192.168.0.1",
    }


def test_a_pool_without_gateway_has_no_gateway_key(dev_plan: Plan) -> None:
    assert dev_plan.ip_pools[0].object.manifest()["spec"] == {"subnet": "192.168.0.0/20", "perNodeBlockSize": 1}


@pytest.mark.parametrize("layout", ["flat", "per-rail"])
def test_a_network_names_the_resource_and_pool_of_its_rails(plan_with: PlanWith, layout: str) -> None:
    plan = plan_with({"fabric.addressing.layout": layout, "fabric.namespaces": ["default", "jobs"]})
    made = {
        (
            network.object.metadata.namespace,
            network.name,
            (network.object.metadata.annotations or {})["k8s.v1.cni.cncf.io/resourceName"],
            chain(network)[0]["ipam"]["poolName"],
        )
        for network in plan.networks
    }

    assert made == {
        (namespace, rail.network, rail.resource_name, rail.pool)
        for namespace in ("default", "jobs")
        for rail in plan.rails
    }
    assert {pool.name for pool in plan.ip_pools} == {rail.pool for rail in plan.rails}
    assert len(made) == len(plan.networks)


def test_a_chain_moves_the_function_tunes_it_moves_its_rdma_device_and_routes_replies(dev_plan: Plan) -> None:
    plugins = chain(dev_plan.networks[0])

    assert [plugin["type"] for plugin in plugins] == ["sriov", "tuning", "rdma", "sbr"]
    assert plugins[0] == {"type": "sriov", "spoofchk": "off", "ipam": {"type": "nv-ipam", "poolName": "rail-00"}}
    assert plugins[1]["mtu"] == 4220
    assert {name.rpartition(".")[2]: value for name, value in plugins[1]["sysctl"].items()} == {
        "accept_local": "1",
        "arp_announce": "2",
        "arp_filter": "1",
        "arp_ignore": "1",
        "rp_filter": "0",
    }


def test_in_shared_mode_no_rdma_device_is_moved(plan_with: PlanWith) -> None:
    plan = plan_with({"fabric.rdmaMode": "shared"})

    assert [plugin["type"] for plugin in chain(plan.networks[0])] == ["sriov", "tuning", "sbr"]
    needs = next(entry for entry in plan.findings if entry.id == "NET002")
    assert "rdma" not in needs.message


def test_a_smaller_mtu_reaches_networks_and_contract(plan_with: PlanWith) -> None:
    plan = plan_with({"fabric.mtu": 1500})

    assert {chain(network)[1]["mtu"] for network in plan.networks} == {1500}
    assert {network.mtu for network in plan.workload.networks} == {1500}


def test_networks_have_the_cni_version_of_the_guide_and_their_own_name(dev_plan: Plan) -> None:
    config = json.loads(dev_plan.networks[3].object.manifest()["spec"]["config"])

    assert (config["cniVersion"], config["name"]) == ("0.3.1", "rail-03")
