"""The table of upgrades: the vendor's order of lines, and what comes with the versions between two of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gpu_fabric.catalog import catalog
from gpu_fabric.catalog.release import OF_THE_VENDOR, newest_line
from gpu_fabric.catalog.upgrade import SupportState, vendor_line
from gpu_fabric.catalog.version import Version

ROOT = Path(__file__).parents[3]
TABLE = catalog().upgrades
LINES = catalog().releases


@pytest.mark.parametrize("chart", OF_THE_VENDOR)
def test_the_vendors_lines_are_in_their_order_and_hold_every_line_of_ours(chart: str) -> None:
    order = TABLE.lines[chart].order

    assert sorted(order, key=Version.parse) == list(order)
    assert {vendor_line(line.charts[chart].version) for line in LINES.values()} <= {*order}


@pytest.mark.parametrize(
    ("chart", "states"),
    [
        # Its 26.10.0 is out.
        ("network-operator", {"26.10.0": "supported", "26.7.1": "deprecated", "26.4.1": "ended", "23.10.0": "ended"}),
        ("gpu-operator", {"v26.7.2": "supported", "v26.3.3": "deprecated", "v25.10.1": "ended", "v23.9.1": "ended"}),
    ],
)
def test_the_newest_line_of_the_vendor_is_supported_the_one_before_deprecated_and_all_earlier_ended(
    chart: str, states: dict[str, SupportState]
) -> None:
    assert {version: TABLE.lines[chart].state(version) for version in states} == states


def test_a_new_line_of_the_vendor_moves_the_states_of_all_others() -> None:
    lines = TABLE.lines["gpu-operator"]
    newer = lines.model_copy(update={"order": (*lines.order, "26.10")})

    states = [newer.state(version) for version in ("v26.10.1", "v26.7.0", "v26.3.3")]
    assert states == ["supported", "deprecated", "ended"]


@pytest.mark.parametrize("chart", OF_THE_VENDOR)
def test_a_release_that_no_line_has_is_named_with_what_is_missing_of_it(chart: str) -> None:
    lines, versions = TABLE.lines[chart], [line.charts[chart].version for line in LINES.values()]
    pinned = {vendor_line(version): version for version in versions}
    newest = LINES[newest_line(LINES)].charts[chart].version

    assert [line for line in lines.newer(newest) if line not in TABLE.named_only(line)] == []
    assert [name for name in lines.by_name if vendor_line(name) not in lines.order] == []
    older = [(name, pinned.get(vendor_line(name), "0")) for name in lines.by_name]
    assert [name for name, ours in older if Version.parse(name) <= Version.parse(ours)] == []


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


# A program or template: how it writes the line, in each language.
_WRITTEN = re.compile(
    r"""(?:releaseLine["']?:|release_line=|ReleaseLine:) *(?:pulumi\.StringRef\()?["']([0-9.]+)["']"""
)
GUIDE = next(name for name, line in LINES.items() if line.policy_by == "chart")
PROGRAMS = [
    path
    for folder in ("templates", "examples/components")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in (".py", ".ts", ".go", ".yaml")
    and re.search(
        "GpuFabric|GpuCluster|NetworkOperator|GpuOperator|gpu-fabric:software", path.read_text(encoding="utf-8")
    )
]


@pytest.mark.parametrize("path", [*PROGRAMS, ROOT / "README.md"], ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_program_template_and_first_stack_writes_the_newest_line_or_the_guides(path: Path) -> None:
    assert {*_WRITTEN.findall(path.read_text(encoding="utf-8"))} - {GUIDE} in ({newest_line(LINES)}, set())


@pytest.mark.parametrize(
    "folder", [path for path in (ROOT / "templates").iterdir() if path.is_dir()], ids=lambda path: path.name
)
def test_every_template_of_a_new_project_writes_a_line(folder: Path) -> None:
    assert any(_WRITTEN.search(path.read_text(encoding="utf-8")) for path in PROGRAMS if folder in path.parents)
