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


def test_one_resource_for_all_virtual_functions_counts_sixteen() -> None:
    assert offer(VFS) == {"nvidia.com/vf": 16}


def test_a_resource_per_rail_counts_one_each() -> None:
    rails = [resource(f"rail_{k:02}", rootDevices=[nic.pci], isRdma=True) for k, nic in enumerate(H100.nics)]
    assert offer(*rails) == {f"nvidia.com/rail_{k:02}": 1 for k in range(16)}


def test_a_rail_may_be_named_by_its_interface_instead() -> None:
    assert offer(resource("rail", pfNames=["rdma3"])) == {"nvidia.com/rail": 1}


def test_the_device_id_of_another_shape_gives_no_resource_at_all() -> None:
    assert offer(resource("vf", vendors=["15b3"], devices=[A100.nic_model.vf_device_id])) == {}


def test_a_pci_address_that_the_node_does_not_have_gives_no_resource_at_all() -> None:
    assert offer(resource("rail", rootDevices=["0000:ff:00.0"], isRdma=True)) == {}


def test_all_selectors_must_hold() -> None:
    assert offer(resource("rail", rootDevices=["0000:0c:00.0"], devices=["101a"])) == {}


def test_one_value_of_a_selector_must_hold() -> None:
    assert offer(resource("pair", rootDevices=["0000:0c:00.0", "0000:0c:00.1", "0000:ff:00.0"])) == {
        "nvidia.com/pair": 2
    }


def test_a_device_joins_the_first_resource_that_matches() -> None:
    first = resource("first", rootDevices=["0000:0c:00.0"])
    assert offer(first, VFS) == {"nvidia.com/first": 1, "nvidia.com/vf": 15}
    assert offer(VFS, first) == {"nvidia.com/vf": 16}


def test_physical_functions_with_virtual_functions_are_never_offered() -> None:
    rails = [nic.pci for nic in H100.nics]
    assert offer(resource("pf", devices=["1021"], pciAddresses=rails)) == {}


def test_physical_functions_without_virtual_functions_are_offered() -> None:
    bare = [device for device in inventory(H100) if not device.is_vf]
    rails = [nic.pci for nic in H100.nics]
    assert offer(resource("pf", pciAddresses=rails), devices=bare) == {"nvidia.com/pf": 16}


def test_the_nic_of_the_default_route_is_never_offered() -> None:
    assert offer(resource("front", pfNames=["eth0"])) == {}


def test_a_range_picks_virtual_functions_by_number() -> None:
    shape = H100.model_copy(update={"vfs_per_nic": 4})
    picked = resource("some", rootDevices=["0000:0c:00.0#0-1,3"])
    assert offer(picked, devices=inventory(shape)) == {"nvidia.com/some": 3}


def test_a_device_without_rdma_is_left_out_where_rdma_is_asked_for() -> None:
    devices = [
        device.model_copy(update={"is_rdma": device.root_device != "0000:0c:00.0"}) for device in inventory(H100)
    ]
    assert offer(VFS, devices=devices) == {"nvidia.com/vf": 15}


def test_another_link_type_gives_no_resource() -> None:
    assert offer(resource("ib", linkTypes=["infiniband"])) == {}


def test_a_list_of_selectors_matches_if_one_does() -> None:
    either = {**VFS, "selectors": [{"rootDevices": ["0000:0c:00.0"]}, {"pfNames": ["rdma1"]}]}
    assert offer(either) == {"nvidia.com/vf": 2}


def test_virtual_functions_are_no_accelerators() -> None:
    assert offer({**resource("vf", vendors=["15b3"]), "deviceType": "accelerator"}) == {}


def share(devices: Sequence[SimulatedDevice] = inventory(H100), **selectors: Any) -> int:
    resource = {"resourceName": "a", "rdmaHcaMax": 63, "selectors": selectors}
    return shared(RdmaSharedDevicePluginConfig.model_validate({"configList": [resource]}), devices)["rdma/a"]


def test_a_shared_nic_is_offered_as_often_as_the_configuration_says() -> None:
    assert share(ifNames=["rdma0"]) == 63


def test_two_shared_nics_in_one_resource_are_offered_no_more_often_than_one() -> None:
    assert share(ifNames=["rdma0", "rdma1"]) == share(ifNames=["rdma0"])


def test_a_shared_resource_without_a_nic_is_there_and_empty() -> None:
    assert share(ifNames=["ens1f0"]) == 0


@pytest.mark.parametrize(
    ("selectors", "count"),
    [
        ({"vendors": ["15b3"], "deviceIDs": ["1021"]}, 63),
        ({"vendors": ["15b3"], "deviceIDs": ["101b"]}, 0),
        ({"ifNames": ["rdma0"], "linkTypes": ["infiniband"]}, 0),
        ({"ifNames": ["rdma0"], "linkTypes": ["ether", "infiniband"]}, 63),
        ({"drivers": ["mlx5_core"]}, 63),
        ({"deviceIDs": ["101e"]}, 0),
    ],
    ids=["all hold", "one fails", "other link", "one of two links", "driver", "a virtual function's id"],
)
def test_a_shared_nic_must_meet_every_selector_by_one_of_its_values(selectors: dict[str, Any], count: int) -> None:
    assert share(**selectors) == count


def test_a_front_end_nic_is_shared_too_if_it_matches() -> None:
    devices = [device.model_copy(update={"is_rdma": True}) for device in inventory(H100)]
    assert share(devices, ifNames=["eth0"]) == 63
