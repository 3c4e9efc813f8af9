"""The shared device plug-in's configuration: its one text form and what is refused before its pods crash-loop on it."""

from typing import Any

from gpu_fabric.k8s.device_plugin import RdmaSelectors, RdmaSharedDevicePluginConfig, RdmaSharedResource


def fabric(number: int, **changes: Any) -> dict[str, Any]:
    selectors = {"ifNames": [f"fabric{number}"]}
    return {"resourceName": f"fabric{number}", "rdmaHcaMax": 100, "selectors": selectors, **changes}


def test_the_configuration_is_one_line_of_sorted_json() -> None:
    selectors = RdmaSelectors(
        vendors=("15b3",), device_ids=("1021",), drivers=("mlx5_core",), if_names=("fabric0",), link_types=("ether",)
    )
    config = RdmaSharedDevicePluginConfig(
        periodic_update_interval=300,
        config_list=(RdmaSharedResource(resource_name="fabric0", rdma_hca_max=100, selectors=selectors),),
    )
    assert config.to_json() == (
        '{"configList":[{"rdmaHcaMax":100,"resourceName":"fabric0","resourcePrefix":"rdma","selectors":'
        '{"deviceIDs":["1021"],"drivers":["mlx5_core"],"ifNames":["fabric0"],"linkTypes":["ether"],'
        '"vendors":["15b3"]}}],"periodicUpdateInterval":300}'
    )
    assert RdmaSharedDevicePluginConfig.model_validate_json(config.to_json()) == config


def test_a_resource_is_named_as_pods_request_it() -> None:
    resource = RdmaSharedResource.model_validate(fabric(0, resourcePrefix="spidernet.io"))
    assert resource.name == "spidernet.io/fabric0"
