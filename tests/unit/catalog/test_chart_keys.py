"""Chart values that the chart would drop: found by name, version and nearest known key."""

from __future__ import annotations

from typing import Any

import pytest
from rows import rows

from gpu_fabric.catalog import ChartName, catalog
from gpu_fabric.catalog.chart import KeyProblem
from gpu_fabric.catalog.version import Version


def findings(chart: ChartName, version: str, values: dict[str, Any]) -> list[KeyProblem]:
    return catalog().chart_keys.key_findings(chart, version, values)


# Chart, version and values; what is wrong by key, with the beginning of the remedy where it names another key.
KEYS: list[tuple[ChartName, str, dict[str, Any], dict[str, str]]] = rows(__file__, "keys")


@pytest.mark.parametrize(("chart", "version", "values", "wrong"), KEYS)
def test_a_key_that_the_chart_would_drop_is_found_and_no_other(
    chart: ChartName, version: str, values: dict[str, Any], wrong: dict[str, str]
) -> None:
    found = {
        problem.path: f"{problem.severity} {problem.kind}: {problem.remedy}"
        for problem in findings(chart, version, values)
    }

    assert found.keys() == wrong.keys()
    assert all(found[path].startswith(said) for path, said in wrong.items())


@pytest.mark.parametrize("name", catalog().releases)
def test_every_chart_of_every_line_has_its_known_keys_or_the_reason_why_not(name: str) -> None:
    for chart, found in catalog().releases[name].charts.items():
        known = catalog().chart_keys.names(chart, Version.parse(found.version))
        assert bool(known) == (catalog().chart_versions[chart][found.version].unjudged is None), (chart, found.version)


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
