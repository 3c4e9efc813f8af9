"""Dangers against the acknowledgements in the stack file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from typing import NamedTuple

from gpu_fabric.changes.dangers import dangers
from gpu_fabric.changes.markup import quantity
from gpu_fabric.changes.model import GROUPS, Answer, Danger, Judgement, Leftover, PlanDiff
from gpu_fabric.render import RenderedPlan, RenderedResource
from gpu_fabric.resources import Resource, together
from gpu_fabric.resources.objects import KUBERNETES
from gpu_fabric.resources.order import CLUSTER
from gpu_fabric.spec.guard import MOST_DAYS, AcknowledgementSpec, days_after
from gpu_fabric.spec.suggestion import nearest


def judge(
    found: Iterable[Danger], acknowledgements: Iterable[AcknowledgementSpec], today: date, known: Iterable[str] = ()
) -> Judgement:
    """Match each danger with an acknowledgement that is valid on a day, or say why none is.

    `known` are names of resources, for remarks on acknowledgements that name none of them.
    """
    watched, written = tuple(found), tuple(acknowledgements)
    named = {name for danger in watched for name in danger.names}
    return Judgement(
        day=today,
        answers=tuple(_answer(danger, written, today) for danger in watched),
        leftovers=tuple(
            Leftover(acknowledgement=entry, remark=_remark(entry, {*known, *named}))
            for entry in written
            if entry.resource not in named
        ),
    )


def judge_plans(diff: PlanDiff, base: RenderedPlan, head: RenderedPlan, today: date) -> Judgement:
    """Judge the difference between two plans by the acknowledgements of the later one."""
    planned = (*base.resources, *head.resources)
    return judge(dangers(diff), head.acknowledgements, today, acknowledgeable_names(planned))


def acknowledgeable_names(planned: Iterable[Resource | RenderedResource]) -> set[str]:
    """The names that an acknowledgement can use: resources, components of many objects, and the provider."""
    named = {(entry.component, entry.name) for entry in planned}
    groups = {component for component, _ in named if component in GROUPS}
    return {name for _, name in named} | groups | {f"{CLUSTER}-{KUBERNETES}"}


def _answer(danger: Danger, written: tuple[AcknowledgementSpec, ...], today: date) -> Answer:
    naming = [entry for entry in written if entry.resource in danger.names]
    for entry in naming:
        if not _why_not(entry, today):
            return Answer(danger=danger, acknowledgement=entry, refusal="")
    reasons = [_why_not(entry, today) for entry in naming]
    return Answer(danger=danger, acknowledgement=None, refusal="; ".join(reasons) or "it is not acknowledged")


def _why_not(entry: AcknowledgementSpec, today: date) -> str:
    """Why an acknowledgement is not valid on a day; empty where it is."""
    if entry.expires < today:
        return f"its acknowledgement expired on {entry.expires}"
    last = days_after(today, MOST_DAYS)
    if entry.expires > last:
        return (
            f"its acknowledgement expires on {entry.expires}, more than {MOST_DAYS} days ahead, which is too far; the "
            f"last day that counts today is {last}"
        )
    return ""


def _remark(entry: AcknowledgementSpec, known: set[str]) -> str:
    until = f"{entry.resource} is acknowledged until {entry.expires}"
    if entry.resource in known:
        return f"{until}, and loses nothing: remove the entry"
    guess = nearest(entry.resource, sorted(known)).strip()
    return f"{until}, and no resource has this name: {guess or 'remove the entry'}"


_HAPPENS = {
    "replaced": "would be replaced (deleted, then created)",
    "deleted": "would be deleted",
    "renewed": "would have its nodes renewed",
    "smaller": "would get smaller",
    "moved": "would change while it is in use",
    "kept": "would stay as it is, while the plan is for another",
}


class Group(NamedTuple):
    """Dangers with the same effect, remedy and answer.

    `name` is what one acknowledgement of all of them names. `danger` is the first one, with the losses of all.
    """

    name: str
    danger: Danger
    answers: tuple[Answer, ...]

    @property
    def happens(self) -> str:
        """The effect as words."""
        return _HAPPENS[self.danger.effect]

    @property
    def refusal(self) -> str:
        """Why the dangers are not acknowledged; empty where they are."""
        return self.answers[0].refusal


def group_answers(answers: Iterable[Answer]) -> list[Group]:
    """Group answers that are alike; a group of one has the resource's own name."""
    alike: dict[tuple[str, ...], list[Answer]] = {}
    for answer in answers:
        danger, entry = answer.danger, answer.acknowledgement
        key = (danger.names[-1], danger.effect, danger.alternative, answer.refusal, entry.resource if entry else "")
        alike.setdefault(key, []).append(answer)
    return [
        Group(key[0], _merge([answer.danger for answer in found]), tuple(found))
        if len(found) > 1
        else Group(found[0].danger.resource, found[0].danger, (found[0],))
        for key, found in alike.items()
    ]


def _merge(dangers: Sequence[Danger]) -> Danger:
    """The first of several dangers, with the losses of all."""
    return dangers[0].model_copy(
        update={
            "identity": f"{quantity(len(dangers), 'resource')}, first {dangers[0].resource}",
            "lost": together(danger.lost for danger in dangers),
            "networks": tuple(dict.fromkeys(name for danger in dangers for name in danger.networks)),
            "takes": tuple(dict.fromkeys(name for danger in dangers for name in danger.takes)),
            "takes_a_cluster": any(danger.takes_a_cluster for danger in dangers),
            "protected": any(danger.protected for danger in dangers),
        }
    )
