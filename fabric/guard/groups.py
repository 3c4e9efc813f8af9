"""Dangers that are alike, told as one: those of a group that one acknowledgement can name."""

from __future__ import annotations

from collections.abc import Iterable

from fabric.diff.markup import counted
from fabric.guard.model import Answer
from fabric.model import FrozenModel
from fabric.resources import Loss, together
from fabric.resources.order import CLUSTER

_HAPPENS = {
    "replaced": "would be deleted and made anew",
    "deleted": "would be deleted",
    "renewed": "would have its nodes renewed",
    "smaller": "would get smaller",
    "moved": "would change under those who use it",
}


class Group(FrozenModel):
    """Dangers to which the same happens, in the same way, with the same answer.

    `name` is what an acknowledgement of all of them names.
    """

    name: str
    answers: tuple[Answer, ...]

    @property
    def identity(self) -> str:
        """What it is: the first of several, and how many there are."""
        one = self.answers[0].danger
        return (
            one.identity
            if len(self.answers) == 1
            else f"{counted(len(self.answers), 'resource')}, first {one.resource}"
        )

    @property
    def happens(self) -> str:
        """What happens to it."""
        return _HAPPENS[self.answers[0].danger.effect]

    @property
    def why(self) -> str:
        """Why, by the first of several."""
        return self.answers[0].danger.why

    @property
    def refusal(self) -> str:
        """Why it does not pass; empty where it does."""
        return self.answers[0].refusal

    @property
    def alternative(self) -> str:
        """What to do instead."""
        return self.answers[0].danger.alternative

    @property
    def protected(self) -> bool:
        """Whether the engine refuses one of them besides."""
        return any(answer.danger.protected for answer in self.answers)

    @property
    def lost(self) -> Loss:
        """What is lost by all of them."""
        return together(answer.danger.lost for answer in self.answers)

    @property
    def networks(self) -> tuple[str, ...]:
        """Networks of running jobs that need any of them."""
        return tuple(dict.fromkeys(name for answer in self.answers for name in answer.danger.networks))

    @property
    def takes_a_cluster(self) -> bool:
        """Whether a cluster goes, with all that lies on it."""
        return any(answer.danger.takes_a_cluster for answer in self.answers)

    @property
    def moves_pods(self) -> bool:
        """Whether pods have addresses that the later plan does not know of."""
        one = self.answers[0].danger
        return one.effect == "moved" and one.component != CLUSTER

    @property
    def takes(self) -> tuple[str, ...]:
        """What goes because of any of them."""
        return tuple(dict.fromkeys(name for answer in self.answers for name in answer.danger.takes))


def groups(answers: Iterable[Answer]) -> list[Group]:
    """Answers, those together that are alike; the name is a resource's own, or what several of them go by."""
    alike: dict[tuple[str, ...], list[Answer]] = {}
    for answer in answers:
        danger, entry = answer.danger, answer.acknowledgement
        key = (danger.names[-1], danger.effect, danger.alternative, answer.refusal, entry.resource if entry else "")
        alike.setdefault(key, []).append(answer)
    return [
        Group(name=key[0] if len(found) > 1 else found[0].danger.resource, answers=tuple(found))
        for key, found in alike.items()
    ]
