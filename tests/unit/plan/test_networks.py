"""Networks by example, for every manager and model: the very JSON that Multus or Spiderpool reads."""

from __future__ import annotations

import pytest
from committed_stacks import stack_names
from planned_fabrics import fabric_of

NAMES = [name for name in stack_names() if "large" not in name]

SYSCTLS = {
    "net.ipv4.conf.all.accept_local": "1",
    "net.ipv4.conf.all.arp_announce": "2",
    "net.ipv4.conf.all.arp_filter": "1",
    "net.ipv4.conf.all.arp_ignore": "1",
    "net.ipv4.conf.all.rp_filter": "0",
}


def test_on_doks_a_network_is_the_one_of_the_doks_guide() -> None:
    assert fabric_of("doks-h200").manifest(0) == {
        "apiVersion": "k8s.cni.cncf.io/v1",
        "kind": "NetworkAttachmentDefinition",
        "metadata": {"name": "roce-net-fabric0", "namespace": "default"},
        "spec": {"config": '{"cniVersion":"0.3.1","device":"fabric0","type":"host-device"}'},
    }


def test_on_doks_rail_optimized_machines_keep_the_addresses_that_the_host_set() -> None:
    fabric = fabric_of("doks-b300")

    assert fabric.config(15) == {"cniVersion": "0.3.1", "type": "ip-preserving-host-device", "device": "fabric15"}
    assert len(fabric.networks) == 16


@pytest.mark.parametrize("stack", ["doks-h200", "doks-mi325x", "doks-b300"])
def test_on_doks_no_network_has_an_ipam(stack: str) -> None:
    fabric = fabric_of(stack)

    assert not any("ipam" in fabric.config(rail.index) for rail in fabric.rails)


def test_on_oke_a_network_is_the_chain_of_the_oke_guide() -> None:
    fabric = fabric_of("oke-h100-26-4")

    assert fabric.manifest(3)["metadata"] == {
        "name": "rail-03",
        "namespace": "default",
        "annotations": {"k8s.v1.cni.cncf.io/resourceName": "nvidia.com/rail_03"},
    }
    assert fabric.config(3) == {
        "cniVersion": "0.3.1",
        "name": "rail-03",
        "plugins": [
            {"type": "sriov", "spoofchk": "off", "ipam": {"type": "nv-ipam", "poolName": "rail-03"}},
            {"type": "tuning", "mtu": 4220, "sysctl": SYSCTLS},
            {"type": "rdma"},
            {"type": "sbr"},
        ],
    }


def test_a_flat_fabric_has_one_network_with_the_resource_and_pool_of_all_rails() -> None:
    fabric = fabric_of("oke-h100-26-4", {"fabric.addressing.layout": "flat"})
    (only,) = fabric.networks

    assert only.object.manifest()["metadata"] == {
        "name": "rdma-fabric",
        "namespace": "default",
        "annotations": {"k8s.v1.cni.cncf.io/resourceName": "nvidia.com/sriov_rdma_vf"},
    }
    assert fabric.chain(15)[0]["ipam"] == {"type": "nv-ipam", "poolName": "rdma-fabric"}


def test_a_prefix_per_node_is_asked_of_a_cidr_pool() -> None:
    ipam = fabric_of("sriov-per-node").chain(2)[0]["ipam"]

    assert ipam == {"type": "nv-ipam", "poolName": "rail-02", "poolType": "cidrpool"}


def test_whereabouts_is_told_its_range_in_the_network() -> None:
    assert fabric_of("sriov-whereabouts").chain(1)[0]["ipam"] == {
        "type": "whereabouts",
        "range": "192.168.16.0/20",
        "range_start": "192.168.16.2",
        "range_end": "192.168.31.254",
        "gateway": "192.168.16.1",
    }


def test_in_shared_mode_no_rdma_device_is_moved() -> None:
    chain = fabric_of("oke-h100-26-4", {"fabric.rdmaMode": "shared"}).chain(0)

    assert [plugin["type"] for plugin in chain] == ["sriov", "tuning", "sbr"]


def test_a_smaller_mtu_reaches_the_interfaces() -> None:
    assert fabric_of("oke-h100-26-4", {"fabric.mtu": 1500}).chain(0)[1]["mtu"] == 1500
    assert fabric_of("roce-macvlan", {"fabric.mtu": 1500}).chain(0)[0]["mtu"] == 1500


def test_a_whole_nic_is_named_by_its_resource() -> None:
    fabric = fabric_of("host-device")

    assert fabric.chain(0)[0] == {"type": "host-device", "ipam": {"type": "nv-ipam", "poolName": "rail-00"}}
    assert fabric.manifest(0)["metadata"]["annotations"] == {"k8s.v1.cni.cncf.io/resourceName": "nvidia.com/rail_00"}


def test_a_whole_nic_without_addresses_has_no_ipam_and_no_routes_by_source() -> None:
    changes = {"fabric.addressing.layout": "none", "fabric.addressing.supernet": None}
    chain = fabric_of("host-device", changes).chain(0)

    assert [plugin["type"] for plugin in chain] == ["host-device", "tuning"]
    assert "ipam" not in chain[0]


def test_a_whole_nic_on_infiniband_has_nothing_of_ethernet() -> None:
    changes = {"cluster.pools[0].shape": "server.dgx-h100.8", "fabric.linkType": "infiniband"}
    chain = fabric_of("host-device", changes).chain(0)

    assert [plugin["type"] for plugin in chain] == ["host-device"]


def test_macvlan_names_its_master_and_needs_no_device_of_its_own() -> None:
    fabric = fabric_of("roce-macvlan")

    assert fabric.chain(7)[0] == {
        "type": "macvlan",
        "master": fabric.rails[7].interface,
        "mode": "bridge",
        "mtu": 4220,
        "ipam": {"type": "nv-ipam", "poolName": "rail-07"},
    }
    assert "annotations" not in fabric.manifest(7)["metadata"]


def test_on_infiniband_a_virtual_function_has_its_partition_and_nothing_of_ethernet() -> None:
    assert fabric_of("ib-sriov").chain(0) == [
        {
            "type": "ib-sriov",
            "link_state": "enable",
            "pkey": "0x0011",
            "ipam": {"type": "nv-ipam", "poolName": "rail-00"},
        },
        {"type": "rdma"},
    ]


def test_ipoib_is_a_child_of_the_infiniband_interface() -> None:
    fabric = fabric_of("ipoib")

    assert fabric.chain(0) == [
        {"type": "ipoib", "master": "ibp24s0", "ipam": {"type": "nv-ipam", "poolName": "rail-00"}}
    ]
    assert "annotations" not in fabric.manifest(0)["metadata"]


def test_on_the_hosts_network_there_are_no_networks() -> None:
    assert fabric_of("host-network").networks == ()


def test_spiderpools_macvlan_has_master_resource_and_pool_in_one_section() -> None:
    manifest = fabric_of("spiderpool-macvlan").manifest(0)

    assert (manifest["kind"], manifest["metadata"]) == (
        "SpiderMultusConfig",
        {"name": "rail-00", "namespace": "default"},
    )
    assert manifest["spec"] == {
        "cniType": "macvlan",
        "macvlan": {
            "master": ["enp11s0f0np0"],
            "mtu": 9000,
            "rdmaResourceName": "spidernet.io/rail_00",
            "ippools": {"ipv4": ["rail-00"]},
        },
    }


def test_spiderpools_virtual_functions_find_the_nodes_own_prefix_by_the_masters_subnet() -> None:
    assert fabric_of("spiderpool-sriov-per-node").manifest(1)["spec"] == {
        "cniType": "sriov",
        "sriov": {
            "resourceName": "spidernet.io/rail_01",
            "mtu": 9000,
            "rdmaIsolation": True,
            "ippools": {"ipv4": ["rail-01-node-*"], "matchMasterSubnet": True},
        },
    }


def test_spiderpools_macvlan_knows_the_nodes_own_prefix_by_the_pools_name_alone() -> None:
    changes = {"fabric.addressing": {"layout": "per-node", "supernet": "172.17.0.0/16"}}
    manifest = fabric_of("spiderpool-macvlan", changes).manifest(1)

    # Spiderpool refuses matchMasterSubnet on macvlan.
    assert manifest["spec"]["macvlan"]["ippools"] == {"ipv4": ["rail-01-node-*"]}


def test_spiderpools_virtual_functions_with_a_pool_a_rail_need_no_masters_subnet() -> None:
    changes = {"fabric.addressing": {"layout": "per-rail", "supernet": "172.17.0.0/16"}}
    manifest = fabric_of("spiderpool-sriov-per-node", changes).manifest(1)

    assert manifest["spec"]["sriov"]["ippools"] == {"ipv4": ["rail-01"]}


def test_spiderpools_infiniband_functions_carry_the_partition() -> None:
    assert fabric_of("spiderpool-ib", {"fabric.pkey": "0x0011"}).manifest(0)["spec"] == {
        "cniType": "ib-sriov",
        "ibsriov": {"resourceName": "spidernet.io/rail_00", "pkey": "0x0011", "ippools": {"ipv4": ["rail-00"]}},
    }


def test_spiderpools_ipoib_has_one_master_and_no_resource() -> None:
    assert fabric_of("spiderpool-ipoib").manifest(0)["spec"] == {
        "cniType": "ipoib",
        "ipoib": {"master": "ibp24s0", "ippools": {"ipv4": ["rail-00"]}},
    }


def test_ipv6_pools_are_named_as_such() -> None:
    spec = fabric_of("spiderpool-macvlan", {"fabric.addressing": {"supernet": "fd00:10::/48"}}).manifest(0)["spec"]

    assert spec["macvlan"]["ippools"] == {"ipv6": ["rail-00"]}


@pytest.mark.parametrize("stack", NAMES)
def test_every_offered_namespace_has_the_same_networks(stack: str) -> None:
    fabric = fabric_of(stack, {"fabric.namespaces": ["default", "jobs"]})
    by_namespace = {
        namespace: [entry.name for entry in fabric.networks if entry.object.metadata.namespace == namespace]
        for namespace in ("default", "jobs")
    }

    assert by_namespace["default"] == by_namespace["jobs"]
    assert len(fabric.networks) == 2 * len({rail.network for rail in fabric.rails if rail.network})
