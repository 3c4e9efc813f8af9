"""One model of a change: the difference of two plans, the dangers in it, and the guard's judgement."""

from __future__ import annotations

from datetime import date
from typing import Any, Literal

from pydantic import Field, computed_field

from gpu_fabric.changes.software import Program
from gpu_fabric.findings import Finding, finding, rules
from gpu_fabric.model import FrozenModel
from gpu_fabric.plan.cost import HourlyRange
from gpu_fabric.resources import Loss
from gpu_fabric.resources.cloud import wire_type
from gpu_fabric.resources.order import CLUSTER
from gpu_fabric.spec.guard import AcknowledgementSpec

INSTANCE = wire_type("core.Instance")

HOSTS = "nic-addresses"
"""The component that sets the hosts' own addresses."""

ONE_BY_ONE = (CLUSTER, "namespaces")
"""Components whose resources each need an acknowledgement: one of another component may name all of its objects."""

Key = tuple[str, str]
"""Type and name of a resource: two of different types may have one name."""

Effect = Literal[
    "replaced", "deleted", "renewed", "smaller", "moved", "kept", "evicts", "runs", "lowered", "skips", "handed_over"
]

RULES: dict[Effect, str] = {
    "replaced": "GRD001",
    "deleted": "GRD002",
    "renewed": "GRD003",
    "smaller": "GRD004",
    "moved": "GRD005",
    "kept": "GRD006",
    "evicts": "GRD007",
    "runs": "GRD008",
    "lowered": "GRD009",
    "skips": "GRD010",
    "handed_over": "GRD011",
}
"""The rule of the book that finds each effect."""

Verdict = Literal["created", "changed", "replaced", "deleted", "kept"]
"""What happens to a resource; it is kept where none of its changes has an effect on what exists."""

PlaceKey = Literal[
    "cluster.region",
    "cluster.provider",
    "cluster.id",
    "split.part",
    "split.clusterStack",
    "split.organization",
    "clusterId",
    "kubeconfig",
]


class Change(FrozenModel):
    """A property that differs. `old` is None for an added one, `new` for a removed one; `kind` tells which.

    `forces`: the property cannot change in place, so that the resource is replaced. `renews`: the machines are renewed.
    """

    path: str
    kind: Literal["added", "removed", "changed"]
    old: Any = None
    new: Any = None
    forces: bool = False
    renews: bool = False


class GroupChange(FrozenModel):
    """Objects of one kind in a group: the names of those added, removed and changed."""

    kind: str
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]


class ResourceDiff(FrozenModel):
    """A resource that differs.

    `reasons`: why it is replaced besides the changes that force it. `follows`: for those on a cluster, the resource
    with which they are deleted. `held_by`: the replaced or deleted resources to which it refers. `lost`: what is lost
    with it, for good or until it is re-created; `networks`: the networks of running jobs that need it. `first_deleted`:
    the old one is deleted before the new one exists. `renewed`: it changes in place, and its machines are drained, then
    replaced or restarted. `retained`: Pulumi removes it from its state and leaves it in place. `protected`: Pulumi
    refuses to delete it. `handling`: resource options that differ. `without_effect`: changes that Pulumi ignores, so
    that what exists stays as it is.
    """

    verdict: Verdict
    name: str
    type: str
    identity: str
    component: str
    changes: tuple[Change, ...] = ()
    groups: tuple[GroupChange, ...] = ()
    handling: tuple[Change, ...] = ()
    without_effect: tuple[Change, ...] = ()
    reasons: tuple[str, ...] = ()
    follows: Key | None = None
    held_by: tuple[Key, ...] = ()
    lost: Loss = Loss()
    networks: tuple[str, ...] = ()
    first_deleted: bool = False
    renewed: bool = False
    protected: bool = False
    retained: bool = False

    @property
    def key(self) -> Key:
        """Type and name."""
        return self.type, self.name


class Move(FrozenModel):
    """A node's share of a rail: `old` is None for an added node, `new` for a removed one."""

    node: str
    old: str | None
    new: str | None


class Keeper(FrozenModel):
    """A resource that holds a rail's addresses: its pool, or without a pool a network of the rail."""

    name: str
    type: str
    identity: str
    component: str

    @property
    def key(self) -> Key:
        """Type and name."""
        return self.type, self.name


class RailReason(FrozenModel):
    """Why the holders of a rail's addresses differ, even where no share's text does.

    With another `allocator`, or without its `leases`, addresses that are in use are allocated again; also where names
    are `pinned` that the allocator had numbered, or where its `gateway` changes. With another `nic` the subnet belongs
    to another link. Another `selector` leaves out nodes.
    """

    key: Literal["allocator", "leases", "pinned", "gateway", "nic", "selector"]
    text: str


class RailDiff(FrozenModel):
    """A rail whose addresses differ, with the ranges of its pool before and after; None where the rail does not exist.

    `keepers` hold its addresses before the change. `moved`: shares of pods that lose an address. `hosts`: hosts' own
    addresses that change. `fabric` is the name of a further fabric; empty for that of the section `fabric`.
    """

    rail: int
    fabric: str = Field(default="", exclude_if=lambda value: not value)
    keepers: tuple[Keeper, ...] = ()
    old_space: str | None
    new_space: str | None
    moved: tuple[Move, ...] = ()
    added: tuple[Move, ...] = ()
    removed: tuple[Move, ...] = ()
    hosts: tuple[Move, ...] = ()
    reasons: tuple[RailReason, ...] = ()

    @property
    def label(self) -> str:
        """The rail's number, after the name of its fabric if that is a further one."""
        return f"{self.fabric} {self.rail}".lstrip()

    @property
    def differs(self) -> bool:
        """Whether anything is to be reported."""
        return bool(self.added or self.removed or self.changes_hands)

    @property
    def changes_hands(self) -> bool:
        """Whether an address that may be in use is moved, allocated again, or taken from its node."""
        return bool(self.moved or self.hosts or self.reasons)


class PoolDiff(FrozenModel):
    """A pool of nodes that differs; a shape is None where the pool does not exist."""

    name: str
    old_shape: str | None = None
    new_shape: str | None = None
    old_nodes: int = 0
    new_nodes: int = 0
    old_gpus: int = 0
    new_gpus: int = 0
    old_nics: int = 0
    new_nics: int = 0


class VersionDiff(FrozenModel):
    """Another version of a chart, an image, Kubernetes or the release line; None where it is not used."""

    kind: Literal["release line", "Kubernetes", "chart", "image"]
    name: str
    old: str | None
    new: str | None


class CostDiff(FrozenModel):
    """The machines' cost an hour, as text before and after; the difference where both totals are known."""

    old: str
    new: str
    difference: HourlyRange | None


class PlaceDiff(FrozenModel):
    """Another place of the cluster, which no resource of the plan shows.

    `key` is a key of the stack file, or an output of the cluster's own stack; the values are None where it is not set.
    For `kubeconfig`, the value is the id that is derived from its server. `resource` is the cluster, or the provider of
    everything on it where another stack creates the cluster or where it exists already. `lost` is what is lost with the
    old one.
    """

    key: PlaceKey
    resource: str
    type: str
    identity: str
    old: str | None
    new: str | None
    lost: Loss

    @property
    def provider_of_another(self) -> Key | None:
        """The provider whose resources are deleted on one cluster and created on another; None for another region."""
        return None if self.key == "cluster.region" else (self.type, self.resource)


class ProtectionDiff(FrozenModel):
    """Changes of protection: names of resources that are protected from now on, and no longer.

    `with_cluster`: objects that Pulumi from now on deletes with their cluster. `alone`: objects that it deletes one by
    one.
    """

    on: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    with_cluster: int = 0
    alone: int = 0


class JobsDiff(FrozenModel):
    """Changes for manifests written against the old contract: resources, networks and ConfigMaps.

    A pod that asks for what is `gone` does not start; where a device is only fewer, its earlier amount is named. An
    older manifest lacks what is `new`, and has another amount, interface or path of what is `changed`.
    """

    gone: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


class OrderDiff(FrozenModel):
    """A step of both plans that comes after other steps than before; steps of only one plan are left out."""

    step: str
    added: tuple[str, ...]
    removed: tuple[str, ...]


class VersionStep(FrozenModel):
    """A version that goes back, or a release line that leaves out lines of the vendor (`left_out`, by chart).

    `resource` is the name for an acknowledgement; `also` are further versions that go back with a release line.
    """

    resource: str
    old: str
    new: str
    left_out: tuple[str, ...] = ()
    also: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """The versions, and what is left out or goes back."""
        return (
            f"{self.resource}: {self.old} → {self.new}",
            *(f"leaves out {lines}" for lines in self.left_out),
            *self.also,
        )


class OwnerStep(FrozenModel):
    """Another owner of nodes' NICs before the nodes' jobs have ended: the key of the stack file by which, and why."""

    key: str
    why: str


class SoftwareDiff(FrozenModel):
    """Changes other than of resources that need an acknowledgement.

    `programs` are new, or have a new image or command. `evicts_after`: minutes after which jobs are evicted from now
    on, where they were not before or only later (`evicted_after`); None otherwise. `owner`: NICs get another one.
    """

    programs: tuple[Program, ...] = ()
    versions: tuple[VersionStep, ...] = ()
    evicts_after: int | None = None
    evicted_after: int | None = None
    owner: OwnerStep | None = None


class StepDiff(FrozenModel):
    """A line of a report on what a step does, where no resource shows the difference; None where there is none."""

    title: str
    old: str | None
    new: str | None


class FindingDiff(Finding):
    """A finding of the rules that is new or gone."""

    is_new: bool


class PlanDiff(FrozenModel):
    """The whole difference between two plans of a stack.

    `lost` counts each node, GPU and address once. `elsewhere` are differences outside of resources: the contract,
    the plan's decisions, waits, files of NCCL; `steps` are what steps do without a resource, in words; `software` needs
    an acknowledgement. `order` names steps that come after other steps than before. `acknowledged` are the stack file's
    acknowledgements after the change, and `acknowledged_before` those before it; they change no resource. `kept`:
    resources that are planned differently but stay as they are. `lowered`: clusters for which the cloud refuses a lower
    version of Kubernetes. `proof`: changes in what the proof of the addresses takes into account.
    """

    stack: str
    unchanged: int
    resources: tuple[ResourceDiff, ...]
    lost: Loss
    networks: tuple[str, ...]
    pools: tuple[PoolDiff, ...]
    rails: tuple[RailDiff, ...]
    versions: tuple[VersionDiff, ...]
    cost: CostDiff | None
    findings: tuple[FindingDiff, ...]
    elsewhere: tuple[Change, ...]
    steps: tuple[StepDiff, ...] = ()
    software: SoftwareDiff | None = None
    order: tuple[OrderDiff, ...] = ()
    place: PlaceDiff | None = None
    jobs: JobsDiff | None = None
    kept: tuple[ResourceDiff, ...] = ()
    lowered: tuple[str, ...] = ()
    proof: tuple[Change, ...] = ()
    protection: ProtectionDiff | None = None
    acknowledged: tuple[AcknowledgementSpec, ...] = ()
    acknowledged_before: tuple[AcknowledgementSpec, ...] = ()

    @property
    def differs(self) -> bool:
        """Whether anything is reported."""
        apart = {"stack", "unchanged", "acknowledged", "acknowledged_before"}
        differing = (getattr(self, name) for name in PlanDiff.model_fields if name not in apart)
        return self.acknowledged != self.acknowledged_before or any(
            found not in ((), None, Loss()) for found in differing
        )

    def of(self, verdict: Verdict) -> tuple[ResourceDiff, ...]:
        """The resources with one verdict."""
        return tuple(resource for resource in self.resources if resource.verdict == verdict)

    @property
    def loses(self) -> bool:
        """Whether something is lost: a resource is deleted or replaced, or nodes or addresses in use are lost."""
        moved = any(rail.changes_hands or rail.removed for rail in self.rails)
        return moved or self.place is not None or self.lost != Loss() or bool(self.of("replaced") or self.of("deleted"))


class Danger(FrozenModel):
    """A resource that is the cause of a loss, or another change that must be acknowledged.

    An acknowledgement names `resource`, which is Pulumi's name, or one of `names`. `lost` counts all that is lost with
    it; `carries` says what else is deleted with it, and `takes` names resources of the stack that are. With a cluster,
    everything on it is lost. `protected`: Pulumi also refuses it while the stack is protected. `alternative`: what to
    do so that nothing is lost.
    """

    resource: str
    component: str
    type: str
    identity: str
    effect: Effect
    why: str
    lost: Loss
    networks: tuple[str, ...] = ()
    takes: tuple[Key, ...] = ()
    takes_a_cluster: bool = False
    carries: str = ""
    protected: bool = False
    alternative: str

    @property
    def key(self) -> Key:
        """Type and name of the resource."""
        return self.type, self.resource

    @computed_field  # type: ignore[prop-decorator]
    @property
    def finding(self) -> Finding:
        """The danger as a finding of its effect's rule; `why` is its evidence."""
        rule = RULES[self.effect]
        return finding(rule, self.resource, f"{rules()[rule].message} [{self.identity}]", self.alternative)

    @property
    def names(self) -> tuple[str, ...]:
        """The names that an acknowledgement may use: the resource's own, or its group's where there are many alike.

        Single machines are named by their pool, and what is on the cluster by its component. Namespaces and other cloud
        resources are named one by one.
        """
        if self.component not in ONE_BY_ONE:
            return self.resource, self.component
        if self.component == CLUSTER and self.type == INSTANCE:
            return self.resource, self.resource.rpartition("-")[0]
        return (self.resource,)


class Answer(FrozenModel):
    """A danger with the acknowledgement that permits it; without a valid one, `refusal` says why."""

    danger: Danger
    acknowledgement: AcknowledgementSpec | None
    refusal: str

    @property
    def passes(self) -> bool:
        """Whether the change is permitted."""
        return not self.refusal


class Leftover(FrozenModel):
    """An acknowledgement that no danger needs, with a remark on it."""

    acknowledgement: AcknowledgementSpec
    remark: str


class Judgement(FrozenModel):
    """Every danger with its answer, on one day."""

    day: date
    answers: tuple[Answer, ...]
    leftovers: tuple[Leftover, ...]

    @property
    def refused(self) -> tuple[Answer, ...]:
        """The dangers without a valid acknowledgement."""
        return tuple(answer for answer in self.answers if not answer.passes)

    @property
    def passes(self) -> bool:
        """Whether every danger is acknowledged; also where there is none."""
        return not self.refused


class StatedJudgement(Judgement):
    """A judgement for scripts, which states whether it passes."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def passes(self) -> bool:
        """As of every judgement."""
        return super().passes


class JudgedDiff(PlanDiff):
    """A difference of two plans for scripts, with the guard's judgement."""

    guard: StatedJudgement
