"""What lies between two rendered plans."""

from __future__ import annotations

from typing import Any, Literal

from fabric.model import FrozenModel
from fabric.plan.cost import HourlyRange
from fabric.resources import Loss
from fabric.spec.guard import Acknowledgement

Verdict = Literal["created", "changed", "replaced", "deleted"]
PlaceKey = Literal[
    "cluster.region",
    "cluster.provider",
    "cluster.id",
    "split.part",
    "split.clusterStack",
    "split.organization",
    "clusterId",
]


class Change(FrozenModel):
    """A property that differs; `old` is None where it is new, `new` where it is gone, and `kind` tells them apart.

    `forces` says that it cannot change in place, so that the resource is made anew; `renews` that the machines are.
    """

    path: str
    kind: Literal["added", "removed", "changed"]
    old: Any = None
    new: Any = None
    forces: bool = False
    renews: bool = False


class GroupChange(FrozenModel):
    """Objects of a kind that one resource holds together: the names of those more, fewer and otherwise."""

    kind: str
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]


class ResourceDiff(FrozenModel):
    """A resource that is not as it was.

    `reasons` say why it is made anew, beside the changes that force it. `follows` names the resource that takes it
    along, for what lies on a cluster; `held_by` names those that go and to which what goes refers. `lost` is what is
    gone with it for good or until it is made anew, and `networks` those of running jobs that need it. `first_deleted`:
    there is none between the old and the new. `renewed`: it changes in place, and its machines are drained and made or
    started anew. `retained`: the engine forgets it and leaves it where it is. `protected`:
    the engine refuses to take it away. `handling` are the fields by which the engine treats it otherwise.
    """

    verdict: Verdict
    name: str
    type: str
    identity: str
    component: str
    changes: tuple[Change, ...] = ()
    groups: tuple[GroupChange, ...] = ()
    handling: tuple[Change, ...] = ()
    reasons: tuple[str, ...] = ()
    follows: str | None = None
    held_by: tuple[str, ...] = ()
    lost: Loss = Loss()
    networks: tuple[str, ...] = ()
    first_deleted: bool = False
    renewed: bool = False
    protected: bool = False
    retained: bool = False


class Move(FrozenModel):
    """A node's share of a rail: `old` is None for a node more, `new` for a node that is gone."""

    node: str
    old: str | None
    new: str | None


class RailDiff(FrozenModel):
    """A rail whose addresses differ, with the spaces of its pool; None where there is no such rail.

    `kept_in` names the resources that hold its addresses before: its pool, or without one its networks.
    """

    rail: int
    kept_in: tuple[str, ...]
    old_space: str | None
    new_space: str | None
    moved: tuple[Move, ...]
    added: tuple[Move, ...]
    removed: tuple[Move, ...]


class PoolDiff(FrozenModel):
    """A pool of nodes that differs; each is None where there is no such pool."""

    name: str
    old_shape: str | None
    new_shape: str | None
    old_nodes: int
    new_nodes: int
    old_gpus: int
    new_gpus: int
    old_nics: int
    new_nics: int


class VersionDiff(FrozenModel):
    """A chart, an image, Kubernetes or the release line in another version; None where it is not used."""

    kind: Literal["release line", "Kubernetes", "chart", "image"]
    name: str
    old: str | None
    new: str | None


class CostDiff(FrozenModel):
    """The machines' cost an hour: as text before and after, and the difference where both are known as a whole."""

    old: str
    new: str
    difference: HourlyRange | None


class PlaceDiff(FrozenModel):
    """A cluster that is looked for elsewhere: no resource says so, but what asks the cloud or the cluster.

    `key` is the one of the stack file, or the output of the cluster's own stack; None stands for no value. `resource`
    is the cluster, or where the stack does not make it the provider of what lies on it. `lost` is what it takes along.
    """

    key: PlaceKey
    resource: str
    type: str
    identity: str
    old: str | None
    new: str | None
    lost: Loss

    @property
    def provider_of_another(self) -> str | None:
        """The provider by which everything is deleted on one cluster and made on another; None by another region."""
        return None if self.key == "cluster.region" else self.resource


class JobsDiff(FrozenModel):
    """What manifests of the contract before have otherwise than by the one after: resources, networks and ConfigMaps.

    A pod that asks for what is `gone` does not start; of a device that is only fewer, the amount before is told. One
    that was written before has nothing of what is `new`, and another amount, interface or path of what is `changed`.
    """

    gone: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


class FindingDiff(FrozenModel):
    """A finding of the rules that is new, or no longer there."""

    is_new: bool
    id: str
    severity: str
    path: str
    message: str


class PlanDiff(FrozenModel):
    """Everything between two plans of a stack.

    `lost` counts each node, GPU and address once, whatever number of resources takes it along. `elsewhere` names parts
    of the contract and of the plan's decisions that differ. `acknowledged` are the stack file's acknowledgements after,
    and `acknowledged_before` those before; they make no difference in what is made.
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
    elsewhere: tuple[str, ...]
    place: PlaceDiff | None = None
    jobs: JobsDiff | None = None
    acknowledged: tuple[Acknowledgement, ...] = ()
    acknowledged_before: tuple[Acknowledgement, ...] = ()

    def of(self, verdict: Verdict) -> tuple[ResourceDiff, ...]:
        """The resources of one verdict."""
        return tuple(resource for resource in self.resources if resource.verdict == verdict)

    @property
    def loses(self) -> bool:
        """Whether something is taken away: a resource deleted or made anew, nodes, or addresses in use."""
        moved = any(rail.moved or rail.removed for rail in self.rails)
        return moved or self.place is not None or self.lost != Loss() or bool(self.of("replaced") or self.of("deleted"))
