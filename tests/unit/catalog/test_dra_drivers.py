"""DRA drivers: what the catalog says of the versions that were read."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from gpu_fabric.catalog import catalog
from gpu_fabric.catalog.dra_driver import DraDriver, unknown_keys

DRIVERS = catalog().dra_drivers
DRANET = DRIVERS["dra.net"]


@pytest.mark.parametrize(
    ("version", "document", "unknown"),
    [
        ("v1.4.0", {"interface": {"name": "rail0", "mtu": 4200}}, []),
        ("v1.4.0", {"routes": [{"destination": "10.0.0.0/8", "gateway": "10.1.0.1", "table": 7}]}, []),
        ("v1.4.0", {"interface": {"arpIgnore": 1}, "mtu": 9000}, ["interface.arpIgnore", "mtu"]),
        ("v1.4.0", {"ethtool": {"features": {"tcp-segmentation-offload": True}}}, []),
        ("v1.3.0", {"profile": "storage"}, ["profile"]),
        ("v1.0.0", {"rules": [{"priority": 100, "table": 7}]}, ["rules[].priority", "rules[].table"]),
    ],
)
def test_a_key_is_known_from_the_version_that_began_with_it(
    version: str, document: dict[str, Any], unknown: list[str]
) -> None:
    assert DRANET.parameters is not None
    assert list(unknown_keys(DRANET.parameters, version, document)) == unknown


def test_what_no_tag_has_is_in_no_version() -> None:
    standard = "resource.kubernetes.io/numaNode"
    assert DRANET.attributes[standard].since == "unreleased"
    assert not DRANET.attributes[standard].is_in("v1.4.0")
    assert DRANET.attributes["resource.kubernetes.io/pcieRoot"].is_in("v1.0.0")


def test_own_attributes_of_the_gpu_drivers_have_no_domain_in_slices() -> None:
    gpus = DRIVERS["gpu.nvidia.com"]
    root = "resource.kubernetes.io/pcieRoot"
    assert [gpus.slice_name(name) for name in ("gpu.nvidia.com/type", root)] == ["type", root]
    assert DRANET.slice_name("dra.net/rdma") == "dra.net/rdma"


def test_every_limit_of_a_key_is_one_of_its_type() -> None:
    for driver in DRIVERS.values():
        for key, parameter in (driver.parameters.keys if driver.parameters else {}).items():
            assert parameter.type == "int" or parameter.minimum is parameter.maximum is None, key
            assert parameter.type == "string" or parameter.pattern is parameter.form is None, key


def test_a_row_that_is_incomplete_is_refused() -> None:
    row = {**DRANET.model_dump(by_alias=True), "floor": {"version": "v1.3.0"}}
    with pytest.raises(ValidationError):
        DraDriver.model_validate(row)
