"""The devices of a simulated node: those of its shape, what device plug-ins offer of them, and what a look finds."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from cluster_objects import objects, simulated_nodes
from each_case import each
from pydantic import ValidationError

from gpu_fabric.catalog import Nic, catalog
from gpu_fabric.catalog.shape import FrontEndNic
from gpu_fabric.discover.discovery import Discovered, discovered, read_files
from gpu_fabric.discover.look_job import job
from gpu_fabric.discover.stack_file import StackFileOptions, stack_text
from gpu_fabric.k8s.device_plugin import RdmaSharedDevicePluginConfig, SriovDevicePluginConfig
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.load import read_file
from sandbox.hardware.advertise import advertised, shared
from sandbox.hardware.inventory import (
    FRONT_END_DOMAIN,
    INVENTORY_ANNOTATION,
    MADE_UP_ID,
    RAIL_DOMAIN,
    SimulatedDevice,
    devices_of,
    inventory,
    inventory_annotation,
    placed,
    virtual_function_address,
)
from sandbox.hardware.looks import printed, script_of

H100 = catalog().shapes["BM.GPU.H100.8"]
A100 = catalog().shapes["BM.GPU.A100-v2.8"]


@each("name", sorted(catalog().shapes))
def test_a_node_has_the_published_devices_at_distinct_addresses_and_one_default_route(name: str) -> None:
    shape = catalog().shapes[name]
    devices = inventory(shape)
    addresses, interfaces = [device.pci for device in devices], [device.interface for device in devices]
    assert len({*addresses, *shape.gpus.pci}) == len(addresses) + len(shape.gpus.pci)
    assert all(re.fullmatch(r"[0-9a-f]{4}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]", pci) for pci in addresses)
    assert len(set(interfaces)) == len(interfaces)
    assert [device.default_route for device in devices].count(True) == 1

    front_end = len(shape.front_end_nics or ("the one that every node has",))
    rails = [device.pci for device in devices if not device.is_vf][front_end:]
    parents = [device.root_device for device in devices if device.is_vf]
    assert parents == [pci for pci in rails for _ in range(shape.vfs_per_nic)]

    simulated = {device.pci: device.interface for device in devices if not device.is_vf}
    nics: list[Nic | FrontEndNic] = [*shape.nics, *(shape.front_end_nics or ())]
    published = {nic.pci: nic.interface for nic in nics if nic.pci}
    assert {pci: simulated.get(pci) if interface else None for pci, interface in published.items()} == published
    assert all(pci[:4] in (RAIL_DOMAIN, FRONT_END_DOMAIN) for pci in set(simulated) - set(published))
    assert devices_of(inventory_annotation(shape)) == placed(devices, catalog().topologies.get(name))


def test_virtual_functions_follow_both_ports_of_their_adapter_and_run_over_into_the_next_device_number() -> None:
    virtual = {device.root_device: device.pci for device in inventory(H100) if device.is_vf}
    assert (virtual["0000:0c:00.0"], virtual["0000:0c:00.1"]) == ("0000:0c:00.2", "0000:0c:00.3")
    addresses = [virtual_function_address("0000:0c:00.1", index, 2) for index in range(8)]
    assert addresses[:4] == ["0000:0c:00.3", "0000:0c:00.5", "0000:0c:00.7", "0000:0c:01.1"]
    with pytest.raises(ValueError, match="does not fit on its bus: allowed are 256 functions"):
        virtual_function_address("0000:0c:00.0", 255, 1)


def test_what_is_not_published_is_made_up_so_that_nobody_takes_it_for_a_fact() -> None:
    rail = inventory(catalog().shapes["server.hgx-h100.8"])[-1]
    assert (rail.pci, rail.interface) == ("fffe:07:00.0", "sim7")
    assert (rail.vendor, rail.device, rail.driver) == (MADE_UP_ID, MADE_UP_ID, "simulated")


def test_an_annotation_that_nobody_of_us_wrote_is_an_error() -> None:
    assert devices_of({"other": "x"}) == devices_of(None) == ()
    with pytest.raises(ValidationError, match="unknown field 'address'"):
        devices_of({INVENTORY_ANNOTATION: '[{"address":"0000:0c:00.0"}]'})


def resource(name: str, **selectors: Any) -> dict[str, Any]:
    return {"resourcePrefix": "nvidia.com", "resourceName": name, "deviceType": "netDevice", "selectors": selectors}


VFS = resource("vf", vendors=["15b3"], devices=["101e"], drivers=["mlx5_core"], isRdma=True)
BARE = [device for device in inventory(H100) if not device.is_vf]
RAILS = [nic.pci for nic in H100.nics]
FOUR_EACH = inventory(H100.model_copy(update={"vfs_per_nic": 4}))
WITHOUT_RDMA = [device.model_copy(update={"is_rdma": device.root_device != RAILS[0]}) for device in inventory(H100)]
FIRST = resource("first", rootDevices=[RAILS[0]])
EITHER = {**VFS, "selectors": [{"rootDevices": [RAILS[0]]}, {"pfNames": ["rdma1"]}]}
OFFERS: dict[str, tuple[dict[str, int], list[dict[str, Any]], Sequence[SimulatedDevice]]] = {
    "a rail may be named by its interface": ({"rail": 1}, [resource("rail", pfNames=["rdma3"])], inventory(H100)),
    "the device id of another shape gives no resource at all": (
        {}, [resource("vf", vendors=["15b3"], devices=[A100.nic_model.vf_device_id])], inventory(H100)),
    "all selectors must hold": ({}, [resource("rail", rootDevices=[RAILS[0]], devices=["101a"])], inventory(H100)),
    "one value of a selector must hold": (
        {"pair": 2}, [resource("pair", rootDevices=[*RAILS[:2], "0000:ff:00.0"])], inventory(H100)),
    "a device joins the first resource that matches": ({"first": 1, "vf": 15}, [FIRST, VFS], inventory(H100)),
    "nothing is left for a resource that comes later": ({"vf": 16}, [VFS, FIRST], inventory(H100)),
    "physical functions with virtual ones are never offered": (
        {}, [resource("pf", devices=["1021"], pciAddresses=RAILS)], inventory(H100)),
    "physical functions without virtual ones are offered": ({"pf": 16}, [resource("pf", pciAddresses=RAILS)], BARE),
    "the NIC of the default route is never offered": ({}, [resource("front", pfNames=["eth0"])], inventory(H100)),
    "a range picks virtual functions by number": (
        {"some": 3}, [resource("some", rootDevices=[f"{RAILS[0]}#0-1,3"])], FOUR_EACH),
    "a device without RDMA is left out where RDMA is asked for": ({"vf": 15}, [VFS], WITHOUT_RDMA),
    "another link type gives no resource": ({}, [resource("ib", linkTypes=["infiniband"])], inventory(H100)),
    "a list of selectors matches if one does": ({"vf": 2}, [EITHER], inventory(H100)),
    "virtual functions are no accelerators": (
        {}, [{**resource("vf", vendors=["15b3"]), "deviceType": "accelerator"}], inventory(H100)),
}  # fmt: skip


@pytest.mark.parametrize(("offered", "resources", "devices"), OFFERS.values(), ids=OFFERS)
def test_the_plug_in_for_virtual_functions_offers_what_its_configuration_matches(
    offered: dict[str, int], resources: list[dict[str, Any]], devices: Sequence[SimulatedDevice]
) -> None:
    found = advertised(SriovDevicePluginConfig.model_validate({"resourceList": resources}), devices)
    assert found == {f"nvidia.com/{name}": count for name, count in offered.items()}


@pytest.mark.parametrize(
    ("selectors", "count"),
    [
        ({"vendors": ["15b3"], "deviceIDs": ["1021"]}, 63),
        ({"vendors": ["15b3"], "deviceIDs": ["101b"]}, 0),
        ({"ifNames": ["rdma0"], "linkTypes": ["infiniband"]}, 0),
        ({"ifNames": ["rdma0", "rdma1"], "linkTypes": ["ether", "infiniband"]}, 63),
        ({"drivers": ["mlx5_core"]}, 63),
        ({"deviceIDs": ["101e"]}, 0),
        ({"ifNames": ["ens1f0"]}, 0),
        ({"ifNames": ["eth0"]}, 63),
    ],
)
def test_a_shared_nic_must_meet_every_selector_by_one_of_its_values(selectors: dict[str, Any], count: int) -> None:
    entry = {"resourceName": "a", "rdmaHcaMax": 63, "selectors": selectors}
    devices = [device.model_copy(update={"is_rdma": True}) for device in inventory(H100)]
    assert shared(RdmaSharedDevicePluginConfig.model_validate({"configList": [entry]}), devices) == {"rdma/a": count}


def looked_at(name: str) -> Discovered:
    """What is found on simulated nodes of a shape, and by a look at one of them."""
    items = simulated_nodes(name)
    node = next(item for item in items if item["metadata"]["name"] == "gpu-0")
    text = printed(script_of(job("gpu-0", "looks", "busybox")["spec"]["template"]) or "", node)
    return discovered(read_files({"cluster": objects(items).encode(), "look": text.encode()}), catalog())


@pytest.mark.parametrize("name", ["BM.GPU.H100.8", "BM.GPU.GB200.4", "server.dgx-h100.8", "BM.GPU.MI300X.8"])
def test_a_look_and_the_clusters_objects_are_one_machine(name: str) -> None:
    shape, found = catalog().shapes[name], looked_at(name)
    assert (found.match.equal, found.match.by_label) == ((name,), False)
    for fact in ("pci", "rdma_device", "nearest_gpu"):
        if getattr(shape.nics[0], fact) is not None:
            assert [getattr(nic, fact) for nic in found.choice.rails] == [getattr(nic, fact) for nic in shape.nics]


# Of each cloud and of servers; one takes a second.
@pytest.mark.parametrize("name", ["BM.GPU.RTXPRO.8", "gpu-b300x8-2304gb-fabric-contracted", "server.hgx-h100.8"])
def test_a_look_places_the_rails_of_a_shape_whose_addresses_are_not_published(name: str, tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.found.yaml"
    file.write_text(stack_text(looked_at(name), StackFileOptions()).text, encoding="utf-8")
    places = [f"fffe:{number:02x}:00.0" for number in range(len(catalog().shapes[name].nics))]
    assert [rail.pci for rail in prepare(read_file(file), for_up=False).plan.rails] == places


def test_other_pods_print_nothing() -> None:
    assert script_of({"spec": {"containers": [{"name": "a"}, {"name": "b", "command": ["chroot", "/host"]}]}}) is None
