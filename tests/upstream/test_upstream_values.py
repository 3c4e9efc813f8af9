"""Our values against the real charts' values files: a key that those do not have would be ignored in silence."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from fabric.plan import build
from fabric.spec import load_stack

ROOT = Path(__file__).resolve().parents[2]
STACKS = sorted(
    path.name.removeprefix("Pulumi.").removesuffix(".yaml")
    for folder in (ROOT, ROOT / "examples")
    for path in folder.glob("Pulumi.*.yaml")
)
STAND_INS = ("gpu-operator", "network-operator")

UpstreamValues = Callable[[str, str], dict[str, Any]]


def unknown_keys(ours: Mapping[str, Any], theirs: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Paths of ours that theirs does not have; below an empty map of theirs everything goes."""
    for key, value in ours.items():
        where = f"{path}.{key}" if path else key
        if key not in theirs:
            yield where
        elif isinstance(value, Mapping) and not isinstance(theirs[key], Mapping):
            yield f"{where} (a value there)"
        elif isinstance(value, Mapping) and theirs[key]:
            yield from unknown_keys(value, theirs[key], where)


def other_defaults(ours: Mapping[str, Any], theirs: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Paths whose default differs between a stand-in and the real chart."""
    for key, value in ours.items():
        where = f"{path}.{key}" if path else key
        if isinstance(value, Mapping) and isinstance(theirs[key], Mapping) and value:
            yield from other_defaults(value, theirs[key], where)
        elif value != theirs[key]:
            yield f"{where}: {value!r}, upstream {theirs[key]!r}"


@pytest.mark.parametrize("stack", STACKS)
def test_every_value_that_a_committed_stack_sets_exists_in_the_real_chart(
    stack: str, upstream_values: UpstreamValues
) -> None:
    plan = build(load_stack(stack, ROOT))
    unknown = {
        release.name: list(unknown_keys(release.values, upstream_values(release.chart.name, release.chart.version)))
        for release in (plan.gpu_operator, plan.network_operator)
    }
    assert unknown == {"gpu-operator": [], "network-operator": []}


@pytest.mark.parametrize("chart", STAND_INS)
def test_a_stand_in_has_only_values_of_the_real_chart_with_its_defaults(
    chart: str, upstream_values: UpstreamValues
) -> None:
    folder = ROOT / "sandbox" / "charts" / chart
    version = yaml.safe_load((folder / "Chart.yaml").read_text())["version"]
    ours = yaml.safe_load((folder / "values.yaml").read_text())
    theirs = upstream_values(chart, version)
    assert list(unknown_keys(ours, theirs)) == []
    assert list(other_defaults(ours, theirs)) == []


def test_a_misspelt_key_would_be_seen(upstream_values: UpstreamValues) -> None:
    misspelt = {"driver": {"enable": False}, "toolkit": {"enabled": True}}
    assert list(unknown_keys(misspelt, upstream_values("gpu-operator", "v26.3.3"))) == ["driver.enable"]
