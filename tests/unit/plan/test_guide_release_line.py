"""The OKE guide by release line 23.10: the very charts, versions and values of its two `helm install` commands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest
from changes import Changes
from planned_fabrics import plan_of
from pydantic import JsonValue

from gpu_fabric.plan import Plan
from gpu_fabric.plan.records import HelmRelease

STACK = "guide-23-10"
ADDRESSING = {"supernet": "192.168.0.0/16", "gateway": "first"}


class Flag(NamedTuple):
    """One `--set` of the guide's commands: its key, its value, and why it does nothing where that is so."""

    chart: str
    key: str
    value: JsonValue
    without_effect: str = ""


FLAGS = (
    Flag("gpu-operator", "driver.enabled", False),
    Flag("gpu-operator", "operator.defaultRuntime", "crio"),
    Flag("gpu-operator", "toolkit.version", "v1.14.5-ubi8"),
    Flag("gpu-operator", "driver.rdma.enabled", True, "only the driver's DaemonSet reads it, and there is none"),
    Flag("gpu-operator", "driver.rdma.useHostMofed", True, "only the driver's DaemonSet reads it, and there is none"),
    Flag("network-operator", "deployCR", True),
    Flag("network-operator", "nfd.enabled", False),
    Flag("network-operator", "rdmaSharedDevicePlugin.deploy", False),
    Flag("network-operator", "nvPeerDriver.deploy", True, "the chart lost the key in 23.7.0"),
    Flag("network-operator", "sriovDevicePlugin.deploy", True),
    Flag("network-operator", "secondaryNetwork.ipamPlugin.deploy", False),
    Flag("network-operator", "nvIpam.deploy", True),
    Flag("network-operator", "sriovDevicePlugin.resources[0].name", "sriov_rdma_vf"),
    Flag("network-operator", "sriovDevicePlugin.resources[0].drivers", ["mlx5_core"]),
    Flag("network-operator", "sriovDevicePlugin.resources[0].devices", ["101e"]),
    Flag(
        "network-operator", "sriovDevicePlugin.resources[0].isRdma", [True], "the chart's template writes true itself"
    ),
)


@pytest.fixture(scope="module")
def plan() -> Plan:
    return plan_of(STACK)


def release(plan: Plan, name: str) -> HelmRelease:
    return next(found for found in plan.releases if found.name == name)


def leaves(values: JsonValue, path: str = "") -> Iterator[tuple[str, JsonValue]]:
    """Every value with its key as `--set` writes it; a list of plain values is one value."""
    if isinstance(values, dict):
        for key, value in values.items():
            yield from leaves(value, f"{path}.{key}" if path else key)
    elif isinstance(values, list) and any(isinstance(entry, dict) for entry in values):
        for place, entry in enumerate(values):
            yield from leaves(entry, f"{path}[{place}]")
    else:
        yield path, values


@pytest.mark.parametrize("chart", ["gpu-operator", "network-operator"])
def test_a_chart_gets_the_values_of_the_guides_flags_and_no_other(plan: Plan, chart: str) -> None:
    assert dict(leaves(release(plan, chart).values)) == {flag.key: flag.value for flag in FLAGS if flag.chart == chart}


def test_charts_versions_names_and_namespaces_are_the_guides(plan: Plan) -> None:
    assert [
        (found.name, found.namespace, found.chart.repository, found.chart.name, found.chart.version)
        for found in plan.releases
    ] == [
        ("gpu-operator", "gpu-operator", "https://helm.ngc.nvidia.com/nvidia", "gpu-operator", "v23.9.1"),
        ("network-operator", "network-operator", "https://helm.ngc.nvidia.com/nvidia", "network-operator", "23.10.0"),
    ]


# What the chart's policy gets from values where a stack differs from the guide: changes, and the keys they move.
OTHERWISE: tuple[tuple[str, Changes, dict[str, JsonValue]], ...] = (
    (
        "macvlan",
        {"fabric": {"model": "macvlan", "podsPerNic": 4, "addressing": ADDRESSING}},
        {
            "rdmaSharedDevicePlugin.deploy": True,
            "rdmaSharedDevicePlugin.resources[0].name": "rail_00",
            "rdmaSharedDevicePlugin.resources[0].rdmaHcaMax": 4,
            "rdmaSharedDevicePlugin.resources[0].ifNames": ["rdma0"],
            "sriovDevicePlugin.deploy": False,
        },
    ),
    (
        "ipoib",
        {
            "cluster.pools[0].shape": "server.dgx-h100.8",
            "fabric": {"model": "ipoib", "linkType": "infiniband", "addressing": ADDRESSING},
        },
        {
            "rdmaSharedDevicePlugin.resources[7].ifNames": ["ibp220s0"],
            "secondaryNetwork.ipoib.deploy": True,
        },
    ),
    (
        "host-device",
        {"fabric": {"model": "host-device", "vfsPerNic": 0, "addressing": ADDRESSING}},
        {
            "sriovDevicePlugin.resources[0].name": "rail_00",
            "sriovDevicePlugin.resources[0].pciAddresses": ["0000:0c:00.0"],
            "sriovDevicePlugin.resources[0].devices": ["1021"],
        },
    ),
    (
        "whereabouts",
        {"fabric.addressing.ipam": "whereabouts"},
        {"secondaryNetwork.ipamPlugin.deploy": True, "nvIpam.deploy": False},
    ),
    (
        "multus of the cluster",
        {"cluster.installed": ["multus"], "software.networkOperator.multus": False},
        {"secondaryNetwork.multus.deploy": False},
    ),
    (
        "a partition",
        {
            "cluster.pools[0].shape": "server.dgx-h100.8",
            "fabric": {"linkType": "infiniband", "vfsPerNic": 1, "pkey": "0x11", "addressing": ADDRESSING},
            "software.networkOperator.partitionKeys": {
                "ufmSecret": "ufm-login",
                "guidRangeStart": "02:00:00:00:00:00:00:00",
                "guidRangeEnd": "02:00:00:00:FF:FF:FF:FF",
            },
        },
        {
            "ibKubernetes.deploy": True,
            "ibKubernetes.ufmSecret": "ufm-login",
            "ibKubernetes.pKeyGUIDPoolRangeStart": "02:00:00:00:00:00:00:00",
            "ibKubernetes.pKeyGUIDPoolRangeEnd": "02:00:00:00:FF:FF:FF:FF",
        },
    ),
    (
        "a taint",
        {"cluster.pools[0].taints": [{"key": "team", "value": "a"}]},
        {"tolerations[0].key": "nvidia.com/gpu", "tolerations[1].key": "team", "tolerations[1].operator": "Exists"},
    ),
)


@pytest.mark.parametrize(("changes", "moved"), [row[1:] for row in OTHERWISE], ids=[row[0] for row in OTHERWISE])
def test_a_stack_that_differs_from_the_guide_moves_the_keys_of_its_difference(
    changes: Changes, moved: dict[str, JsonValue]
) -> None:
    values = dict(leaves(release(plan_of(STACK, changes), "network-operator").values))

    assert {key: values.get(key) for key in moved} == moved
