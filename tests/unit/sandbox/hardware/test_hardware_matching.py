"""What a simulated node advertises: exactly what the real device plug-ins would, for the same configuration."""

from collections.abc import Sequence
from typing import Any

import pytest

from gpu_fabric.catalog import catalog
from gpu_fabric.k8s.device_plugin import RdmaSharedDevicePluginConfig, SriovDevicePluginConfig
from sandbox.hardware.advertise import advertised, shared
from sandbox.hardware.inventory import SimulatedDevice, inventory

H100 = catalog().shapes["BM.GPU.H100.8"]
A100 = catalog().shapes["BM.GPU.A100-v2.8"]


def resource(name: str, **selectors: Any) -> dict[str, Any]:
    return {"resourcePrefix": "nvidia.com", "resourceName": name, "deviceType": "netDevice", "selectors": selectors}


def offer(*resources: dict[str, Any], devices: Sequence[SimulatedDevice] = inventory(H100)) -> dict[str, int]:
    return advertised(SriovDevicePluginConfig.model_validate({"resourceList": resources}), devices)


VFS = resource("vf", vendors=["15b3"], devices=["101e"], drivers=["mlx5_core"], isRdma=True)


BARE = [device for device in inventory(H100) if not device.is_vf]
RAILS = [nic.pci for nic in H100.nics]
FOUR_EACH = inventory(H100.model_copy(update={"vfs_per_nic": 4}))
WITHOUT_RDMA = [device.model_copy(update={"is_rdma": device.root_device != RAILS[0]}) for device in inventory(H100)]
FIRST = resource("first", rootDevices=[RAILS[0]])
EACH_RAIL = [resource(f"rail_{k:02}", rootDevices=[pci], isRdma=True) for k, pci in enumerate(RAILS)]
EITHER = {**VFS, "selectors": [{"rootDevices": [RAILS[0]]}, {"pfNames": ["rdma1"]}]}
OFFERS: dict[str, tuple[dict[str, int], list[dict[str, Any]], Sequence[SimulatedDevice]]] = {
    "one resource for all virtual functions counts sixteen": ({"vf": 16}, [VFS], inventory(H100)),
    "a resource per rail counts one each": ({f"rail_{k:02}": 1 for k in range(16)}, EACH_RAIL, inventory(H100)),
    "a rail may be named by its interface": ({"rail": 1}, [resource("rail", pfNames=["rdma3"])], inventory(H100)),
    "the device id of another shape gives no resource at all": (
        {}, [resource("vf", vendors=["15b3"], devices=[A100.nic_model.vf_device_id])], inventory(H100)),
    "a PCI address that the node does not have gives no resource at all": (
        {}, [resource("rail", rootDevices=["0000:ff:00.0"], isRdma=True)], inventory(H100)),
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
    assert offer(*resources, devices=devices) == {f"nvidia.com/{name}": count for name, count in offered.items()}


def share(devices: Sequence[SimulatedDevice] = inventory(H100), **selectors: Any) -> int:
    resource = {"resourceName": "a", "rdmaHcaMax": 63, "selectors": selectors}
    return shared(RdmaSharedDevicePluginConfig.model_validate({"configList": [resource]}), devices)["rdma/a"]


@pytest.mark.parametrize(
    ("selectors", "count"),
    [
        ({"vendors": ["15b3"], "deviceIDs": ["1021"]}, 63),
        ({"vendors": ["15b3"], "deviceIDs": ["101b"]}, 0),
        ({"ifNames": ["rdma0"], "linkTypes": ["infiniband"]}, 0),
        ({"ifNames": ["rdma0"], "linkTypes": ["ether", "infiniband"]}, 63),
        ({"drivers": ["mlx5_core"]}, 63),
        ({"deviceIDs": ["101e"]}, 0),
        ({"ifNames": ["rdma0"]}, 63),
        ({"ifNames": ["rdma0", "rdma1"]}, 63),
        ({"ifNames": ["ens1f0"]}, 0),
    ],
    ids=[
        *("all hold", "one fails", "other link", "one of two links", "driver", "a virtual function's id"),
        *("as often as configured", "two NICs no more often than one", "no such NIC: there and empty"),
    ],
)
def test_a_shared_nic_must_meet_every_selector_by_one_of_its_values(selectors: dict[str, Any], count: int) -> None:
    assert share(**selectors) == count


def test_a_front_end_nic_is_shared_too_if_it_matches() -> None:
    devices = [device.model_copy(update={"is_rdma": True}) for device in inventory(H100)]
    assert share(devices, ifNames=["eth0"]) == 63
