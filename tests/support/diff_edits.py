"""Edits of committed stacks whose difference is reviewed, each with a golden file of its name."""

import json
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import NamedTuple

import yaml
from changes import Changes, changed
from committed_stacks import folder_of

from gpu_fabric.base.name_ranges import every_name
from gpu_fabric.changes.guard import judge_plans
from gpu_fabric.changes.model import Judgement, PlanDiff
from gpu_fabric.changes.plan_diff import plan_diff
from gpu_fabric.plan import Plan
from gpu_fabric.prepare import prepare
from gpu_fabric.render.model import RenderedPlan
from gpu_fabric.render.rendering import rendered
from gpu_fabric.spec.guard import AcknowledgementSpec
from gpu_fabric.spec.load import read_document

TODAY = date(2026, 11, 22)
SOON = TODAY + timedelta(days=7)


POOL = "cluster.pools[0]"
NODES = f"{POOL}.nodes"
H200 = "gpu-h200x8-1128gb-fabric-contracted"


class Edit(NamedTuple):
    """A stack with some values changed before, and more of them after; and the resources that the guard names."""

    name: str
    stack: str
    after: Changes
    before: Changes = {}
    guarded: tuple[str, ...] = ()


EDITS = tuple(
    Edit(name, **{**row, "guarded": every_name(row.get("guarded", ()))})
    for name, row in yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")).items()
)


@cache
def _prepared(stack: str, changes: str) -> Plan:
    document = read_document(stack, folder_of(stack))
    return prepare(changed(document, json.loads(changes)), for_up=False).plan


@cache
def _rendered(stack: str, changes: str) -> RenderedPlan:
    return rendered(_prepared(stack, changes))


def prepared(stack: str, changes: Changes) -> Plan:
    """The plan of a committed stack with some values changed."""
    return _prepared(stack, json.dumps(changes, sort_keys=True))


def plan_of(stack: str, changes: Changes) -> RenderedPlan:
    """The rendered plan of a committed stack with some values changed."""
    return _rendered(stack, json.dumps(changes, sort_keys=True))


@cache
def _diff(stack: str, before: str, after: str) -> PlanDiff:
    return plan_diff(_rendered(stack, before), _rendered(stack, after))


def diff_of(edit: Edit) -> PlanDiff:
    """What an edit makes of its stack."""
    before, after = edit.before, {**edit.before, **edit.after}
    return _diff(edit.stack, *(json.dumps(changes, sort_keys=True) for changes in (before, after)))


def judgement_of(edit: Edit, acknowledgements: tuple[AcknowledgementSpec, ...] = (), today: date = TODAY) -> Judgement:
    """The guard's judgement on an edit by some acknowledgements."""
    before = plan_of(edit.stack, edit.before)
    after = plan_of(edit.stack, {**edit.before, **edit.after}).model_copy(update={"acknowledgements": acknowledgements})
    # The guard reads the later plan's acknowledgements; the difference only lists them.
    return judge_plans(diff_of(edit), before, after, today)


def named(name: str) -> Edit:
    """The edit of a name."""
    return next(edit for edit in EDITS if edit.name == name)


def acknowledged(*resources: str, expires: date = SOON) -> tuple[AcknowledgementSpec, ...]:
    """Acknowledgements of some resources, for a week."""
    return tuple(
        AcknowledgementSpec(resource=name, expires=expires, reason="the jobs are elsewhere") for name in resources
    )
