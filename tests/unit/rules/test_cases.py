"""Every rule with a check: it accepts good stacks, finds the fault in bad ones, and is silent about others.

No word of what it finds is lost where that is printed: on a terminal of any width, in a refusal, in a page.
"""

import html
import re
from collections.abc import Callable
from io import StringIO
from ipaddress import ip_network

import pytest
from each_case import each
from rich.console import Console

from gpu_fabric.changes.review import Review, StackReview, comment
from gpu_fabric.findings import ConfigurationError, Finding, Severity, rules
from gpu_fabric.plan import Plan
from gpu_fabric.render.model import RefusedPlan
from gpu_fabric.report.html import html_report
from gpu_fabric.report.markdown import markdown_report
from gpu_fabric.report.text import plan_report, print_report
from gpu_fabric.spec.places import NAMESPACE
from rules.cases import every_case
from rules.tables import found_in

Writer = Callable[[Plan, tuple[Finding, ...]], str]
CHECKED = [name for name, rule in rules().items() if rule.is_of_stacks]
CASES = every_case()
BY_RULE = {rule: [case for case in CASES if case.rule == rule] for rule in CHECKED}


@pytest.mark.parametrize("rule", BY_RULE)
def test_a_rule_finds_what_is_wrong_and_nothing_else(rule: str) -> None:
    found = [(case, [entry.path for entry in found_in(case)]) for case in BY_RULE[rule]]

    assert [(case, at) for case, at in found if at != [f"{NAMESPACE}:{path}" for path in case.paths]] == []


@each("rule", BY_RULE)
def test_a_finding_says_what_is_wrong_and_what_to_write(rule: str) -> None:
    for entry in (entry for case in BY_RULE[rule] for entry in found_in(case)):
        assert entry.message
        assert entry.remedy
        assert not entry.message.endswith(".")
        assert not entry.remedy.endswith(".")
        assert "None" not in entry.message + entry.remedy
        assert rules()[rule].message in ("", entry.message)
        assert rules()[rule].remedy in ("", entry.remedy)


_RANGE = re.compile(r"\ba range of /(\d+) or shorter")


@each("rule", BY_RULE)
def test_a_range_that_a_remedy_states_is_just_enough(rule: str) -> None:
    for case in BY_RULE[rule]:
        for entry in found_in(case):
            place = entry.path.removeprefix(f"{NAMESPACE}:")
            for prefix in map(int, _RANGE.findall(entry.remedy)):
                start = ip_network(entry.message.split()[0]).network_address
                enough, short = (
                    case._replace(changes={**case.changes, place: str(ip_network((start, length), strict=False))})
                    for length in (prefix, prefix + 1)
                )
                assert entry.path not in [left.path for left in found_in(enough)]
                assert entry.path in [left.path for left in found_in(short)]


def test_every_checked_rule_has_a_good_a_bad_and_an_irrelevant_case() -> None:
    sorts = {rule: {case.sort for case in cases} for rule, cases in BY_RULE.items()}

    assert sorts == {rule: {"good", "bad", "irrelevant"} for rule in CHECKED}


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


WRITERS: dict[str, Writer] = {
    **{f"terminal of {width} columns": _on_a_terminal(width) for width in (60, 80, 120)},
    "refusal": lambda _, found: str(ConfigurationError(found, "Pulumi.s.yaml")),
    "comment": _in_a_comment,
    "Markdown": lambda plan, found: _as_shown(markdown_report(plan.model_copy(update={"findings": found}))),
    "HTML": lambda plan, found: _as_shown(html_report(plan.model_copy(update={"findings": found}))),
    # Of a topology file, a measurement, a manifest, a change, a cluster.
    "any other": lambda _, found: "\n".join(line for one in found for line in one.lines()),
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
