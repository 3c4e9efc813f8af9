"""A plan against the cluster that it shares: what the cluster's operators lack, and objects of other stacks."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gpu_fabric.plan import Plan
from gpu_fabric.plan.operators.sharing import SHARED, STACK_ANNOTATION
from gpu_fabric.plan.records import (
    ExpectedOperator,
    ExpectedPolicy,
    ExpectedResource,
    PlannedObject,
    PlannedSharing,
)

Json = Mapping[str, Any]

# The prefix of resources that do not state one (Network Operator, its device plug-ins' arguments and defaults).
_PREFIXES = {"sriovDevicePlugin": "nvidia.com", "rdmaSharedDevicePlugin": "rdma"}
_LISTS = {"sriovDevicePlugin": "resourceList", "rdmaSharedDevicePlugin": "configList"}
# Field managers of Pulumi's provider and of this program.
_PROGRAMS = ("pulumi", "gpu-fabric")
_BY_ADDRESS, _BY_INTERFACE = ("pciAddresses", "rootDevices"), ("pfNames", "ifNames")


def sharing_of(plan: Plan) -> PlannedSharing | None:
    """What a plan expects of the cluster that it shares; None on a cluster of its own."""
    return plan.record(PlannedSharing, SHARED)


def missing_definitions(operators: Iterable[ExpectedOperator], served: Mapping[str, Collection[str]]) -> Iterator[str]:
    """A line for every kind that the cluster lacks; `served` has the versions of each definition that is there."""
    for operator in operators:
        for wanted in operator.definitions:
            if wanted.name not in served:
                yield f"{operator.title}: the cluster has no definition {wanted.name}"
            elif wanted.version not in served[wanted.name]:
                there = ", ".join(sorted(served[wanted.name])) or "no version"
                yield f"{operator.title}: {wanted.name} is served in {there}, and not in {wanted.version}"


def taken_by_others(stack: str, found: Iterable[tuple[PlannedObject, Json]], has_run: bool) -> Iterator[str]:
    """A line for every object that exists and is not this stack's.

    An object is the stack's if it carries its mark. A stack that `has_run` before it shared its cluster wrote no mark:
    then an unmarked object that Pulumi manages counts as its own.
    """
    for planned, item in found:
        there = item.get("metadata", {})
        owner = (there.get("annotations") or {}).get(STACK_ANNOTATION)
        managers = [str(entry.get("manager")) for entry in there.get("managedFields") or ()]
        by_program = any(manager.startswith(_PROGRAMS) for manager in managers)
        if owner == stack or (owner is None and has_run and by_program):
            continue
        metadata = planned.object.metadata
        place = f"{metadata.namespace}/{metadata.name}" if metadata.namespace else metadata.name
        of = f"is of stack {owner}" if owner else "exists, and no stack has marked it as its own"
        yield f"{planned.object.kind} {place} {of}"


def policy_problems(expected: ExpectedPolicy, specs: Sequence[Json]) -> Iterator[str]:
    """A line for everything that the policies of the cluster lack; `specs` are the sections `spec` of all of them."""
    if not specs:
        yield "there is no NicClusterPolicy"
        return
    for section in expected.sections:
        if not any(_has(spec, section) for spec in specs):
            yield f"no policy has the section {section}"
    offers, unreadable = _offers(specs)
    yield from unreadable
    for wanted in expected.resources:
        plugin = "rdmaSharedDevicePlugin" if wanted.shared else "sriovDevicePlugin"
        same = [offer for offer in offers if offer.name == wanted.name and offer.plugin == plugin]
        if not same:
            others = ", ".join(sorted({offer.name for offer in offers if offer.plugin == plugin})) or "none"
            yield f"{wanted.name}: the section {plugin} offers no such resource; it offers {others}"
            continue
        problems = [list(_differences(wanted, offer)) for offer in same]
        if all(problems):
            yield from (f"{wanted.name}: {problem}" for problem in problems[0])


class _Offer(NamedTuple):
    """A resource of a live device plug-in's configuration: its alternative selectors, and how many pods share a NIC."""

    plugin: str
    name: str
    selectors: list[Json]
    pods: int | None


def _offers(specs: Sequence[Json]) -> tuple[list[_Offer], list[str]]:
    offers, unreadable = [], []
    for spec in specs:
        for plugin, listed in _LISTS.items():
            text = (spec.get(plugin) or {}).get("config")
            if text is None:
                continue
            try:
                entries = json.loads(text)[listed]
                offers += [_offer(plugin, entry) for entry in entries]
            except (ValueError, TypeError, KeyError, AttributeError):
                unreadable.append(f"the configuration in the section {plugin} cannot be read")
    return offers, unreadable


def _offer(plugin: str, entry: Json) -> _Offer:
    prefix = entry.get("resourcePrefix") or _PREFIXES[plugin]
    # The shared plug-in also takes a list of names where the selectors are.
    selectors = entry.get("selectors") or {"ifNames": entry.get("devices") or []}
    return _Offer(
        plugin=plugin,
        name=f"{prefix}/{entry['resourceName']}",
        selectors=list(selectors) if isinstance(selectors, list) else [selectors],
        pods=entry.get("rdmaHcaMax"),
    )


def _differences(wanted: ExpectedResource, offer: _Offer) -> Iterator[str]:
    if offer.pods is not None and offer.pods < wanted.pods:
        yield f"{offer.pods} pods may share a NIC (rdmaHcaMax), and the stack plans {wanted.pods}"
    for keys, facts, what in (
        (_BY_ADDRESS, wanted.addresses, "PCI addresses"),
        (_BY_INTERFACE, wanted.interfaces, "interfaces"),
    ):
        stated = {_plain(value) for entry in offer.selectors for key in keys for value in entry.get(key) or ()}
        if not stated:
            continue
        if None in facts:
            yield f"it selects {what} {', '.join(sorted(stated))}, and those of this stack's rails are not known"
        elif stated != set(facts):
            planned = ", ".join(sorted(str(fact) for fact in facts))
            yield f"it selects {what} {', '.join(sorted(stated))}, and the plan's are {planned}"
    unplaced = any(not any(entry.get(key) for key in (*_BY_ADDRESS, *_BY_INTERFACE)) for entry in offer.selectors)
    if unplaced and not wanted.all_rails:
        yield "it selects NICs by their kind alone, and the plan's resource is one rail's"


def _plain(value: str) -> str:
    """A name without the range of functions that follows it, as in `enp24s0np0#0-3`."""
    return value.partition("#")[0]


def _has(spec: Json, section: str) -> bool:
    here: Any = spec
    for key in section.split("."):
        here = here.get(key) if isinstance(here, Mapping) else None
    return here is not None
