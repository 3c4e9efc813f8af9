"""Rails and the device plug-in's configuration that hands out their virtual functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fabric.catalog import catalog
from fabric.plan import Plan

SHAPES = ("BM.GPU4.8", "BM.GPU.A100-v2.8", "BM.GPU.H100.8")


@pytest.fixture(scope="session", params=SHAPES)
def plan(request: pytest.FixtureRequest, plan_with: Callable[[Any], Plan]) -> Plan:
    """A plan of one rail a subnet, for each shape."""
    return plan_with({"cluster.pools[0].shape": request.param})


def test_a_rail_is_the_nic_of_its_number(plan: Plan) -> None:
    nics = catalog().shapes[plan.workload.shape].nics

    assert [(rail.index, rail.pci, rail.rdma_device, rail.interface, rail.nearest_gpu) for rail in plan.rails] == [
        (index, nic.pci, nic.rdma_device, nic.interface, nic.nearest_gpu) for index, nic in enumerate(nics)
    ]


def test_a_rails_names_all_carry_its_number(plan: Plan) -> None:
    assert [(rail.network, rail.resource, rail.pool) for rail in plan.rails] == [
        (f"rail-{index:02d}", f"rail_{index:02d}", f"rail-{index:02d}") for index in range(16)
    ]


def test_each_rail_has_a_resource_that_selects_only_its_own_physical_function(plan: Plan) -> None:
    for rail, resource in zip(plan.rails, plan.device_plugin.resource_list, strict=True):
        (selectors,) = resource.alternatives
        assert resource.name == rail.resource_name
        assert selectors.root_devices == (rail.pci,)


def test_the_selectors_are_the_shapes_virtual_functions_and_not_its_physical_ones(plan: Plan) -> None:
    model = catalog().shapes[plan.workload.shape].nic_model

    for resource in plan.device_plugin.resource_list:
        assert resource.device_type == "netDevice"
        (selectors,) = resource.alternatives
        assert (selectors.vendors, selectors.devices, selectors.drivers, selectors.is_rdma) == (
            (model.vendor_id,),
            (model.vf_device_id,),
            (model.driver,),
            True,
        )
        assert model.device_id not in (selectors.devices or ())


def test_front_end_nics_are_never_selected(plan: Plan) -> None:
    shape = catalog().shapes[plan.workload.shape]
    selected = {pci for entry in plan.device_plugin.resource_list for pci in entry.alternatives[0].root_devices or ()}

    assert selected == {nic.pci for nic in shape.nics}
    assert not selected & {nic.pci for nic in shape.front_end_nics}


def test_the_flat_layout_has_the_one_resource_of_the_guide_over_all_rails(flat_plan: Plan) -> None:
    (resource,) = flat_plan.device_plugin.resource_list

    assert resource.name == "nvidia.com/sriov_rdma_vf"
    assert resource.alternatives[0].root_devices == tuple(rail.pci for rail in flat_plan.rails)
    assert {(rail.network, rail.resource_name) for rail in flat_plan.rails} == {
        ("rdma-fabric", "nvidia.com/sriov_rdma_vf"),
    }
