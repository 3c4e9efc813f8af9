"""What stand-in charts render is what their definitions accept, and what they lack is refused by name."""

from typing import Any

import pytest
import yaml
from rendered_charts import TYPICAL, Helm, Values
from rows import rows
from structural_schema import refusals

from sandbox.crds import CHARTS


@pytest.fixture(scope="session")
def helm() -> Helm:
    return Helm()


def schemas(chart: str) -> dict[tuple[str, str], dict[str, Any]]:
    """The schemas of all charts of a chart's line, by group and kind; of a kind that two bring, the chart's own."""
    found = {}
    line, own = CHARTS / chart.partition("/")[0], CHARTS / chart
    for path in sorted(line.rglob("crds/*.yaml"), key=lambda path: own in path.parents):
        for spec in (document["spec"] for document in yaml.safe_load_all(path.read_text())):
            found[spec["group"], spec["names"]["kind"]] = spec["versions"][0]["schema"]["openAPIV3Schema"]
    return found


@pytest.mark.parametrize(("chart", "values"), TYPICAL)
def test_the_definitions_of_a_line_accept_what_its_charts_render(helm: Helm, chart: str, values: Values) -> None:
    known = schemas(chart)
    custom = [
        (entry, known[group, entry["kind"]])
        for entry in helm.objects(chart, values)
        if (group := entry["apiVersion"].rpartition("/")[0], entry["kind"]) in known
    ]
    assert [refusals(entry, schema) for entry, schema in custom] == [[] for _ in custom]


@pytest.mark.parametrize(("chart", "values", "missing"), rows(__file__, "what a stand in lacks is refused by name"))
def test_what_a_stand_in_lacks_is_refused_by_name(helm: Helm, chart: str, values: Values, missing: str) -> None:
    result = helm.template(chart, values)
    assert result.returncode != 0
    assert missing in result.stderr
