"""The table of upgrades: the vendor's order of lines, and what comes with the versions between two of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gpu_fabric.catalog import catalog
from gpu_fabric.catalog.release import OF_THE_VENDOR, newest_line
from gpu_fabric.catalog.upgrade import vendor_line
from gpu_fabric.catalog.version import Version

ROOT = Path(__file__).parents[3]
TABLE = catalog().upgrades
LINES = catalog().releases


@pytest.mark.parametrize("chart", OF_THE_VENDOR)
def test_the_vendors_lines_are_in_their_order_and_hold_every_line_of_ours(chart: str) -> None:
    order = TABLE.lines[chart]

    assert sorted(order, key=Version.parse) == list(order)
    assert {vendor_line(line.charts[chart].version) for line in LINES.values()} <= {*order}


@pytest.mark.parametrize("chart", OF_THE_VENDOR)
def test_the_definitions_of_every_chart_that_a_line_pins_are_compared(chart: str) -> None:
    assert {*TABLE.definitions[chart]} == {line.charts[chart].version for line in LINES.values()}


@pytest.mark.parametrize(
    ("chart", "old", "new", "left_out"),
    [
        ("network-operator", "26.4.1", "26.7.0", ()),
        ("network-operator", "26.1.2", "26.4.1", ()),
        ("network-operator", "26.1.2", "26.7.0", ("26.4",)),
        ("gpu-operator", "v25.10.1", "v26.3.3", ()),
        ("gpu-operator", "v23.9.1", "v25.10.1", ("24.3", "24.6", "24.9", "25.3")),
        # By number, not by text.
        ("network-operator", "24.7.0", "25.1.0", ("24.10",)),
    ],
)
def test_a_hop_leaves_out_what_the_vendor_has_between(
    chart: str, old: str, new: str, left_out: tuple[str, ...]
) -> None:
    assert TABLE.skipped(chart, old, new) == left_out


def test_a_fact_counts_after_its_older_version_up_to_its_own() -> None:
    def found(old: str, new: str) -> list[str]:
        return [str(fact.since) for fact in TABLE.facts_between("gpu-operator", old, new, ())]

    assert found("v25.3.0", "v25.10.1") == ["25.10"]
    assert found("v25.10.0", "v25.10.1") == []
    assert found("v23.9.1", "v25.3.0") == ["24.9", "25.3"]


def test_a_fact_about_an_image_concerns_only_stacks_that_run_it() -> None:
    def texts(images: tuple[str, ...]) -> str:
        return " ".join(fact.what for fact in TABLE.facts_between("gpu-operator", "v26.3.3", "v26.7.0", images))

    assert "595" not in texts(())
    assert "595" in texts(("driver",))


def test_definitions_over_several_versions_are_named_once_and_new_ones_are_not_changed() -> None:
    found = TABLE.definitions_between("network-operator", "26.1.2", "26.7.0")

    assert "nicnodepolicies.mellanox.com" in found.new
    assert "nicnodepolicies.mellanox.com" not in found.changed
    assert found.changed["nicclusterpolicies.mellanox.com"].adds == (
        "spec.global",
        "spec.spectrumXOperator.xPlane",
        "status.conditions",
    )


def test_every_template_of_a_new_project_writes_the_newest_line() -> None:
    programs = [path for path in (ROOT / "templates").glob("*/*") if "software" in path.read_text(encoding="utf-8")]
    written = {
        path.parent.name: re.findall(r'releaseLine: "([0-9.]+)"|"releaseLine": "([0-9.]+)"', path.read_text())
        for path in programs
    }

    assert {name: {"".join(found) for found in lines} for name, lines in written.items()} == {
        folder.name: {newest_line(LINES)} for folder in (ROOT / "templates").iterdir() if folder.is_dir()
    }
