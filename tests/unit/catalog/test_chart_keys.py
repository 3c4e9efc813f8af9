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


@pytest.mark.parametrize(
    ("version", "kinds"),
    [("24.9.2", []), ("24.10.0-rc.1", ["removed"]), ("24.10.0", ["removed"]), ("v26.4.1", ["removed"])],
)
def test_a_candidate_has_already_lost_what_its_release_loses(version: str, kinds: list[str]) -> None:
    assert [found.kind for found in findings("network-operator", version, {"deployCR": True})] == kinds


@pytest.mark.parametrize(("version", "kinds"), [("v23.9.2", ["too-new"]), ("v24.3.0", []), ("v26.3.3", [])])
def test_a_key_that_the_chart_does_not_know_yet_is_found(version: str, kinds: list[str]) -> None:
    assert [found.kind for found in findings("gpu-operator", version, {"gdrcopy": {"enabled": True}})] == kinds


def test_a_row_may_speak_of_one_key_in_every_component() -> None:
    values = {"toolkit": {"hostNetwork": True}, "dcgm": {"hostNetwork": True}}

    assert verdicts("gpu-operator", "v26.3.0", values) == {
        "toolkit.hostNetwork": ("too-new", "warning"),
        "dcgm.hostNetwork": ("too-new", "warning"),
    }
    assert verdicts("gpu-operator", "v26.3.3", values) == {}


@pytest.mark.parametrize(
    ("chart", "version", "values", "kinds"),
    [
        ("gpu-operator", "v23.9.1", {"operator": {"nodeSelector": {"a": "b"}}}, {}),
        ("gpu-operator", "v26.3.3", {"operator": {"nodeSelector": {"a": "b"}}}, {}),
        ("gpu-operator", "v26.3.3", {"driver": {"licensingConfig": {"configMapName": "a"}}}, {}),
        ("gpu-operator", "v26.7.0", {"clusterPolicy": {"deployCR": True}, "operator": {"env": []}}, {}),
        ("gpu-operator", "v26.3.3", {"clusterPolicy": {"deployCR": True}}, {"clusterPolicy": "too-new"}),
        ("gpu-operator", "v26.3.3", {"ccManager": {"env": []}}, {"ccManager.env": "removed"}),
        ("gpu-operator", "v25.10.1", {"ccManager": {"env": []}}, {}),
        ("network-operator", "26.7.0", {"keepNCP": True, "operator": {"preStopSleepSeconds": 5}}, {}),
        (
            "network-operator",
            "26.4.1",
            {"keepNCP": True, "operator": {"preStopSleepSeconds": 5}},
            {"keepNCP": "too-new", "operator.preStopSleepSeconds": "too-new"},
        ),
        ("gpu-operator", "v26.3.0", {"dcgmExporter": {"hostNetwork": True}}, {}),
        ("gpu-operator", "v25.10.1", {"dcgmExporter": {"hostNetwork": True}}, {"dcgmExporter.hostNetwork": "too-new"}),
        ("gpu-operator", "v26.3.3", {"cdi": {"default": True}}, {"cdi.default": "ignored"}),
        ("gpu-operator", "v26.3.3", {"operator": {"initContainer": {}}}, {"operator.initContainer": "ignored"}),
        ("network-operator", "24.7.0", {"sriov-network-operator": {"images": {"rdmaCni": "a"}}}, {}),
        ("whereabouts", "0.9.4", {"nodeSelector": {"kubernetes.io/os": "linux"}, "securityContext": {"a": 1}}, {}),
    ],
)
def test_a_key_that_the_templates_read_is_left_alone(
    chart: ChartName, version: str, values: dict[str, Any], kinds: dict[str, str]
) -> None:
    assert {found.path: found.kind for found in findings(chart, version, values)} == kinds


@pytest.mark.parametrize(
    ("chart", "version", "values", "path", "remedy"),
    [
        ("gpu-operator", "v26.3.3", {"drivers": {"enabled": False}}, "drivers", "write driver if that is meant"),
        (
            "gpu-operator",
            "v26.3.3",
            {"driver": {"enable": False}},
            "driver.enable",
            "write driver.enabled if that is meant",
        ),
        ("network-operator", "26.4.1", {"operator": {"qqq": 1}}, "operator.qqq", "leave it out"),
        (
            "spiderpool",
            "1.2.2",
            {"multus": {"multusCni": {"install": False}}},
            "multus.multusCni",
            "write multus.multusCNI if that is meant",
        ),
    ],
)
def test_a_mistyped_key_is_found_two_levels_deep_with_the_nearest_known_one(
    chart: ChartName, version: str, values: dict[str, Any], path: str, remedy: str
) -> None:
    (found,) = findings(chart, version, values)

    assert (found.path, found.kind, found.severity) == (path, "unknown", "warning")
    assert found.remedy.startswith(remedy)


@pytest.mark.parametrize(
    ("chart", "version", "values"),
    [
        ("gpu-operator", "v26.3.3", {"daemonsets": {"labels": {"team": "vision"}}}),
        ("gpu-operator", "v26.3.3", {"node-feature-discovery": {"featureGates": {"NodeFeatureGroupAPI": True}}}),
        ("network-operator", "26.4.1", {"sriov-network-operator": {"supportedExtraNICs": []}}),
        ("network-operator", "26.4.1", {"global": {"imagePullSecrets": ["mirror"]}}),
        ("network-operator", "26.4.1", {"imagePullSecrets": ["mirror"], "upgradeCRDs": False}),
        ("gpu-operator", "v25.10.0", {"anything": True}),
    ],
)
def test_free_names_subcharts_and_versions_without_a_table_are_left_alone(
    chart: ChartName, version: str, values: dict[str, Any]
) -> None:
    assert findings(chart, version, values) == []


@pytest.mark.parametrize(
    ("chart", "version", "values", "remedy"),
    [
        (
            "network-operator",
            "26.4.1",
            {"sriov-network-operator": {"sriovOperatorConfig": {"enableInjector": True}}},
            "write sriov-network-operator.operator.admissionControllers.enabled",
        ),
        ("spiderpool", "1.2.2", {"coordinator": {"detectGateway": True}}, "write ipam.enableGatewayDetection"),
        (
            "spiderpool",
            "1.2.2",
            {"spiderpoolController": {"cleanup": {"enabled": False}}},
            "write spiderpoolController.cleanup.enable",
        ),
    ],
)
def test_a_key_without_effect_names_the_one_that_has_it(
    chart: ChartName, version: str, values: dict[str, Any], remedy: str
) -> None:
    (found,) = findings(chart, version, values)

    assert (found.kind, found.remedy) == ("ignored", remedy)


def test_a_finding_names_the_version_that_made_the_change() -> None:
    (found,) = findings("network-operator", "26.4.1", {"deployCR": True})

    assert (found.version, found.why) == ("24.10", "the chart makes no NicClusterPolicy any more")


@pytest.mark.parametrize("name", catalog().releases)
def test_no_line_sets_a_value_that_its_own_charts_drop(name: str) -> None:
    charts = catalog().releases[name].charts

    assert {chart: findings(chart, found.version, found.values) for chart, found in charts.items()} == {
        chart: [] for chart in charts
    }


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


def test_every_history_says_why_what_to_do_and_whence() -> None:
    assert all(row.why and row.remedy and row.source for row in catalog().chart_keys.rows)


def test_a_history_without_a_version_is_refused() -> None:
    row = catalog().chart_keys.rows[0].model_dump() | {"removed_in": None}

    with pytest.raises(ValidationError, match="give addedIn, removedIn or ignoredIn"):
        ChartKey.model_validate(row)
