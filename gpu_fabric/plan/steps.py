"""The plan as a graph of steps: what they are made from, what is applied together, after what, and in which words."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import Field

from gpu_fabric.contract import FabricContract
from gpu_fabric.k8s.device_plugin import RdmaSharedDevicePluginConfig, SriovDevicePluginConfig
from gpu_fabric.model import FrozenModel
from gpu_fabric.plan.addresses import AddressPlan
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.devices import PlannedNodes
from gpu_fabric.plan.nccl_files import NcclFiles
from gpu_fabric.plan.rail import Rail
from gpu_fabric.plan.records import Item, PlannedObject, PlannedReadiness

NODES = "nodes"
"""What a step comes after that waits for the cluster's GPU nodes: not a step, since the cluster has them."""


class Words(FrozenModel):
    """A line of a report: a title, what is applied, and what is then waited for; empty where that is nothing."""

    title: str
    what: str
    waits: str = ""


class Step(FrozenModel):
    """Items of one component that are applied together, once every step of `after` is done.

    A name in `after` that the plan does not have is nothing to wait for. `component` is the name of the component that
    the items belong to, `kind` its type without the package's name; several steps may share one. With `in_order` each
    item comes after the one before it. What a `retained` step has applied stays on the cluster when it leaves the
    stack. `words` are the step's lines in reports.
    """

    name: str
    component: str
    kind: str
    items: tuple[Item, ...]
    after: tuple[str, ...] = ()
    in_order: bool = False
    retained: bool = Field(default=False, exclude_if=operator.not_)
    words: tuple[Words, ...] = ()


def in_order(steps: Iterable[Step]) -> tuple[Step, ...]:
    """The steps that have items, as they are listed, but each after all that it comes after.

    Raises:
        ValueError: two steps have one name, or steps come after each other in a circle.
    """
    listed: dict[str, Step] = {}
    for step in steps:
        if step.name in listed or step.name == NODES:
            raise ValueError(f"two steps are called {step.name}")
        listed[step.name] = step
    ordered: dict[str, Step] = {}

    def place(name: str, before: tuple[str, ...]) -> None:
        if name in before:
            raise ValueError(f"steps come after each other in a circle: {', '.join(before[before.index(name) :])}")
        if name in ordered or name not in listed or not listed[name].items:
            return
        for earlier in listed[name].after:
            place(earlier, (*before, name))
        ordered[name] = listed[name]

    for name in listed:
        place(name, ())
    return tuple(ordered.values())


@dataclass(frozen=True)
class Context:
    """A case with its addresses, rails, files and contract.

    `sriov_plugin` and `shared_plugin` configure the device plug-ins of all nodes; where node groups need their own,
    both are None and `node_groups` has them. `charts` are those that the stack installs; `namespaces` those of its
    operators, with whether privileged pods run there.
    """

    case: Case
    addresses: AddressPlan
    rails: tuple[Rail, ...]
    sriov_plugin: SriovDevicePluginConfig | None
    shared_plugin: RdmaSharedDevicePluginConfig | None
    node_groups: tuple[PlannedNodes, ...]
    nccl: NcclFiles
    contract: FabricContract
    charts: tuple[str, ...]
    namespaces: dict[str, bool]


def kinds(planned: Iterable[PlannedObject]) -> str:
    """How many objects there are of each kind."""
    counts = Counter(entry.object.kind for entry in planned)
    return ", ".join(f"{count} {kind}" for kind, count in counts.items())


def daemon_sets(planned: Iterable[PlannedObject]) -> str:
    """The DaemonSets among objects by name."""
    names = [entry.name for entry in planned if entry.object.kind == "DaemonSet"]
    return f"DaemonSet{'s' if len(names) > 1 else ''} {', '.join(names)}"


def conditions(readiness: PlannedReadiness) -> str:
    """The conditions of a readiness for people."""
    return " and ".join(map(condition, readiness.conditions))


def condition(wait_for: str | None) -> str:
    """A `pulumi.com/waitFor` condition for people."""
    return "" if wait_for is None else wait_for.removeprefix("jsonpath=")
