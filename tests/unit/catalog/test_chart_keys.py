"""Chart values that the chart would drop: found by name, version and nearest known key."""

from __future__ import annotations

from typing import Any

import pytest
from program_lists import SCHEDULERS
from pydantic import ValidationError

from gpu_fabric.catalog import ChartName, catalog
from gpu_fabric.catalog.chart import ChartKey, KeyProblem
from gpu_fabric.catalog.version import Version

# `--set` flags of the two commands of the OKE guide, as a values file has them.
GUIDE_GPU = {
    "driver": {"enabled": False, "rdma": {"enabled": True, "useHostMofed": True}},
    "operator": {"defaultRuntime": "crio"},
    "toolkit": {"version": "v1.14.5-ubi8"},
}
GUIDE_NETWORK = {
    "deployCR": True,
    "nfd": {"enabled": False},
    "rdmaSharedDevicePlugin": {"deploy": False},
    "nvPeerDriver": {"deploy": True},
    "sriovDevicePlugin": {
        "deploy": True,
        "resources": [{"name": "sriov_rdma_vf", "drivers": ["mlx5_core"], "devices": ["101e"], "isRdma": [True]}],
    },
    "secondaryNetwork": {"ipamPlugin": {"deploy": False}},
    "nvIpam": {"deploy": True},
}


def findings(chart: ChartName, version: str, values: dict[str, Any]) -> list[KeyProblem]:
    return catalog().chart_keys.key_findings(chart, version, values)


def verdicts(chart: ChartName, version: str, values: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {found.path: (found.kind, found.severity) for found in findings(chart, version, values)}


def test_the_guides_values_for_the_gpu_operator_suit_its_own_version_and_lose_one_key_today() -> None:
    assert verdicts("gpu-operator", "v23.9.1", GUIDE_GPU) == {}
    assert verdicts("gpu-operator", "v26.3.3", GUIDE_GPU) == {"operator.defaultRuntime": ("removed", "warning")}


def test_the_guides_values_for_the_network_operator_held_two_keys_that_did_nothing() -> None:
    assert verdicts("network-operator", "v23.10.0", GUIDE_NETWORK) == {
        "nvPeerDriver": ("removed", "warning"),
        "sriovDevicePlugin.resources[0].isRdma": ("ignored", "warning"),
    }


def test_what_the_chart_once_installed_itself_is_an_error_today() -> None:
    assert verdicts("network-operator", "26.4.1", GUIDE_NETWORK) == {
        "deployCR": ("removed", "error"),
        "rdmaSharedDevicePlugin": ("removed", "error"),
        "nvPeerDriver": ("removed", "warning"),
        "sriovDevicePlugin": ("removed", "error"),
        "secondaryNetwork": ("removed", "error"),
        "nvIpam": ("removed", "error"),
    }


# Chart, version and values; what is wrong by key, with the beginning of the remedy where it names another key.
KEYS: list[tuple[ChartName, str, dict[str, Any], dict[str, str]]] = [
    ("network-operator", "24.9.2", {"deployCR": True}, {}),
    # A candidate has already lost what its release loses.
    ("network-operator", "24.10.0-rc.1", {"deployCR": True}, {"deployCR": "removed"}),
    ("gpu-operator", "v23.9.2", {"gdrcopy": {"enabled": True}}, {"gdrcopy": "too-new"}),
    ("gpu-operator", "v24.3.0", {"gdrcopy": {"enabled": True}}, {}),
    # One row speaks of the key in every component.
    ("gpu-operator", "v26.3.0", {"toolkit": {"hostNetwork": True}}, {"toolkit.hostNetwork": "too-new"}),
    ("gpu-operator", "v26.3.3", {"toolkit": {"hostNetwork": True}, "operator": {"nodeSelector": {"a": "b"}}}, {}),
    ("gpu-operator", "v26.3.3", {"ccManager": {"env": []}}, {"ccManager.env": "removed"}),
    ("gpu-operator", "v26.3.3", {"cdi": {"default": True}}, {"cdi.default": "ignored"}),
    ("whereabouts", "0.9.4", {"nodeSelector": {"kubernetes.io/os": "linux"}}, {}),
    # Mistyped, at both depths.
    ("gpu-operator", "v26.3.3", {"drivers": {"enabled": False}}, {"drivers": "unknown: write driver if that is meant"}),
    (
        "spiderpool",
        "1.2.2",
        {"multus": {"multusCni": {"install": False}}},
        {"multus.multusCni": "unknown: write multus.multusCNI if that is meant"},
    ),
    ("network-operator", "26.4.1", {"operator": {"qqq": 1}}, {"operator.qqq": "unknown: leave it out"}),
    # Free names, a subchart, keys of all charts, and a version without a table.
    ("gpu-operator", "v26.3.3", {"daemonsets": {"labels": {"team": "vision"}}}, {}),
    ("network-operator", "26.4.1", {"sriov-network-operator": {"supportedExtraNICs": []}}, {}),
    ("network-operator", "26.4.1", {"global": {"imagePullSecrets": ["mirror"]}}, {}),
    ("gpu-operator", "v25.10.0", {"anything": True}, {}),
    # Another key has the effect.
    (
        "spiderpool",
        "1.2.2",
        {"coordinator": {"detectGateway": True}},
        {"coordinator.detectGateway": "ignored: write ipam.enableGatewayDetection"},
    ),
]


@pytest.mark.parametrize(("chart", "version", "values", "wrong"), KEYS)
def test_a_key_that_the_chart_would_drop_is_found_and_no_other(
    chart: ChartName, version: str, values: dict[str, Any], wrong: dict[str, str]
) -> None:
    found = {problem.path: f"{problem.kind}: {problem.remedy}" for problem in findings(chart, version, values)}

    assert found.keys() == wrong.keys()
    assert all(found[path].startswith(said) for path, said in wrong.items())


@pytest.mark.parametrize("name", catalog().releases)
def test_every_chart_of_every_line_has_its_known_keys(name: str) -> None:
    keys = catalog().chart_keys

    for chart, found in catalog().releases[name].charts.items():
        # The values of these charts' versions are not known here, so whatever a stack writes goes to them unjudged.
        unknown = chart in SCHEDULERS
        assert unknown or keys.names(chart, Version.parse(found.version)), (chart, found.version)


def test_the_histories_agree_with_the_known_keys() -> None:
    """A row that says a key is there, or gone, in a version whose own keys are known must be right."""
    keys = catalog().chart_keys
    for chart, tables in keys.known_keys.items():
        for version, names in tables.items():
            for row in (row for row in keys.rows if row.chart == chart and row.key.count(".") < 2):
                top, _, below = row.key.partition(".")
                if top == "*" or top in keys.subcharts.get(chart, ()):
                    continue
                there = top in names and (not below or below in names[top])
                problem = row.problem_at(Version.parse(version))
                if problem is None or problem[0] == "ignored":
                    assert there, (chart, version, row.key)
                else:
                    assert not there, (chart, version, row.key)


def test_a_history_without_a_version_is_refused() -> None:
    row = catalog().chart_keys.rows[0].model_dump() | {"removed_in": None}

    with pytest.raises(ValidationError, match="give addedIn, removedIn or ignoredIn"):
        ChartKey.model_validate(row)
