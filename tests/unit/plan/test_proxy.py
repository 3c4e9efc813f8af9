"""The HTTP proxy: who gets it, what is excepted, and addresses that are refused."""

from __future__ import annotations

import pytest
from changes import Changes, changed
from committed_stacks import folder_of
from planned_fabrics import plan_of

from gpu_fabric.catalog.chart import value_at
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


def test_the_driver_container_gets_the_proxy_and_the_clusters_own_ranges_as_exceptions() -> None:
    release = plan_of("host-device", {**PROXY, **DRIVER, **RANGES}).release("gpu-operator")

    assert release is not None
    assert value_at(release.values, "driver.env") == VARIABLES


def test_without_a_driver_container_no_chart_gets_the_proxy() -> None:
    release = plan_of("host-device", {**PROXY, **RANGES}).release("gpu-operator")

    assert release is not None
    assert value_at(release.values, "driver.env") is None


@pytest.mark.parametrize(
    ("stack", "changes", "chart", "key"),
    [
        (
            "guide-23-10",
            {
                "cluster.pools[0].shape": "server.dgx-h100.8",
                "fabric.linkType": "ether",
                "fabric.vfsPerNic": 1,
                "software.networkOperator.ofedDriver": True,
            },
            "network-operator",
            "ofedDriver.env",
        ),
        ("spiderpool-ib", {"software.ofedDriver": {"os": "ubuntu", "osVersion": "22.04"}}, "ofed-driver", "extraEnv"),
    ],
)
def test_network_drivers_in_a_container_of_a_chart_get_the_proxy(
    stack: str, changes: Changes, chart: str, key: str
) -> None:
    release = plan_of(stack, {**PROXY, **RANGES, **changes}).release(chart)

    assert release is not None
    assert value_at(release.values, key) == VARIABLES


def test_network_drivers_of_the_policy_get_the_proxy() -> None:
    plan = plan_of("ib-sriov", {**PROXY, **RANGES, "software.networkOperator.ofedDriver": True})
    (policy,) = (entry.object.manifest() for entry in plan.objects if entry.object.kind == "NicClusterPolicy")

    assert policy["spec"]["ofedDriver"]["env"] == VARIABLES


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
