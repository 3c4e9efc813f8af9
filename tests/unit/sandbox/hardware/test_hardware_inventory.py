"""The devices of a simulated node: as many as the shape has, at addresses that cannot collide."""

import re

import pytest
from each_case import each
from pydantic import ValidationError

from gpu_fabric.catalog import FrontEndNic, Nic, Shape, catalog
from sandbox.hardware.inventory import (
    FRONT_END_DOMAIN,
    INVENTORY_ANNOTATION,
    MADE_UP_ID,
    RAIL_DOMAIN,
    devices_of,
    inventory,
    inventory_annotation,
    virtual_function_address,
)

SHAPES = sorted(catalog().shapes)


def rails_of(shape: Shape) -> list[str]:
    """Addresses of a simulated node's RDMA NICs, made-up ones included."""
    front_end = len(shape.front_end_nics or ("the one that every node has",))
    return [device.pci for device in inventory(shape) if not device.is_vf][front_end:]


@each("name", SHAPES)
def test_every_device_of_a_shape_has_an_address_of_its_own(name: str) -> None:
    shape = catalog().shapes[name]
    addresses = [device.pci for device in inventory(shape)]
    assert len(set(addresses) | set(shape.gpus.pci)) == len(addresses) + len(shape.gpus.pci)


@each("name", SHAPES)
def test_a_node_has_the_shapes_virtual_functions_under_the_right_parents(name: str) -> None:
    shape = catalog().shapes[name]
    parents = [device.root_device for device in inventory(shape) if device.is_vf]
    assert parents == [pci for pci in rails_of(shape) for _ in range(shape.vfs_per_nic)]


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


@each("name", SHAPES)
def test_published_addresses_and_interfaces_are_simulated_as_they_are(name: str) -> None:
    shape = catalog().shapes[name]
    simulated = {device.pci: device.interface for device in inventory(shape) if not device.is_vf}
    nics: list[Nic | FrontEndNic] = [*shape.nics, *(shape.front_end_nics or ())]
    published = {nic.pci: nic.interface for nic in nics if nic.pci}

    assert {pci: simulated.get(pci) if interface else None for pci, interface in published.items()} == published
    assert published.keys() <= simulated.keys()
    assert all(pci[:4] in (RAIL_DOMAIN, FRONT_END_DOMAIN) for pci in set(simulated) - set(published))


@each("name", SHAPES)
def test_every_simulated_node_has_distinct_interfaces_and_one_default_route(name: str) -> None:
    devices = inventory(catalog().shapes[name])
    interfaces = [device.interface for device in devices]

    assert len(interfaces) == len(set(interfaces))
    assert [device.default_route for device in devices].count(True) == 1


def test_what_is_not_published_is_made_up_so_that_nobody_takes_it_for_a_fact() -> None:
    rail = inventory(catalog().shapes["server.hgx-h100.8"])[-1]

    assert (rail.pci, rail.interface) == ("fffe:07:00.0", "sim7")
    assert (rail.vendor, rail.device, rail.driver) == (MADE_UP_ID, MADE_UP_ID, "simulated")


def test_a_node_without_rdma_has_only_its_front_end() -> None:
    (nic,) = inventory(catalog().shapes["VM.GPU.A10.1"])

    assert (nic.interface, nic.default_route, nic.is_rdma) == ("eth0", True, False)


def test_the_stack_may_ask_for_more_virtual_functions_than_a_fresh_node_has() -> None:
    dgx = catalog().shapes["server.dgx-h100.8"]
    virtual = [device for device in inventory(dgx.model_copy(update={"vfs_per_nic": 4})) if device.is_vf]

    assert [device.pci for device in virtual[:4]] == [f"0000:18:00.{function}" for function in (1, 2, 3, 4)]
    assert len(virtual) == 32
    assert {device.link_type for device in virtual} == {"infiniband"}


def test_addresses_have_the_form_of_pci_addresses() -> None:
    everything = [device for name in SHAPES for device in inventory(catalog().shapes[name])]
    assert all(re.fullmatch(r"[0-9a-f]{4}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]", device.pci) for device in everything)


@each("name", SHAPES)
def test_an_annotation_is_read_back_as_the_devices_it_was_written_from(name: str) -> None:
    shape = catalog().shapes[name]
    assert devices_of(inventory_annotation(shape)) == inventory(shape)


def test_a_node_without_the_annotation_has_no_devices() -> None:
    assert devices_of({"other": "x"}) == devices_of(None) == ()


def test_an_annotation_that_nobody_of_us_wrote_is_an_error() -> None:
    with pytest.raises(ValidationError, match="unknown field 'address'"):
        devices_of({INVENTORY_ANNOTATION: '[{"address":"0000:0c:00.0"}]'})
