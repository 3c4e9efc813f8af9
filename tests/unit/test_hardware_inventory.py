"""The devices of a simulated node: as many as the shape has, at addresses that cannot collide."""

import pytest
from pydantic import ValidationError

from fabric.catalog import catalog
from sandbox.inventory import (
    INVENTORY_ANNOTATION,
    devices_of,
    inventory,
    inventory_annotation,
    virtual_function_address,
)

SHAPES = sorted(catalog().shapes)


@pytest.mark.parametrize("name", SHAPES)
def test_every_device_of_a_shape_has_an_address_of_its_own(name: str) -> None:
    shape = catalog().shapes[name]
    addresses = [device.pci for device in inventory(shape)]
    assert len(set(addresses) | set(shape.gpus.pci)) == len(addresses) + shape.gpus.count


@pytest.mark.parametrize("name", SHAPES)
def test_a_node_has_the_shapes_virtual_functions_under_the_right_parents(name: str) -> None:
    shape = catalog().shapes[name]
    parents = [device.root_device for device in inventory(shape) if device.is_vf]
    assert parents == [nic.pci for nic in shape.nics for _ in range(shape.vfs_per_nic)]


def test_virtual_functions_follow_both_ports_of_their_adapter() -> None:
    h100 = catalog().shapes["BM.GPU.H100.8"]
    virtual = {device.root_device: device.pci for device in inventory(h100) if device.is_vf}
    assert virtual["0000:0c:00.0"] == "0000:0c:00.2"
    assert virtual["0000:0c:00.1"] == "0000:0c:00.3"


def test_many_virtual_functions_run_over_into_the_next_device_number() -> None:
    addresses = [virtual_function_address("0000:0c:00.1", index, 2) for index in range(8)]
    assert addresses[:4] == ["0000:0c:00.3", "0000:0c:00.5", "0000:0c:00.7", "0000:0c:01.1"]
    assert len(set(addresses)) == 8


def test_a_bus_cannot_hold_more_than_256_functions() -> None:
    with pytest.raises(ValueError, match="does not fit on its bus: allowed are 256 functions"):
        virtual_function_address("0000:0c:00.0", 255, 1)


def test_only_the_first_front_end_nic_carries_the_default_route() -> None:
    h100 = catalog().shapes["BM.GPU.H100.8"]
    assert [device.interface for device in inventory(h100) if device.default_route] == ["eth0"]


@pytest.mark.parametrize("name", SHAPES)
def test_an_annotation_is_read_back_as_the_devices_it_was_written_from(name: str) -> None:
    shape = catalog().shapes[name]
    assert devices_of(inventory_annotation(shape)) == inventory(shape)


def test_a_node_without_the_annotation_has_no_devices() -> None:
    assert devices_of({"other": "x"}) == devices_of(None) == ()


def test_an_annotation_that_nobody_of_us_wrote_is_an_error() -> None:
    with pytest.raises(ValidationError, match="unknown field 'address'"):
        devices_of({INVENTORY_ANNOTATION: '[{"address":"0000:0c:00.0"}]'})
