"""The shared device plug-in's configuration: its one text form and what is refused before its pods crash-loop on it."""

from typing import Any

import pytest
from pydantic import ValidationError

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


@pytest.mark.parametrize("name", ["rail-00", "_rail", "rail_", "rail.0", "rdma/rail", "", "r" * 64])
def test_a_resource_name_that_the_plugin_or_the_api_server_refuses_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="allowed are at most 63 letters, digits and '_'"):
        RdmaSharedResource.model_validate(fabric(0, resourceName=name))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rdmaHcaMax": 0}, "greater than or equal to 1"),
        ({"resourcePrefix": "Spider_net"}, "resourcePrefix"),
        ({"selectors": {}}, "give vendors, deviceIDs, drivers, ifNames or linkTypes"),
        ({"selectors": {"ifNames": [], "vendors": []}}, "give vendors, deviceIDs, drivers, ifNames or linkTypes"),
        ({"selectors": {"ifNames": ["a/b"]}}, "is not an interface name"),
        ({"selectors": {"drivers": [""]}}, "at least 1 character"),
        ({"selectors": {"linkTypes": ["IB"]}}, "'ether' or 'infiniband'"),
        ({"selectors": {"ifName": ["fabric0"]}}, "did you mean ifNames"),
        ({"selectors": {"ifNames": "fabric0"}}, "valid tuple"),
        ({"devices": ["fabric0"]}, "unknown field 'devices'"),
    ],
)
def test_a_resource_that_no_nic_would_join_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        RdmaSharedResource.model_validate(fabric(0, **change))


@pytest.mark.parametrize(
    ("resources", "message"),
    [
        ([], "at least 1 item"),
        ([fabric(0), fabric(0, resourcePrefix="spidernet.io")], "must be unique, whatever their prefix: fabric0"),
        (
            [fabric(0), fabric(1, selectors={"ifNames": ["fabric0"]})],
            "rdma/fabric0 and rdma/fabric1 select the same NICs",
        ),
    ],
)
def test_resources_that_stand_in_each_others_way_are_refused(resources: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        RdmaSharedDevicePluginConfig.model_validate({"configList": resources})
