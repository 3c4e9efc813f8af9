"""The rendered plan in memory: the content of its folder, before it is written and after it is read."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from gpu_fabric.findings.finding import Finding
from gpu_fabric.model import FrozenModel
from gpu_fabric.plan.steps import Words
from gpu_fabric.report.figure import Figure
from gpu_fabric.resources import Handling, Loss
from gpu_fabric.spec.guard import AcknowledgementSpec

VERSION: Literal["v1"] = "v1"
"""The version of the folder's layout; another version may name or arrange files differently."""


class RenderedResource(FrozenModel):
    """One resource of the stack.

    `name` and `component` are Pulumi's, `type` is the provider's token, and `identity` is the name in the target
    system: an object's kind, namespace and name, a release's, or a name at a cloud. Type and name together are unique.
    `file` is the file with its properties, relative to the folder. `loss` is what is lost when it is deleted or
    replaced. `properties` have the provider's names; in them, `<output …>`, `<lookup …>` and `<secret …>` replace
    values that are known only later or are never shown.
    """

    name: str
    component: str
    type: str
    identity: str
    provider: str
    file: str
    handling: Handling
    loss: Loss
    properties: dict[str, Any]


class RenderedStep(FrozenModel):
    """A step of the plan, the component that its resources belong to, and the steps that it comes after.

    `nodes` among those are the cluster's GPU nodes, which are no step. `words` are its lines in reports; a folder of an
    earlier version has none.
    """

    name: str
    component: str
    after: tuple[str, ...]
    words: tuple[Words, ...] = ()


class RenderedWait(FrozenModel):
    """A wait for something other than a resource: the plan's record and the waiting component; `field` is the step."""

    component: str
    field: str
    record: dict[str, Any]


class RenderedShare(NamedTuple):
    """A node's part of a rail: its pods' addresses, their gateway, and the host's own address; empty if it has none."""

    number: int
    node: str
    share: str
    gateway: str
    host: str


class RenderedRail(FrozenModel):
    """The addresses of a rail per node, and the pool that they belong to."""

    rail: int
    pool: str
    shares: tuple[RenderedShare, ...]


class RenderedFabric(FrozenModel):
    """A further fabric of a stack: the names of its pools, and what a rendered plan has of the first one.

    `allocation` and `facts` are its decisions: who holds an address; and rails, choices, bandwidth and node groups.
    """

    name: str
    pools: tuple[str, ...]
    proof: dict[str, Any] = {}
    rails: tuple[RenderedRail, ...] = ()
    contract: dict[str, Any] = {}
    allocation: dict[str, Any] | None = None
    facts: dict[str, Any] = {}


class RenderedPlan(FrozenModel):
    """A whole plan, or an empty one; `resources` are in an order in which they can be created.

    `decisions` are the other decisions of the plan: choices, rails, devices, the cluster. `proof` is the address plan
    without the shares, which are in `rails`. `nccl_files` are the files that pods read, by their path in the folder.
    `contract` is the `fabric` output; it and the proof are empty for a cluster stack. `report` is the plan as text.
    `acknowledgements` are those of the stack file; `steps` are applied on the cluster, in order; `figures` are those at
    the top of a report. A folder of an earlier version has none of the three. `fabrics` are further fabrics; all else
    about a fabric is that of the section `fabric`.
    """

    schema_version: Literal["v1"] = VERSION
    stack: str
    release_line: str = ""
    resources: tuple[RenderedResource, ...] = ()
    waits: tuple[RenderedWait, ...] = ()
    steps: tuple[RenderedStep, ...] = ()
    findings: tuple[Finding, ...] = ()
    acknowledgements: tuple[AcknowledgementSpec, ...] = ()
    figures: tuple[Figure, ...] = ()
    decisions: dict[str, Any] = {}
    proof: dict[str, Any] = {}
    rails: tuple[RenderedRail, ...] = ()
    nccl_files: dict[str, str] = {}
    contract: dict[str, Any] = {}
    report: str = ""
    fabrics: tuple[RenderedFabric, ...] = ()

    @property
    def by_fabric(self) -> dict[str, RenderedPlan]:
        """The plan as each fabric has it, by the fabric's name, which is empty for the first one."""
        cluster = self.decisions.get("cluster", {})
        taken = {pool for fabric in self.fabrics if fabric.contract.get("purpose") is None for pool in fabric.pools}
        own = [pool for pool in cluster.get("pools", ()) if pool["name"] not in taken]
        first = {**self.decisions, "cluster": {**cluster, "pools": own}} if self.fabrics else self.decisions
        return {"": self.model_copy(update={"decisions": first, "fabrics": ()})} | {
            fabric.name: self._narrowed(fabric, cluster) for fabric in self.fabrics
        }

    def _narrowed(self, fabric: RenderedFabric, cluster: dict[str, Any]) -> RenderedPlan:
        pools = [pool for pool in cluster.get("pools", ()) if pool["name"] in fabric.pools]
        decisions = {**self.decisions, **fabric.facts, "cluster": {**cluster, "pools": pools}}
        decisions.pop("allocation", None)
        if fabric.allocation is not None:
            decisions["allocation"] = fabric.allocation
        changes = {"proof": fabric.proof, "rails": fabric.rails, "contract": fabric.contract}
        return self.model_copy(update={**changes, "decisions": decisions, "fabrics": ()})


class RefusedPlan(FrozenModel):
    """The reasons why a stack has no plan: its file, and all its findings."""

    file: str
    findings: tuple[Finding, ...]
