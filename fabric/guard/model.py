"""A change that loses something, and whether it was agreed to."""

from __future__ import annotations

from datetime import date
from typing import Literal

from fabric.model import FrozenModel
from fabric.resources import Loss
from fabric.resources.order import CLUSTER
from fabric.resources.wire import oci_type
from fabric.spec.guard import Acknowledgement

INSTANCE = oci_type("core.Instance")

GROUPS = ("ip-pools", "node-pools", "networks", "rails")
"""Components whose objects one acknowledgement may name together. With a namespace goes all that is in it."""

Effect = Literal["replaced", "deleted", "renewed", "smaller", "moved"]


class Danger(FrozenModel):
    """A resource by which nodes, networks of the cloud or addresses in use are lost, as the cause of whatever goes.

    An acknowledgement names `resource`, the engine's name, or one of `names`. `lost` counts what goes with it, and
    `takes` names other resources of the cloud that go because of it; with a cluster everything on it does. `protected`:
    the engine refuses it besides, as long as the stack is protected. `alternative` says how nothing is lost.
    """

    resource: str
    component: str
    type: str
    identity: str
    effect: Effect
    why: str
    lost: Loss
    networks: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    takes_a_cluster: bool = False
    protected: bool = False
    alternative: str

    @property
    def names(self) -> tuple[str, ...]:
        """What an acknowledgement may name: the resource, or the group that many of its kind are in.

        Address pools and networks go by their component, machines that are a resource each by their pool. A namespace
        and what is the cloud's are named one by one.
        """
        if self.component in GROUPS:
            return self.resource, self.component
        if self.component == CLUSTER and self.type == INSTANCE:
            return self.resource, self.resource.rpartition("-")[0]
        return (self.resource,)


class Answer(FrozenModel):
    """A danger with the acknowledgement that lets it pass; or without one that counts, and why it does not."""

    danger: Danger
    acknowledgement: Acknowledgement | None
    refusal: str

    @property
    def passes(self) -> bool:
        """Whether the change may be made."""
        return not self.refusal


class Leftover(FrozenModel):
    """An acknowledgement of nothing that would go, with a remark on it."""

    acknowledgement: Acknowledgement
    remark: str


class Judgement(FrozenModel):
    """Every danger with its answer, as of a day."""

    day: date
    answers: tuple[Answer, ...]
    leftovers: tuple[Leftover, ...]

    @property
    def refused(self) -> tuple[Answer, ...]:
        """The dangers that nobody has agreed to."""
        return tuple(answer for answer in self.answers if not answer.passes)

    @property
    def passes(self) -> bool:
        """Whether every danger is acknowledged; so, too, where there is none."""
        return not self.refused
