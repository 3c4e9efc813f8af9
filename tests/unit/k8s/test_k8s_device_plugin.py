"""The device plug-in's configuration: its one text form and what is refused before a plug-in crash-loops on it."""

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
