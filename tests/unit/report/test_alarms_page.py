"""The page of alarms: fresh, with a section for each alarm, to which the alarm's runbook leads."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from watched_stacks import EVERY_ALARM, watched

from gpu_fabric.catalog import catalog
from gpu_fabric.plan.monitoring.alarms import rule_groups
from gpu_fabric.report.pages.references import alarms_reference


@pytest.fixture(scope="module")
def page(root: Path) -> str:
    return (root / "docs" / "alarms.md").read_text(encoding="utf-8")


def test_the_page_is_fresh(page: str) -> None:
    assert page == alarms_reference(), "run `make docs`"


@pytest.mark.parametrize("name", catalog().alarms.alarms)
def test_each_alarm_has_a_section_with_what_to_do_at_night(name: str, page: str) -> None:
    _, _, rest = page.partition(f"\n## {name}\n")
    section = rest.partition("\n## ")[0]

    assert "First look:\n\n- " in section
    assert all(f"| {row} |" in section for row in ("cordon the node", "call", "threshold", "source"))
    assert "```promql" in section


def test_each_runbook_leads_to_a_section_of_the_page(page: str) -> None:
    anchors = {heading.lower() for heading in re.findall(r"^## (\w+)$", page, re.MULTILINE)}
    for stack, changes in EVERY_ALARM.items():
        for one in watched(stack, changes):
            for rule in (rule for group in rule_groups(one) for rule in group.rules if rule.alert):
                address = (rule.annotations or {})["runbook_url"]
                assert address.partition("#")[0] == "docs/alarms.md"
                assert address.partition("#")[2] in anchors


def test_each_metric_has_its_exporter_and_the_file_in_which_it_was_read(page: str) -> None:
    for name, metric in catalog().alarms.metrics.items():
        assert f"| `{name}` | {metric.what}" in page
        assert metric.source in page
