"""Our values against the real charts' values files: a key that those do not have would be ignored in silence."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from chart_values import LAST_PUBLIC_CANDIDATE, NOT_AT_HAND, files, upstream_version
from feature_discovery import MASTER, WORKER
from upstream_definitions import UPSTREAM

from gpu_fabric.catalog import ChartName, catalog
from gpu_fabric.prepare import plan_spec
from gpu_fabric.spec.load import load_stack

ROOT = Path(__file__).resolve().parents[2]
STACKS = sorted(
    path for folder in (ROOT, ROOT / "examples", ROOT / "tests" / "stacks") for path in folder.glob("Pulumi.*.yaml")
)

CANDIDATES = "nvstaging"

# The OKE guide's command sets a key that its chart had lost already; the line keeps to the guide.
LOST_ALREADY = {("network-operator", "23.10.0"): ["nvPeerDriver"]}

KNOWN = sorted(
    (chart, version)
    for chart, tables in catalog().chart_keys.known_keys.items()
    for version in tables
    if chart not in NOT_AT_HAND
)

UpstreamValues = Callable[[str, str], dict[str, Any]]


def unknown_keys(ours: Mapping[str, Any], theirs: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Paths of ours that theirs does not have; below an empty map of theirs, and as a node's label, everything goes."""
    for key, value in ours.items():
        where = f"{path}.{key}" if path else key
        if key not in theirs:
            yield where
        elif isinstance(value, Mapping) and not isinstance(theirs[key], Mapping):
            yield f"{where} (a value there)"
        elif isinstance(value, Mapping) and theirs[key] and not key.lower().endswith("nodeselector"):
            yield from unknown_keys(value, theirs[key], where)


def other_defaults(ours: Mapping[str, Any], theirs: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Paths whose default differs between a stand-in and the real chart."""
    for key, value in ours.items():
        where = f"{path}.{key}" if path else key
        if isinstance(value, Mapping) and isinstance(theirs[key], Mapping) and value:
            yield from other_defaults(value, theirs[key], where)
        elif as_data(value) != as_data(theirs[key]):
            yield f"{where}: {value!r}, upstream {theirs[key]!r}"


def as_data(value: Any) -> Any:
    """A value; of one that is a file of YAML the content, without comments."""
    return yaml.safe_load(value) if isinstance(value, str) and "\n" in value else value


@pytest.mark.parametrize("file", STACKS, ids=lambda file: str(file.relative_to(ROOT)))
def test_every_value_that_a_committed_stack_sets_exists_in_the_real_chart(
    file: Path, upstream_values: UpstreamValues
) -> None:
    plan = plan_spec(load_stack(file.name.removeprefix("Pulumi.").removesuffix(".yaml"), file.parent))
    charts = {(release.name, release.chart.version): release.values for release in plan.releases}
    unknown = {
        (name, version): list(unknown_keys(values, upstream_values(name, upstream_version(name, version))))
        for (name, version), values in charts.items()
        if name not in NOT_AT_HAND
    }
    lost = {chart: keys for chart, keys in LOST_ALREADY.items() if chart in charts}
    assert {chart: keys for chart, keys in unknown.items() if keys} == lost


def test_a_misspelt_key_would_be_seen(upstream_values: UpstreamValues) -> None:
    misspelt = {"driver": {"enable": False}, "toolkit": {"enabled": True}}
    assert list(unknown_keys(misspelt, upstream_values("gpu-operator", "v26.3.3"))) == ["driver.enable"]


@pytest.mark.parametrize(
    ("chart", "version"),
    [
        ("gpu-operator", "v26.7.0"),
        ("gpu-operator", "v26.3.3"),
        ("gpu-operator", "v25.10.1"),
        ("gpu-operator", "v23.9.1"),
        ("network-operator", "26.7.0-rc.2"),
        ("network-operator", "26.4.1"),
        ("network-operator", "26.1.2"),
        ("network-operator", "23.10.0-rc.5"),
    ],
)
def test_the_real_charts_configure_node_feature_discovery_as_its_tests_do(
    chart: str, version: str, upstream_values: UpstreamValues
) -> None:
    theirs = upstream_values(chart, version)["node-feature-discovery"]
    assert (theirs["worker"]["config"], theirs["master"]["config"]) == (WORKER[chart], MASTER)


@pytest.mark.parametrize(("file", "text"), files().items() if UPSTREAM.is_dir() else (), ids=str)
def test_what_the_catalog_knows_of_values_is_written_from_the_charts_own(file: Path, text: str) -> None:
    assert file.read_text(encoding="utf-8") == text, "run `make upstream`"


@pytest.mark.parametrize(("chart", "version"), KNOWN)
def test_the_real_charts_own_values_hold_no_key_that_is_said_to_be_gone_or_yet_to_come(
    chart: ChartName, version: str, upstream_values: UpstreamValues
) -> None:
    theirs = upstream_values(chart, upstream_version(chart, version))
    found = catalog().chart_keys.key_findings(chart, version, theirs)
    # A key without effect is still there, or nobody would write it.
    assert [problem for problem in found if problem.kind != "ignored"] == []


@pytest.mark.parametrize("line", catalog().releases)
def test_every_value_that_a_release_line_always_sets_exists_in_the_real_chart(
    line: str, upstream_values: UpstreamValues
) -> None:
    charts = catalog().releases[line].charts
    unknown = {
        name: list(unknown_keys(chart.values, upstream_values(name, upstream_version(name, chart.version))))
        for name, chart in charts.items()
        if name not in NOT_AT_HAND
    }
    assert not any(unknown.values())


def test_the_operand_images_of_23_10_are_those_of_the_real_charts_own_values(upstream_values: UpstreamValues) -> None:
    theirs = upstream_values("network-operator", LAST_PUBLIC_CANDIDATE["network-operator", "23.10.0"])
    images = catalog().releases["23.10"].images
    sections = {**theirs, **theirs["secondaryNetwork"]}
    # The chart brings no CNI plug-in of an interface kind; those images are the stack's own choice.
    of_the_chart = [name for name in images.names if name not in ("sriovCni", "ibSriovCni", "rdmaCni")]
    assert {name: images.image(name).model_dump() for name in of_the_chart} == {
        name: {key: sections[name][key].replace(CANDIDATES, "nvidia") for key in ("repository", "version", "image")}
        for name in of_the_chart
    }
