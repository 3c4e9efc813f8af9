"""The findings of a stack with several fabrics: of the whole, and of each fabric with its places in the stack file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from gpu_fabric.findings import Finding
from gpu_fabric.findings.book import Rule
from gpu_fabric.plan import Plan
from gpu_fabric.plan.case import Case
from gpu_fabric.rules.checking import plan_findings, spec_findings
from gpu_fabric.spec.places import NAMESPACE

OF_FABRICS = "fabrics"
"""The rules that several fabrics of a stack must meet together."""

# Rules about the cluster as a whole, by group, and those that are about all pools, whatever their fabric.
_OF_THE_WHOLE = frozenset({OF_FABRICS, "cost", "doks", "monitoring", "oke", "other_pools", "split", "switches"})
_OF_ALL_POOLS = frozenset({"CLU010", "OBJ007"})
# Rules of those groups that look at machines, networks, devices or charts, which each fabric has of its own.
_OF_ONE = frozenset(
    {"DOK002", "DOK003", "DOK016", "DOK019", "DOK023", "DOK037", "DOK041", "DOK054"}
    | {"OKE002", "OKE006", "OKE015", "OKE024", "OKE025", "OKE030", "OKE039", "OKE048", "OKE049"}
)
_POOL = re.compile(r"\bcluster\.pools\[([0-9]+)\]")


def whole_spec_findings(whole: Case) -> tuple[Finding, ...]:
    """What is found of the whole stack without a plan."""
    return spec_findings(whole, _of_the_whole)


def whole_plan_findings(whole: Case, plan: Plan) -> tuple[Finding, ...]:
    """What is found of the whole stack's plan."""
    return plan_findings(whole, plan, _of_the_whole)


def fabric_spec_findings(whole: Case, cases: Sequence[Case]) -> tuple[Finding, ...]:
    """What is found of the fabrics without a plan, each finding once."""
    return _once(entry for case in cases for entry in _placed(whole, case, spec_findings(case, _of_one)))


def fabric_plan_findings(whole: Case, plans: Iterable[tuple[Case, Plan]]) -> tuple[Finding, ...]:
    """What is found of the plans of the fabrics, each finding once."""
    return _once(entry for case, plan in plans for entry in _placed(whole, case, plan_findings(case, plan, _of_one)))


def _of_the_whole(rule: Rule) -> bool:
    return (rule.group in _OF_THE_WHOLE and rule.id not in _OF_ONE) or rule.id in _OF_ALL_POOLS


def _of_one(rule: Rule) -> bool:
    return not _of_the_whole(rule)


def _once(found: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(dict.fromkeys(found))


def _placed(whole: Case, case: Case, found: Iterable[Finding]) -> Iterator[Finding]:
    """Findings with the fabric's section and the pools' numbers as the stack file has them."""
    numbers = {pool.name: number for number, pool in enumerate(whole.spec.cluster.pools)}
    own = [numbers[pool.name] for pool in case.spec.cluster.pools]

    def rename(text: str) -> str:
        text = _POOL.sub(lambda match: f"cluster.pools[{own[int(match[1])]}]", text)
        return _section(case.fabric)(text) if case.fabric else text

    for entry in found:
        texts = {field: rename(getattr(entry, field)) for field in ("path", "message", "remedy")}
        yield entry.model_copy(update=texts)


def _section(fabric: str) -> Callable[[str], str]:
    # `fabric.mtu` in a path or in a text; a word such as `fabric.` at the end of a sentence stays.
    key = re.compile(rf"(?<![\w/.-])({NAMESPACE}:)?fabric(?=\.[a-z]|$)")

    def renamed(text: str) -> str:
        return key.sub(lambda match: f"{match[1] or ''}fabrics.{fabric}", text)

    return renamed
