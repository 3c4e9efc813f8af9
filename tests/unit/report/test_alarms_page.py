"""The page of alarms: fresh, with a section for each alarm, to which the alarm's runbook leads."""

import re
from pathlib import Path

import pytest
from watched_stacks import EVERY_ALARM, watched

from gpu_fabric.plan.monitoring.alarms import rule_groups
from gpu_fabric.report.pages.references import alarms_reference


@pytest.fixture(scope="module")
def page(root: Path) -> str:
    return (root / "docs" / "alarms.md").read_text(encoding="utf-8")


def test_the_page_is_fresh(page: str) -> None:
    assert page == alarms_reference(), "run `make docs`"


def test_each_runbook_leads_to_a_section_of_the_page(page: str) -> None:
    anchors = {heading.lower() for heading in re.findall(r"^## (\w+)$", page, re.MULTILINE)}
    for stack, changes in EVERY_ALARM.items():
        for one in watched(stack, changes):
            for rule in (rule for group in rule_groups(one) for rule in group.rules if rule.alert):
                address = (rule.annotations or {})["runbook_url"]
                assert address.partition("#")[0] == "docs/alarms.md"
                assert address.partition("#")[2] in anchors
