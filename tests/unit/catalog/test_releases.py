"""Release lines: what belongs together, what is refused, and the versions that decide it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from gpu_fabric.catalog import ChartName, catalog
from gpu_fabric.catalog.release import Needed, ReleaseLine
from gpu_fabric.catalog.version import Version, VersionRange

ROOT = Path(__file__).parents[3]
LINES = tuple(catalog().releases.values())
_NVIDIA: list[ChartName] = ["gpu-operator", "network-operator"]
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
def test_no_line_asks_for_a_prometheus_operator(found: ReleaseLine) -> None:
    # On by default in the GPU Operator's chart since 26.7.
    monitor = found.charts["gpu-operator"].values.get("dcgmExporter", {"serviceMonitor": {"enabled": False}})
    assert monitor == {"serviceMonitor": {"enabled": False}}


def test_the_page_on_release_lines_has_every_lines_versions_and_state() -> None:
    text = (ROOT / "docs/releases.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in text.splitlines() if row.startswith("| ")]
    table = {row[0]: row[1:] for row in rows if len(row) == len(LINES) + 1}
    header = next(cells for name, cells in table.items() if not name)

    assert [cell.partition(",")[0] for cell in header] == [found.name for found in LINES]
    newer: list[list[str]] = [[] for _ in LINES]
    for title, chart in (("GPU Operator", "gpu-operator"), ("Network Operator", "network-operator")):
        versions, vendor = [found.charts[chart].version for found in LINES], catalog().upgrades.lines[chart]
        assert table[title] == versions
        assert table[f"NVIDIA's support of the {title}"] == [vendor.state(version) for version in versions]
        assert f"as of {vendor.as_of}" in text
        for cell, version in zip(newer, versions, strict=True):
            cell += vendor.patches(version)
    assert table["newer patch releases, known by name only"] == [", ".join(cell) or "\N{EN DASH}" for cell in newer]
    drivers = table["network drivers in a container (DOCA-OFED)"]
    assert drivers == [found.images.image("ofedDriver").version for found in LINES]


def test_gpus_are_reached_by_dma_buf_but_in_the_guides_line_by_its_module() -> None:
    assert {row.name: row.gpu_direct.default for row in LINES} == {
        **dict.fromkeys(("26.7", "26.4", "26.1"), "dma-buf"),
        "23.10": "peermem",
    }


@pytest.mark.parametrize("found", LINES, ids=lambda found: found.name)
def test_a_lines_own_charts_meet_each_others_needs(found: ReleaseLine) -> None:
    present: dict[Needed, str] = {
        "gpu-operator": found.charts["gpu-operator"].version,
        "network-operator": found.charts["network-operator"].version,
    }

    assert found.unmet(list(found.charts), present) == ()


@pytest.mark.parametrize(
    ("name", "charts", "present", "refused"),
    [
        ("26.7", _NVIDIA, {"kubernetes": "1.31.9"}, ["network-operator"]),
        ("26.4", _NVIDIA, {"kubernetes": "1.31.9"}, []),
        ("26.4", _NVIDIA, {"kubernetes": "1.30.14"}, ["network-operator"]),
        ("26.4", _NVIDIA, {"kubernetes": "v1.35.6-do.0"}, []),
        ("26.4", _NVIDIA, {"kubernetes": "1.36.1-do.0"}, ["network-operator"]),
        # Needs of charts that are not installed do not count.
        ("26.4", ["spiderpool"], {"kubernetes": "1.30.0", "gpu-operator": "v24.9.0"}, []),
        ("26.4", ["spiderpool"], {"kubernetes": "1.20.1", "spiderpool-crds": "1.2.0"}, ["spiderpool"] * 2),
    ],
)
def test_what_does_not_suit_a_chart_is_named_with_it(
    name: str, charts: list[ChartName], present: dict[Needed, str], refused: list[str]
) -> None:
    assert [row.component for row in line(name).unmet(charts, present)] == refused


def test_candidates_come_before_their_release_and_a_leading_v_means_nothing() -> None:
    order = ["23.9.1", "23.10.0-beta.1", "23.10.0-rc.1", "v23.10.0-rc.5", "23.10.0", "v24.1.0", "24.10"]

    assert sorted(reversed(order), key=Version.parse) == order
    assert Version.parse("v24.10.0") == Version.parse("24.10")


# A vendor's suffix makes no candidate of a version.
@pytest.mark.parametrize("version", ["1.31", "1.35.99", "1.35.1-do.6", "v1.35.1-eks-1a2b3c", "1.35.1+k3s1"])
def test_a_range_holds_its_lowest_version_and_vendors_builds(version: str) -> None:
    assert version in VersionRange.parse(">=1.31,<1.36")


@pytest.mark.parametrize("version", ["1.30.9", "1.36.0", "1.36.0-rc.1"])
def test_a_range_holds_neither_its_limit_nor_the_limits_candidates(version: str) -> None:
    assert version not in VersionRange.parse(">=1.31,<1.36")


@pytest.mark.parametrize("text", ["1.31-1.35", ">1.31", ">=1.31,>=1.32", ">=1.36,<1.31", "", ">=new"])
def test_a_range_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a valid range|holds no version|is not a valid version"):
        VersionRange.parse(text)
