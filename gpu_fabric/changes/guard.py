"""The guard: dangers against the acknowledgements in the stack file, and its judgement as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from typing import NamedTuple

from gpu_fabric.base.enumeration import first_names, grouped, quantity
from gpu_fabric.changes.dangers import dangers
from gpu_fabric.changes.model import HOSTS, ONE_BY_ONE, RULES, Answer, Danger, Effect, Judgement, Leftover, PlanDiff
from gpu_fabric.changes.software_diff import software_names
from gpu_fabric.findings import Finding, rules
from gpu_fabric.render.model import RenderedPlan, RenderedResource
from gpu_fabric.resources import Loss, Resource, together
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
    groups = {component for component, _ in named if component not in ONE_BY_ONE}
    return {name for _, name in named} | groups | {f"{CLUSTER}-{KUBERNETES}"} | software_names()


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


WITHOUT_LOSS: tuple[Effect, ...] = ("evicts", "runs", "lowered", "skips", "handed_over")
"""Effects that need an acknowledgement although no resource is lost."""


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
        return rules()[RULES[self.danger.effect]].message

    @property
    def finding(self) -> Finding:
        """The dangers as one finding, at the resource that an acknowledgement names."""
        return self.danger.finding.model_copy(update={"path": self.name})

    @property
    def refusal(self) -> str:
        """Why the dangers are not acknowledged; empty where they are."""
        return self.answers[0].refusal


def group_answers(answers: Iterable[Answer]) -> list[Group]:
    """Group answers that are alike; a group of one has the resource's own name."""

    def key(answer: Answer) -> tuple[str, ...]:
        danger, entry = answer.danger, answer.acknowledgement
        return danger.names[-1], danger.effect, danger.alternative, answer.refusal, entry.resource if entry else ""

    return [
        Group(name, _merge([answer.danger for answer in found]), tuple(found))
        if len(found) > 1
        else Group(found[0].danger.resource, found[0].danger, (found[0],))
        for (name, *_), found in grouped(answers, key).items()
    ]


def _merge(dangers: Sequence[Danger]) -> Danger:
    """The first of several dangers, with the losses of all."""
    return dangers[0].model_copy(
        update={
            "identity": f"{quantity(len(dangers), 'resource')}, first {dangers[0].resource}",
            "lost": together(danger.lost for danger in dangers),
            "networks": tuple(dict.fromkeys(name for danger in dangers for name in danger.networks)),
            "takes": tuple(dict.fromkeys(key for danger in dangers for key in danger.takes)),
            "takes_a_cluster": any(danger.takes_a_cluster for danger in dangers),
            "protected": any(danger.protected for danger in dangers),
        }
    )


# The most names of one kind that are listed.
_MOST = 3
_EXAMPLE_DAYS = 7


def explanation(judgement: Judgement, file: str) -> str:
    """Describe every danger without an acknowledgement: effect, reason, losses, remedy, and the entry to write.

    `file` is the stack file. Entries that no danger needs are listed too, since one of them may be misspelt. Empty
    where every danger is acknowledged.
    """
    refused = group_answers(judgement.refused)
    return "\n".join(_lines(refused, judgement, file)) if refused else ""


def entries(refused: Iterable[Group], expires: str) -> Iterator[str]:
    """The lines of a stack file that acknowledge dangers."""
    yield "gpu-fabric:guard:"
    yield "  acknowledge:"
    # One resource may have several dangers.
    for name in dict.fromkeys(group.name for group in refused):
        yield f"    - resource: {name}"
        yield f'      expires: "{expires}"'
        yield "      reason: who agreed to it, and why"


def lost_text(group: Group) -> str:
    """The losses of a group of dangers; empty where nothing is counted."""
    danger = group.danger
    words = [str(danger.lost)] if danger.lost != Loss() else []
    if danger.networks:
        words.append(f"networks of running jobs: {first_names(danger.networks, _MOST)}")
    if danger.carries:
        words.append(danger.carries)
    if danger.takes:
        words.append(f"deleted with it: {first_names([name for _, name in danger.takes], _MOST)}")
    if danger.takes_a_cluster:
        words.append("everything on the cluster")
    if danger.effect == "moved" and danger.component == HOSTS:
        words.append("two hosts may hold one address until every host has its new one")
    elif danger.effect == "moved" and danger.component != CLUSTER:
        words.append("running pods keep addresses that are no longer planned, until they end")
    return "; ".join(words)


def _lines(refused: list[Group], judgement: Judgement, file: str) -> Iterator[str]:
    yield f"{file}: {needs_text(refused)} and {'has' if len(refused) == 1 else 'have'} none, nothing was changed."
    for group in refused:
        what, remedy = group.finding.lines("  ")
        yield what
        yield f"      why: {group.danger.why}"
        if lost := lost_text(group):
            yield f"      lost: {lost}"
        if group.danger.protected:
            yield "      protected: Pulumi also refuses it while `cluster.protect` is true"
        yield f"      refused: {group.refusal}"
        yield remedy
    yield from (f"  not needed: {leftover.remark}" for leftover in judgement.leftovers)
    day = days_after(judgement.day, _EXAMPLE_DAYS)
    yield f"To apply it anyway, write into {file} under `config:`, in the place of an entry of the same name:"
    yield from (f"  {line}" for line in entries(refused, str(day)))
    yield f"  (`expires` is the last day on which it counts, at most {MOST_DAYS} days ahead.)"


def needs_text(refused: Sequence[Group]) -> str:
    """How many changes need an acknowledgement, as words."""
    return f"{quantity(len(refused), 'change')} {'needs' if len(refused) == 1 else 'need'} an acknowledgement"
