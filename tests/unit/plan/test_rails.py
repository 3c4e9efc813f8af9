"""Rails: every name of a rail comes from one record, so pods, plug-ins, networks and pools agree."""

import json
from typing import Any

import pytest
from committed_stacks import stack_names
from planned_fabrics import PlannedFabric, fabric_of

from gpu_fabric.k8s.dra import DeviceClass, ResourceClaimTemplate
from gpu_fabric.k8s.sriov_operator import SriovIBNetwork, SriovNetwork
from gpu_fabric.plan.devices import shared_plugin_config, sriov_plugin_config
from gpu_fabric.plan.ipam import pool_objects
from gpu_fabric.plan.managers import manager_of

# Networks of planes are made by the Spectrum-X operator (rows/planes.yaml).
NAMES = [name for name in stack_names() if "large" not in name and not name.startswith("planes")]


def resources_in(fabric: PlannedFabric) -> set[str]:
    """Every resource that a network names: in an annotation, in Spiderpool's section, to the SR-IOV operator."""
    texts = [json.dumps(entry.object.manifest()) for entry in fabric.networks]
    resources = {rail.resource_name for rail in fabric.rails if rail.resource_name}
    # The SR-IOV operator puts its prefix before the name that a network of its own has.
    operators = {
        f"nvidia.com/{entry.object.spec.resource_name}"
        for entry in fabric.networks
        if isinstance(entry.object, SriovNetwork | SriovIBNetwork)
    }
    return operators | {resource for resource in resources for text in texts if f'"{resource}"' in text}


@pytest.mark.parametrize("stack", NAMES)
def test_every_network_and_pool_of_a_rail_is_made_and_networks_name_what_pods_request(stack: str) -> None:
    fabric = fabric_of(stack)
    named, requested = resources_in(fabric), {rail.resource_name for rail in fabric.rails if rail.resource_name}

    networks = [entry for entry in fabric.networks if not isinstance(entry.object, DeviceClass | ResourceClaimTemplate)]
    assert {entry.name for entry in networks} == {rail.network for rail in fabric.rails if rail.network}
    assert {pool.name for pool in fabric.addresses.pools} == {rail.pool for rail in fabric.rails if rail.pool}
    # The plug-ins of clouds, and the shared one of the Network Operator, are linked to a network by the pod alone.
    access = fabric.case.choices.row.access if fabric.case.choices.row else None
    by_cloud = manager_of(fabric.case).devices_advertised_by is not None
    by_pod = by_cloud or (fabric.case.choices.manager == "network-operator" and access == "shared")
    assert named == (set() if by_pod else requested)


@pytest.mark.parametrize("stack", ["oke-h100-26-4", "host-device", "ib-sriov", "sriov-ipv6", "sriov-per-node"])
def test_the_sriov_plug_in_advertises_what_pods_request_each_on_its_own_nic(stack: str) -> None:
    fabric = fabric_of(stack)
    advertised = sriov_plugin_config(fabric.case, fabric.case.shape, fabric.rails).resource_list

    assert [f"{entry.resource_prefix}/{entry.resource_name}" for entry in advertised] == [
        rail.resource_name for rail in fabric.rails
    ]
    nics = [
        entry.selectors.root_devices or entry.selectors.pci_addresses or entry.selectors.pf_names
        for entry in advertised
    ]
    assert nics == [(rail.pci or rail.interface,) for rail in fabric.rails]


@pytest.mark.parametrize("stack", ["roce-macvlan", "ipoib", "spiderpool-macvlan"])
def test_the_shared_plug_in_advertises_what_pods_request_each_on_its_own_interface(stack: str) -> None:
    fabric = fabric_of(stack)
    advertised = shared_plugin_config(fabric.case, fabric.rails).config_list

    assert [(f"{entry.resource_prefix}/{entry.resource_name}", entry.selectors.if_names) for entry in advertised] == [
        (rail.resource_name, (rail.interface,)) for rail in fabric.rails
    ]


@pytest.mark.parametrize(
    ("stack", "resource"), [("oke-h100-26-4", "nvidia.com/sriov_rdma_vf"), ("host-device", "nvidia.com/rdma_nic")]
)
def test_a_flat_fabric_has_one_network_and_one_resource_over_all_nics(stack: str, resource: str) -> None:
    fabric = fabric_of(stack, {"fabric.addressing.layout": "flat"})
    (advertised,) = sriov_plugin_config(fabric.case, fabric.case.shape, fabric.rails).resource_list

    assert {(rail.network, rail.resource_name, rail.pool) for rail in fabric.rails} == {
        ("rdma-fabric", resource, "rdma-fabric")
    }
    nics = advertised.selectors.root_devices or advertised.selectors.pci_addresses
    assert nics == tuple(rail.pci for rail in fabric.rails)


def test_a_rails_own_names_reach_network_pool_and_resource() -> None:
    changes = {"fabric.rails": [{"rail": 2, "network": "storage-side"}, {"rail": 3, "resource": "blue"}]}
    fabric = fabric_of("oke-h100-26-4", changes)
    pools = [entry.name for entry in pool_objects(fabric.addresses, "nvidia-network-operator")]

    assert [(rail.network, rail.resource, rail.pool) for rail in fabric.rails[1:4]] == [
        ("rail-01", "rail_01", "rail-01"),
        ("storage-side", "storage_side", "storage-side"),
        ("rail-03", "blue", "rail-03"),
    ]
    assert pools[2] == fabric.chain(2)[0]["ipam"]["poolName"] == "storage-side"


_FLAT = {"fabric.addressing.layout": "flat"}


@pytest.mark.parametrize(
    ("stack", "changes", "named"),
    [
        ("doks-h200", {"network": "storage-side"}, "storage-side rdma/fabric2 None"),
        ("doks-h200", {"interface": "fabric8"}, "roce-net-fabric8 rdma/fabric8 None"),
        (
            "oke-h100-26-4",
            {**_FLAT, "network": "blue", "resource": "blue"},
            "rdma-fabric nvidia.com/sriov_rdma_vf rdma-fabric",
        ),
        # Rails that share masters keep a network and a resource each.
        ("roce-macvlan", _FLAT, "rail-02 rdma/rail_02 rdma-fabric"),
    ],
)
def test_a_rails_names_follow_the_stack_file_as_far_as_others_do_not_give_them(
    stack: str, changes: dict[str, Any], named: str
) -> None:
    own = {key: value for key, value in changes.items() if "." not in key}
    more = {key: value for key, value in changes.items() if "." in key}
    rail = fabric_of(stack, {**more, "fabric.rails": [{"rail": 2, **own}]}).rails[2]

    assert f"{rail.network} {rail.resource_name} {rail.pool}" == named


def test_a_nic_that_can_be_both_is_selected_as_infiniband_only_where_the_stack_runs_it_so() -> None:
    for changes, wanted in (({}, ("infiniband",)), ({"fabric.linkType": "ether", "fabric.pkey": None}, None)):
        fabric = fabric_of("ib-sriov", changes)
        advertised = sriov_plugin_config(fabric.case, fabric.case.shape, fabric.rails).resource_list
        assert {entry.selectors.link_types for entry in advertised} == {wanted}
