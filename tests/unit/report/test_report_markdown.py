"""The Markdown report: whole tables, findings with remedies, and text that stays text."""

import json
import re

import pytest
from committed_stacks import stack_names
from planned_fabrics import plan_of

from gpu_fabric.plan import Plan
from gpu_fabric.report.markdown import markdown_report


def rows(text: str) -> list[list[str]]:
    """The cells of every line of a table; an escaped bar parts none."""
    return [re.split(r"(?<!\\)\|", line)[1:-1] for line in text.splitlines() if line.startswith("|")]


@pytest.mark.parametrize("stack", stack_names())
def test_every_row_has_as_many_cells_as_its_head(stack: str) -> None:
    tables = [rows(part) for part in markdown_report(plan_of(stack)).split("\n\n") if part.startswith("|")]
    assert len(tables) > 3
    for table in tables:
        assert {len(row) for row in table} == {len(table[0])}


def test_the_contract_is_the_stacks_output() -> None:
    plan = plan_of("dev")
    (shown,) = re.findall(r"````json\n(.*?)\n````", markdown_report(plan), re.DOTALL)
    assert json.loads(shown) == plan.workload.model_dump(mode="json", by_alias=True)


def hostile(plan: Plan, text: str) -> Plan:
    finding = plan.findings[0].model_copy(update={"message": text})
    return plan.model_copy(update={"findings": (finding,)})


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("a | b", r"a \| b"),
        ("<img src=x>", r"&lt;img src=x\>"),
        ("[here](http://x)", r"\[here\](http://x)"),
        ("two\nlines", "two lines"),
        ("a\\|b", r"a\\\|b"),
        ("`make up` works", "`make up` works"),
        ("`a | <b> [c](d) *e*` f*", r"`a \| <b> [c](d) *e*` f\*"),
        ("`one", r"\`one"),
        ("``two``", r"\`\`two\`\`"),
        ("`a\\` <img>", r"\`a\\\` &lt;img\>"),
    ],
)
def test_nothing_a_user_wrote_becomes_markup(written: str, shown: str) -> None:
    assert f"| {shown} |" in markdown_report(hostile(plan_of("dev"), written))
