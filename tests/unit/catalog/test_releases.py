"""Release lines: what belongs together, what is refused, and the versions that decide it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from gpu_fabric.catalog import ChartName, Component, ReleaseLine, catalog
from gpu_fabric.catalog.release import Needed
from gpu_fabric.catalog.version import Version, VersionRange

ROOT = Path(__file__).parents[3]
LINES = tuple(catalog().releases.values())
EXACT = re.compile(r"v?\d+\.\d+\.\d+")


def line(name: str) -> ReleaseLine:
    return catalog().releases[name]


def written(text: str) -> dict[str, Any]:
    return line(text).model_dump()


@pytest.mark.parametrize("found", LINES, ids=lambda found: found.name)
def test_a_line_pins_exact_versions_each_in_a_namespace_of_its_own(found: ReleaseLine) -> None:
    namespaces = [chart.namespace for chart in found.charts.values()]

    assert [chart.version for chart in found.charts.values() if not EXACT.fullmatch(chart.version)] == []
    assert len(set(namespaces)) == len(namespaces)
    assert set(namespaces).isdisjoint({"default", "kube-system", "kube-public", "kube-node-lease"})


@pytest.mark.parametrize("found", LINES, ids=lambda found: found.name)
def test_every_line_says_what_the_vendor_says_of_it_and_whence(found: ReleaseLine) -> None:
    states = {"26.7": "supported", "26.4": "deprecated", "26.1": "ended", "23.10": "ended"}

    assert found.support.state == states[found.name]
    assert found.support.source


def test_the_newest_line_says_that_its_release_was_read_in_a_candidate() -> None:
    assert "26.7.0-rc.2" in " ".join(line("26.7").notes)


def test_the_charts_of_26_7_refuse_a_server_that_those_of_26_4_install_on() -> None:
    asked = ["gpu-operator", "network-operator"]
    (refused,) = line("26.7").unmet(asked, {"kubernetes": "1.31.9"})

    assert (refused.component, refused.severity) == ("network-operator", "error")
    assert line("26.4").unmet(asked, {"kubernetes": "1.31.9"}) == ()


@pytest.mark.parametrize("found", LINES, ids=lambda found: found.name)
def test_no_line_asks_for_a_prometheus_operator(found: ReleaseLine) -> None:
    # On by default in the GPU Operator's chart since 26.7.
    monitor = found.charts["gpu-operator"].values.get("dcgmExporter", {"serviceMonitor": {"enabled": False}})
    assert monitor == {"serviceMonitor": {"enabled": False}}


@pytest.mark.parametrize("found", LINES, ids=lambda found: found.name)
def test_the_network_operators_chart_brings_no_second_node_feature_discovery(found: ReleaseLine) -> None:
    # The GPU Operator's chart has one by default.
    assert found.charts["gpu-operator"].values.get("nfd", {"enabled": True}) == {"enabled": True}
    nfd = found.charts["network-operator"].values["nfd"]
    assert isinstance(nfd, dict)
    assert nfd["enabled"] is False


def test_the_page_on_release_lines_has_every_lines_versions_and_state() -> None:
    rows = [
        [cell.strip() for cell in row.strip("|").split("|")]
        for row in (ROOT / "docs/releases.md").read_text(encoding="utf-8").splitlines()
        if row.startswith("| ")
    ]
    table = {row[0]: row[1:] for row in rows if len(row) == len(LINES) + 1}
    header = next(cells for name, cells in table.items() if not name)

    assert [cell.partition(",")[0] for cell in header] == [found.name for found in LINES]
    assert table["NVIDIA's support"] == [found.support.state for found in LINES]
    for title, chart in (("GPU Operator", "gpu-operator"), ("Network Operator", "network-operator")):
        assert table[title] == [found.charts[chart].version for found in LINES]
    drivers = table["network drivers in a container (DOCA-OFED)"]
    assert drivers == [found.images.image("ofedDriver").version for found in LINES]


def test_a_line_whose_chart_makes_the_policy_itself_says_so() -> None:
    old = line("23.10")

    assert (old.policy_by, old.charts["network-operator"].values["deployCR"]) == ("chart", True)
    assert "creates the NicClusterPolicy itself" in old.notes[0]
    assert line("26.4").policy_by == "stack"


def test_node_policies_come_with_26_4_and_an_sriov_operator_that_its_chart_sets_up_with_26_1() -> None:
    assert {row.name: (row.nic_node_policies, row.sriov_operator) for row in LINES} == {
        "26.7": (True, True),
        "26.4": (True, True),
        "26.1": (False, True),
        "23.10": (False, False),
    }


def test_gpus_are_reached_by_dma_buf_but_in_the_guides_line_by_its_module() -> None:
    assert {row.name: row.gpu_direct.default for row in LINES} == {
        "26.7": "dma-buf",
        "26.4": "dma-buf",
        "26.1": "dma-buf",
        "23.10": "peermem",
    }
    assert all(row.gpu_direct.why and row.gpu_direct.source for row in LINES)


@pytest.mark.parametrize("found", LINES, ids=lambda found: found.name)
def test_every_plug_in_that_no_operator_brings_has_an_image_in_every_line(found: ReleaseLine) -> None:
    plugins: tuple[Component, ...] = ("sriovCni", "ibSriovCni", "rdmaCni")

    assert [found.images.image(plugin).image for plugin in plugins] == ["sriov-cni", "ib-sriov-cni", "rdma-cni"]
    assert found.standalone["hostPreparation"].image is not None


@pytest.mark.parametrize(
    ("name", "component", "reference"),
    [
        ("26.7", "ofedDriver", "nvcr.io/nvidia/mellanox/doca-driver:doca3.5.0-26.07-0.7.7.0-0"),
        ("26.7", "nvIpam", "nvcr.io/nvidia/mellanox/nvidia-k8s-ipam:network-operator-v26.7.0"),
        ("26.1", "ofedDriver", "nvcr.io/nvidia/mellanox/doca-driver:doca3.3.0-26.01-1.0.0.0-0"),
        (
            "26.4",
            "rdmaSharedDevicePlugin",
            "nvcr.io/nvidia/mellanox/k8s-rdma-shared-dev-plugin:network-operator-v26.4.1",
        ),
        ("26.4", "ipoib", "nvcr.io/nvidia/mellanox/ipoib-cni:network-operator-v26.4.1"),
        ("23.10", "nvIpam", "ghcr.io/mellanox/nvidia-k8s-ipam:v0.1.1"),
        ("23.10", "multus", "ghcr.io/k8snetworkplumbingwg/multus-cni:v3.9.3"),
        ("23.10", "ipoib", "nvcr.io/nvidia/cloud-native/ipoib-cni:v1.1.0"),
    ],
)
def test_a_components_image_is_the_lines_own(name: str, component: Component, reference: str) -> None:
    assert line(name).images.image(component).reference == reference


@pytest.mark.parametrize("found", LINES, ids=lambda found: found.name)
def test_multus_for_clusters_without_an_operator_is_a_pinned_thick_image_with_memory(found: ReleaseLine) -> None:
    multus = found.standalone["multus"]

    assert multus.image is not None
    assert multus.image.reference == "ghcr.io/k8snetworkplumbingwg/multus-cni:v4.3.0-thick"
    assert multus.memory == "512Mi"


@pytest.mark.parametrize("found", LINES, ids=lambda found: found.name)
def test_digitaloceans_plug_in_for_routed_rails_is_pinned_in_every_line(found: ReleaseLine) -> None:
    image = found.standalone["ipPreservingHostDevice"].image

    assert image is not None
    assert image.reference == "ghcr.io/digitalocean-packages/ip-preserving-host-device:v1.0.0"


def test_whereabouts_has_a_chart_of_its_own_where_the_policy_no_longer_brings_it() -> None:
    assert [found.name for found in LINES if "whereabouts" in found.charts] == ["26.7", "26.4", "26.1"]

    chart = line("26.4").charts["whereabouts"]
    # By itself the chart would put everything into kube-system.
    assert (chart.chart, chart.values["namespaceOverride"]) == ("whereabouts-chart", chart.namespace)


def test_the_vendors_test_images_are_known_by_their_versions() -> None:
    newest = line("26.4").nccl_tests[0]

    assert (newest.platform, str(newest.nccl)) == ("CUDA 13.3.0", "2.30.4")
    assert {row.vendor for row in line("26.4").nccl_tests} == {"nvidia", "amd"}


@pytest.mark.parametrize(
    ("name", "smallest", "gateway", "cidr_pools"),
    [("26.7", 1, False, True), ("26.4", 1, False, True), ("26.1", 1, False, True), ("23.10", 2, True, False)],
)
def test_a_line_says_what_its_nv_ipam_can_do(name: str, smallest: int, gateway: bool, cidr_pools: bool) -> None:
    found = line(name)

    assert (found.nv_ipam_smallest_block, found.nv_ipam_needs_gateway) == (smallest, gateway)
    assert found.nv_ipam_cidr_pools == cidr_pools


@pytest.mark.parametrize(
    ("name", "text"), [("26.7", ">=1.32"), ("26.4", ">=1.31,<1.36"), ("26.1", ">=1.21"), ("23.10", ">=1.21,<1.28")]
)
def test_a_line_says_on_which_kubernetes_its_operators_run(name: str, text: str) -> None:
    assert str(line(name).kubernetes) == text


@pytest.mark.parametrize("found", LINES, ids=lambda found: found.name)
def test_a_lines_own_charts_meet_each_others_needs(found: ReleaseLine) -> None:
    present: dict[Needed, str] = {
        "gpu-operator": found.charts["gpu-operator"].version,
        "network-operator": found.charts["network-operator"].version,
    }

    assert found.unmet(list(found.charts), present) == ()


@pytest.mark.parametrize(
    ("kubernetes", "refused"),
    [
        ("1.30.14", ["network-operator"]),
        ("1.31.0", []),
        ("v1.35.6-do.0", []),
        ("1.36.1-do.0", ["network-operator"]),
        ("1.20.1", ["network-operator", "network-operator", "spiderpool"]),
    ],
)
def test_a_kubernetes_outside_the_range_is_named_with_the_chart_it_does_not_suit(
    kubernetes: str, refused: list[str]
) -> None:
    unmet = line("26.4").unmet(["gpu-operator", "network-operator", "spiderpool"], {"kubernetes": kubernetes})

    assert [row.component for row in unmet] == refused


def test_needs_of_charts_that_are_not_installed_do_not_count() -> None:
    assert line("26.4").unmet(["spiderpool"], {"kubernetes": "1.30.0", "gpu-operator": "v24.9.0"}) == ()


def test_old_definitions_of_spiderpools_kinds_are_refused() -> None:
    installed: list[ChartName] = ["spiderpool"]
    (row,) = line("26.4").unmet(installed, {"spiderpool-crds": "1.2.0"})

    assert (row.severity, row.needs) == ("error", "spiderpool-crds")
    assert "never upgrades them" in row.why


@pytest.mark.parametrize("found", LINES, ids=lambda found: found.name)
def test_every_need_and_every_standalone_part_says_why_and_whence(found: ReleaseLine) -> None:
    assert all(row.why and row.source for row in found.needs)
    assert all(part.why and part.source for part in found.standalone.values())


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"images": {"names": {"nvIpam": "nvidia-k8s-ipam"}}}, "no repository or no version: nvIpam"),
        (
            {"images": {"names": {}, "own": {"ipoib": {"repository": "r", "version": "v"}}}},
            "a place but no image name: ipoib",
        ),
    ],
)
def test_a_line_with_an_image_that_cannot_be_pulled_is_refused(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(reason)):
        ReleaseLine.model_validate(written("26.4") | change)


def test_candidates_come_before_their_release_and_a_leading_v_means_nothing() -> None:
    order = ["23.9.1", "23.10.0-beta.1", "23.10.0-rc.1", "v23.10.0-rc.5", "23.10.0", "v24.1.0", "24.10"]

    assert sorted(reversed(order), key=Version.parse) == order
    assert Version.parse("v24.10.0") == Version.parse("24.10")


@pytest.mark.parametrize("text", ["1.35.1-do.6", "v1.35.1-eks-1a2b3c", "1.35.1+k3s1"])
def test_a_vendors_suffix_is_no_candidate(text: str) -> None:
    assert text in VersionRange.parse(">=1.35.1,<1.36")


@pytest.mark.parametrize(
    ("version", "inside"), [("1.30.9", False), ("1.31", True), ("1.35.99", True), ("1.36.0-rc.1", False)]
)
def test_a_range_holds_its_lowest_version_and_not_its_limit_nor_the_limits_candidates(
    version: str, inside: bool
) -> None:
    assert (version in VersionRange.parse(">=1.31,<1.36")) == inside


@pytest.mark.parametrize("text", ["1.31-1.35", ">1.31", ">=1.31,>=1.32", ">=1.36,<1.31", "", ">=new"])
def test_a_range_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a valid range|holds no version|is not a valid version"):
        VersionRange.parse(text)
