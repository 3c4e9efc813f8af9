"""The list of the real charts' keys that the stand-in charts do not have, against both charts' values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from chart_values import COMMENTED_OUT, values_of_file
from rendered_charts import PINNED, Values
from test_upstream_charts import UPSTREAM_VALUES
from test_upstream_values import ROOT, STACKS

from gpu_fabric.catalog import catalog
from gpu_fabric.plan.operators.releases import merged
from gpu_fabric.prepare import plan_spec
from gpu_fabric.spec.load import load_stack
from sandbox.crds import CHARTS
from sandbox.missing_keys import missing_keys

STAND_INS = sorted(str(path.parent.relative_to(CHARTS)) for path in CHARTS.glob("*/*/Chart.yaml"))
LISTED = [chart for chart in STAND_INS if chart in UPSTREAM_VALUES]


def listed(chart: str) -> list[str] | None:
    line, _, name = chart.partition("/")
    return missing_keys()[line][name]


def missing(ours: Mapping[str, Any], theirs: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Paths of theirs of which ours has nothing, and nothing below them."""
    for key, value in theirs.items():
        assert "." not in key or key in ours, f"{path}{key} needs a way to be written with its dots"
        if key not in ours:
            yield f"{path}{key}"
        elif isinstance(value, Mapping) and isinstance(ours[key], Mapping):
            yield from missing(ours[key], value, f"{path}{key}.")


def own_values(chart: str) -> Values:
    """A stand-in's values, with those of its parts under their names, as a stack file writes them."""
    parts = {path.parent.name: read(path) for path in (CHARTS / chart).glob("charts/*/values.yaml")}
    return merged(parts, read(CHARTS / chart / "values.yaml"))


def real_values(chart: str) -> Values:
    """The real chart's values, with those of its parts as far as they are at hand."""
    begin = f"{chart}/charts/"
    parts = {name.removeprefix(begin): real for name, real in UPSTREAM_VALUES.items() if name.startswith(begin)}
    below = {name: values_of_file(real) for name, real in parts.items()}
    return merged(below, values_of_file(UPSTREAM_VALUES[chart]))


def read(path: Path) -> Values:
    values: Values = yaml.safe_load(path.read_text(encoding="utf-8"))
    return values


def only_in_templates(chart: str) -> Iterator[str]:
    """The keys that only the real chart's templates have, without those that the stand-in's templates read."""
    name, version = chart.partition("/")[2], PINNED[chart].version
    templates = "".join(path.read_text(encoding="utf-8") for path in (CHARTS / chart).rglob("templates/**/*.*"))
    for key, below in COMMENTED_OUT.get((name, version), {}).items():
        for path in [f"{key}.{word}" for word in below] or [key]:
            without_effect = catalog().chart_keys.key_findings(name, version, nested(path, {}))
            if not without_effect and f".Values.{path}" not in templates:
                yield path


def nested(path: str, value: Any) -> Values:
    first, _, rest = path.partition(".")
    return {first: nested(rest, value) if rest else value}


@pytest.mark.parametrize("chart", LISTED)
def test_the_list_has_exactly_the_real_keys_that_a_stand_in_does_not_have(chart: str) -> None:
    lacked = {*missing(own_values(chart), real_values(chart)), *only_in_templates(chart)}
    said = listed(chart) or []
    assert {"not in the list": sorted(lacked - {*said}), "in the list without need": sorted({*said} - lacked)} == {
        "not in the list": [],
        "in the list without need": [],
    }
    assert said == sorted(said)


def test_the_list_says_which_charts_were_not_compared() -> None:
    found = {f"{line}/{name}": keys for line, charts in missing_keys().items() for name, keys in charts.items()}
    assert sorted(found) == STAND_INS
    assert [chart for chart in STAND_INS if found[chart] is None] == [c for c in STAND_INS if c not in LISTED]


@pytest.mark.parametrize("file", STACKS, ids=lambda file: str(file.relative_to(ROOT)))
def test_no_stack_needs_a_key_that_its_stand_in_does_not_have(file: Path) -> None:
    plan = plan_spec(load_stack(file.name.removeprefix("Pulumi.").removesuffix(".yaml"), file.parent))
    found = [
        (release.name, path)
        for release in plan.releases
        for path in listed(f"{plan.release_line}/{release.name}") or ()
        if has(release.values, path)
    ]
    assert found == []


def has(values: Any, path: str) -> bool:
    first, _, rest = path.partition(".")
    return isinstance(values, Mapping) and first in values and (not rest or has(values[first], rest))


# --- By rendering: what the values' keys say is what the templates read.
