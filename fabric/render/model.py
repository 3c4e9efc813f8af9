"""The rendered plan in memory: what its folder holds, and what a reader of the folder gets back."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from fabric.model import FrozenModel
from fabric.resources import Handling, Loss
from fabric.rules import Finding
from fabric.spec.guard import Acknowledgement

VERSION: Literal["v1"] = "v1"
"""The version of the folder's layout; another one may name or arrange files otherwise."""


class RenderedResource(FrozenModel):
    """One resource of the stack.

    `name` and `component` are the engine's, `type` is the provider's token, `identity` says what it is in its own
    world: an object's kind, namespace and name, a release's, or a name at a cloud. Type and name together are unique.
    `file` holds its properties, within the folder. `loss` is what is gone when it is deleted or made anew. In
    `properties`, which are under the provider's names, `<output …>`, `<lookup …>` and `<secret …>` stand for what is
    known only later or is never shown.
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


class RenderedWait(FrozenModel):
    """What is waited for that is no resource: the plan's record, in the component that waits."""

    component: str
    field: str
    record: dict[str, Any]


class RenderedShare(NamedTuple):
    """A node's part of a rail: what its pods may hold, their router, and the host's own address; empty where none."""

    number: int
    node: str
    share: str
    gateway: str
    host: str


class RenderedRail(FrozenModel):
    """The addresses of a rail, node by node, in the pool that serves it."""

    rail: int
    pool: str
    shares: tuple[RenderedShare, ...]


class RenderedPlan(FrozenModel):
    """A whole plan; `resources` are in the order in which they can be made.

    `decisions` are what the plan decides beside: choices, rails, devices, the cluster. `proof` is the address plan
    without the shares, which are in `rails`. `nccl_files` are the files that pods read, by their path in the folder.
    `contract` is the `fabric` output; it and the proof are empty where a stack makes a cluster alone. `report` is the
    plan for people. `acknowledgements` are those of the stack file; a folder of an earlier version has none.
    """

    schema_version: Literal["v1"] = VERSION
    stack: str
    release_line: str
    resources: tuple[RenderedResource, ...]
    waits: tuple[RenderedWait, ...]
    findings: tuple[Finding, ...]
    acknowledgements: tuple[Acknowledgement, ...] = ()
    decisions: dict[str, Any]
    proof: dict[str, Any]
    rails: tuple[RenderedRail, ...]
    nccl_files: dict[str, str]
    contract: dict[str, Any]
    report: str
