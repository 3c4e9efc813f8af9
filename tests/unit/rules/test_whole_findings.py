"""No word of a finding is lost where it is printed: on a terminal of any width, in a refusal, in a page."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from io import StringIO

import pytest
from rich.console import Console

from gpu_fabric.changes.review import Review, StackReview, comment
from gpu_fabric.findings import ConfigurationError, Finding, Severity, rules
from gpu_fabric.nccl.lint import FileReport, LintReport, report_lines
from gpu_fabric.nccl.verdict.report import Verdict, verdict_lines
from gpu_fabric.plan import Plan
from gpu_fabric.render.model import RefusedPlan
from gpu_fabric.report.html import html_report
from gpu_fabric.report.markdown import markdown_report
from gpu_fabric.report.text import plan_report, print_report
from rules.tables import found_in
from rules.test_cases import CASES

Writer = Callable[[Plan, tuple[Finding, ...]], str]


@pytest.fixture(scope="module")
def findings() -> tuple[Finding, ...]:
    """What the rules find in all their bad cases, and the fixed texts of the rules that look at no stack."""
    found = dict.fromkeys(entry for case in CASES if case.sort == "bad" for entry in found_in(case))
    of_the_book = (
        Finding(id=name, severity=Severity.ERROR, path="", message=rule.message or name, remedy=rule.remedy or name)
        for name, rule in rules().items()
    )
    return (*found, *of_the_book)


def _on_a_terminal(width: int) -> Writer:
    def write(plan: Plan, found: tuple[Finding, ...]) -> str:
        file = StringIO()
        console = Console(width=width, file=file, force_terminal=True, color_system=None, markup=False, emoji=False)
        print_report(plan_report(plan.model_copy(update={"findings": found})), console)
        return file.getvalue()

    return write


def _in_a_comment(_: Plan, found: tuple[Finding, ...]) -> str:
    refused = RefusedPlan(file="Pulumi.s.yaml", findings=found)
    return _as_shown(
        comment(Review(stacks=(StackReview(name="s", state="refused", refused=refused),), nothing_before=None))
    )


def _as_shown(page: str) -> str:
    """The text of a page without its own markup."""
    return html.unescape(re.sub(r"</?[a-z][^>]*>|<!--.*?-->", "", page))


def _of_a_topology(_: Plan, found: tuple[Finding, ...]) -> str:
    file = FileReport(file="f", accepted=True, nodes=0, findings=found)
    return "\n".join(
        report_lines(LintReport(library="nccl", nccl=None, shape=None, errors=0, warnings=0, files=(file,)))
    )


def _of_a_verdict(_: Plan, found: tuple[Finding, ...]) -> str:
    verdict = Verdict(passed=False, bar=None, measured=None, size=None, nodes=(), ranks=0, findings=found)
    return "\n".join(verdict_lines(verdict))


WRITERS: dict[str, Writer] = {
    **{f"terminal of {width} columns": _on_a_terminal(width) for width in (60, 80, 120)},
    "refusal": lambda _, found: str(ConfigurationError(found, "Pulumi.s.yaml")),
    "comment": _in_a_comment,
    "Markdown": lambda plan, found: _as_shown(markdown_report(plan.model_copy(update={"findings": found}))),
    "HTML": lambda plan, found: _as_shown(html_report(plan.model_copy(update={"findings": found}))),
    "topology": _of_a_topology,
    "verdict": _of_a_verdict,
    "lines": lambda _, found: "\n".join(line for one in found for line in one.lines()),
}
# What a comment of a pull request and a refusal show at once.
AT_ONCE = 40


def _words(text: str) -> str:
    """Letters and digits alone: pages escape the others, and lines end anywhere between two words."""
    return re.sub(r"[\W_]", "", text)


@pytest.mark.parametrize("name", WRITERS)
def test_no_word_of_a_message_or_a_remedy_is_lost(dev_plan: Plan, findings: tuple[Finding, ...], name: str) -> None:
    assert len({entry.id for entry in findings}) == len(rules())
    lost = []
    for start in range(0, len(findings), AT_ONCE):
        some = findings[start : start + AT_ONCE]
        shown = _words(WRITERS[name](dev_plan, some))
        lost += [text for one in some for text in (one.message, one.remedy) if _words(text) not in shown]
    assert lost == []


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_word_is_broken_on_a_terminal(dev_plan: Plan, findings: tuple[Finding, ...], width: int) -> None:
    shown = set(_on_a_terminal(width)(dev_plan, findings).split())
    assert {word for one in findings for word in one.remedy.split()} - shown == set()
