"""Dangers against the acknowledgements in the stack file."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from fabric.diff import PlanDiff
from fabric.guard.dangers import dangers
from fabric.guard.model import GROUPS, Answer, Danger, Judgement, Leftover
from fabric.render import RenderedPlan, RenderedResource
from fabric.resources import Resource
from fabric.resources.objects import KUBERNETES
from fabric.resources.order import CLUSTER
from fabric.spec.guard import MOST_DAYS, Acknowledgement, days_after
from fabric.spec.suggestion import nearest


def judged(
    found: Iterable[Danger], acknowledgements: Iterable[Acknowledgement], today: date, known: Iterable[str] = ()
) -> Judgement:
    """Each danger with the acknowledgement that counts on a day, or with why none does.

    `known` are names of resources, for the remark on an acknowledgement that names none of them.
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


def judgement_on(diff: PlanDiff, base: RenderedPlan, head: RenderedPlan, today: date) -> Judgement:
    """The guard's judgement on the difference between two plans, by the acknowledgements of the later one."""
    planned = (*base.resources, *head.resources)
    return judged(dangers(diff), head.acknowledgements, today, nameable(planned))


def nameable(planned: Iterable[Resource | RenderedResource]) -> set[str]:
    """What an acknowledgement can name: every resource, the components whose objects go together, and the provider."""
    named = {(entry.component, entry.name) for entry in planned}
    groups = {component for component, _ in named if component in GROUPS}
    return {name for _, name in named} | groups | {f"{CLUSTER}-{KUBERNETES}"}


def _answer(danger: Danger, written: tuple[Acknowledgement, ...], today: date) -> Answer:
    naming = [entry for entry in written if entry.resource in danger.names]
    for entry in naming:
        if not _why_not(entry, today):
            return Answer(danger=danger, acknowledgement=entry, refusal="")
    reasons = [_why_not(entry, today) for entry in naming]
    return Answer(danger=danger, acknowledgement=None, refusal="; ".join(reasons) or "nobody has acknowledged it")


def _why_not(entry: Acknowledgement, today: date) -> str:
    """Why an acknowledgement does not count on a day; empty where it does."""
    if entry.expires < today:
        return f"its acknowledgement expired on {entry.expires}"
    last = days_after(today, MOST_DAYS)
    if entry.expires > last:
        return (
            f"its acknowledgement expires on {entry.expires}, more than {MOST_DAYS} days ahead: that is no end; the "
            f"last day that counts today is {last}"
        )
    return ""


def _remark(entry: Acknowledgement, known: set[str]) -> str:
    until = f"{entry.resource} is acknowledged until {entry.expires}"
    if entry.resource in known:
        return f"{until}, and loses nothing: the entry can go"
    guess = nearest(entry.resource, sorted(known)).strip()
    return f"{until}, and no resource is called so: {guess or 'the entry can go'}"
