"""The HTTP proxy: who gets it, what is excepted, and addresses that are refused."""

from typing import Any

import pytest
from changes import Changes, changed
from committed_stacks import folder_of
from planned_fabrics import plan_of
from planned_values import value_at

from gpu_fabric.spec.load import read_document, validate

PROXY: Changes = {"software.proxy": {"https": "http://proxy.example:3128", "noProxy": [".example.com"]}}
DRIVER: Changes = {"software.gpuOperator.driver": True}
RANGES: Changes = {
    "cluster.ranges": {
        "pods": "10.244.0.0/16",
        "services": "10.96.0.0/16",
        "nodes": "10.0.0.0/16",
        "reserved": ["10.9.0.0/16"],
    }
}
EXCEPTED = "localhost,127.0.0.1,.svc,.cluster.local,10.244.0.0/16,10.96.0.0/16,10.0.0.0/16,10.9.0.0/16,.example.com"
VARIABLES = [
    {"name": "HTTPS_PROXY", "value": "http://proxy.example:3128"},
    {"name": "NO_PROXY", "value": EXCEPTED},
    {"name": "https_proxy", "value": "http://proxy.example:3128"},
    {"name": "no_proxy", "value": EXCEPTED},
]


_ETHERNET = {"cluster.pools[0].shape": "server.dgx-h100.8", "fabric.linkType": "ether", "fabric.vfsPerNic": 1}
_OFED = {"software.networkOperator.ofedDriver": True}
_OS = {"software.ofedDriver": {"os": "ubuntu", "osVersion": "22.04"}}


@pytest.mark.parametrize(
    ("stack", "changes", "place", "found"),
    [
        ("host-device", {"software.gpuOperator.driver": True}, "release gpu-operator values driver env", VARIABLES),
        ("host-device", {}, "release gpu-operator values driver env", None),
        ("guide-23-10", {**_ETHERNET, **_OFED}, "release network-operator values ofedDriver env", VARIABLES),
        ("spiderpool-ib", _OS, "release ofed-driver values extraEnv", VARIABLES),
        ("ib-sriov", _OFED, "NicClusterPolicy 0 spec ofedDriver env", VARIABLES),
    ],
)
def test_containers_with_drivers_get_the_proxy_and_the_clusters_own_ranges_as_exceptions(
    stack: str, changes: Changes, place: str, found: Any
) -> None:
    assert value_at(plan_of(stack, {**PROXY, **RANGES, **changes}), place) == found


@pytest.mark.parametrize(
    "proxy",
    [
        {"https": "http://me:secret@proxy.example:3128"},
        {"https": "proxy.example:3128"},
        {"http": "socks5://proxy.example"},
        {"noProxy": [".example.com"]},
        {"https": "http://proxy.example:3128", "noProxy": ["*.example.com"]},
        {"https": "http://proxy.example:3128", "noProxy": ["a.example,b.example"]},
    ],
)
def test_what_is_no_proxy_and_what_has_a_login_is_refused_without_being_repeated(proxy: dict[str, object]) -> None:
    document = changed(read_document("host-device", folder_of("host-device")), {"software.proxy": proxy})
    found = validate(document)[1]

    assert [entry.path.startswith("gpu-fabric:software.proxy") for entry in found] == [True]
    assert "secret" not in f"{found[0].message}{found[0].remedy}"
