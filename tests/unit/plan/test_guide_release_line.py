"""The OKE guide by release line 23.10: the very charts, versions and values of its two `helm install` commands.

What a stack that differs from the guide gets is in rows/guide.yaml.
"""

from collections.abc import Iterator
from typing import NamedTuple

import pytest
from planned_fabrics import plan_of
from pydantic import JsonValue

from gpu_fabric.plan import Plan
from gpu_fabric.plan.records import HelmRelease

STACK = "guide-23-10"


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
