"""The device plug-in's configuration: its one text form and what is refused before a plug-in crash-loops on it."""

from typing import Any

import pytest
from pydantic import ValidationError

from gpu_fabric.k8s.device_plugin import DeviceSelectors, SriovDevicePluginConfig, SriovResource

SELECTORS = DeviceSelectors(
    vendors=("15b3",), devices=("101e",), drivers=("mlx5_core",), root_devices=("0000:0c:00.0",), is_rdma=True
)


def test_the_configuration_is_one_line_of_sorted_json() -> None:
    config = SriovDevicePluginConfig(resource_list=(SriovResource(resource_name="rail_00", selectors=SELECTORS),))
    assert config.to_json() == (
        '{"resourceList":[{"deviceType":"netDevice","resourceName":"rail_00","resourcePrefix":"nvidia.com","selectors":'
        '{"devices":["101e"],"drivers":["mlx5_core"],"isRdma":true,"rootDevices":["0000:0c:00.0"],"vendors":["15b3"]}}]}'
    )


def test_the_configuration_is_read_back_from_its_text() -> None:
    config = SriovDevicePluginConfig(
        resource_list=(SriovResource(resource_name="both", selectors=(SELECTORS, DeviceSelectors(devices=("101a",)))),)
    )
    assert SriovDevicePluginConfig.model_validate_json(config.to_json()) == config


@pytest.mark.parametrize(
    ("selectors", "message"),
    [
        ({"vendors": ["0x15b3"]}, "vendors"),
        ({"devices": ["101E"]}, "devices"),
        ({"rootDevices": ["0c:00.0"]}, "rootDevices"),
        ({"linkTypes": ["IB"]}, "'ether' or 'infiniband'"),
        ({"linkTypes": ["ether", "infiniband"]}, "at most 1"),
        ({"isRdma": [True]}, "isRdma"),
        ({"isRdma": True, "vdpaType": "virtio"}, "isRdma excludes vdpaType"),
        ({"isRdma": True, "drivers": ["vfio-pci"]}, "isRdma excludes driver vfio-pci"),
        ({"pfName": ["rdma0"]}, "did you mean pfNames"),
    ],
)
def test_a_wrong_selector_is_refused_by_name(selectors: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        DeviceSelectors.model_validate(selectors)


@pytest.mark.parametrize("name", ["rail-00", "nvidia.com/rail_00", "", "rail 0"])
def test_a_resource_name_that_the_operator_refuses_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match=r"allowed are letters, digits, '_' and '\.'"):
        SriovResource(resource_name=name, selectors=SELECTORS)


def test_an_unknown_device_type_is_refused_with_the_allowed_ones() -> None:
    with pytest.raises(ValidationError, match="'netDevice', 'accelerator' or 'auxNetDevice'"):
        SriovResource.model_validate({"resourceName": "a", "deviceType": "netdevice", "selectors": {}})


def test_an_auxiliary_device_has_no_pci_address() -> None:
    with pytest.raises(ValidationError, match="deviceType auxNetDevice does not know pciAddresses"):
        SriovResource.model_validate(
            {"resourceName": "a", "deviceType": "auxNetDevice", "selectors": {"pciAddresses": ["0000:0c:00.0"]}}
        )


def test_a_resource_listed_twice_is_refused() -> None:
    resource = SriovResource(resource_name="rail_00", selectors=SELECTORS)
    with pytest.raises(ValidationError, match=r"these are doubled: nvidia\.com/rail_00"):
        SriovDevicePluginConfig(resource_list=(resource, resource))


def test_a_configuration_without_resources_is_refused() -> None:
    with pytest.raises(ValidationError, match="at least 1 item"):
        SriovDevicePluginConfig(resource_list=())
