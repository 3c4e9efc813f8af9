"""The NicClusterPolicy of a cluster that a stack shares: what it must offer, and what the stack adds to it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gpu_fabric.changes.markup import shorten
from gpu_fabric.changes.properties import differences
from gpu_fabric.findings import Finding, Seen, finding
from gpu_fabric.k8s.mellanox import NicClusterPolicy, NicNodePolicy
from gpu_fabric.live.cluster import Cluster, api_path, called, field
from gpu_fabric.live.examination import Examination
from gpu_fabric.live.fields import holders, overlaid
from gpu_fabric.live.stack import POLICY
from gpu_fabric.plan.records import ExpectedPolicy, ExpectedResource, PlannedAdoption
from gpu_fabric.spec.places import Location, dotted

Json = Mapping[str, Any]

# The prefix of resources that do not state one (Network Operator, its device plug-ins' arguments and defaults).
_PREFIXES = {"sriovDevicePlugin": "nvidia.com", "rdmaSharedDevicePlugin": "rdma"}
_LISTS = {"sriovDevicePlugin": "resourceList", "rdmaSharedDevicePlugin": "configList"}
_SHOWN = 200
# How the field managers of sections begin that stacks add.
_OF_STACKS = "gpu-fabric-"
_PLACE: Location = ("software", "networkOperator", "policy")
_BY_ADDRESS, _BY_INTERFACE = ("pciAddresses", "rootDevices"), ("pfNames", "ifNames")


def policy_differences(case: Examination) -> Iterator[Finding]:
    """What the cluster's policy lacks of what the stack uses, and why the stack's own sections cannot be added."""
    stack, cluster = case.stack, case.cluster
    if stack.sharing is not None and stack.sharing.policy is not None:
        of_cluster, of_nodes = (
            cluster.items(api_path(kind.api_version, kind.plural)) for kind in (NicClusterPolicy, NicNodePolicy)
        )
        specs = [field(item, "spec") or {} for item in (*of_cluster, *(of_nodes if of_cluster else ()))]
        name = called(POLICY, of_cluster[0]) if of_cluster else f"{POLICY}s"
        for problem in policy_problems(stack.sharing.policy, specs):
            yield finding(
                "PRE037", dotted(_PLACE), f"{name}: {problem}", seen=Seen(object=name, field="spec", value=problem)
            )
    for planned in stack.plan.records(PlannedAdoption):
        yield from _conflicts(planned, cluster)


def _conflicts(planned: PlannedAdoption, cluster: Cluster) -> Iterator[Finding]:
    """Values of other software where the stack has others, as the API server would find by server-side apply.

    What another stack has added is not known from here, and is a conflict when the sections are written.
    """
    path = f"{api_path(planned.api_version, planned.plural)}/{planned.name}"
    live, name = cluster.get(path), f"{planned.kind} {planned.name}"
    if live is None:
        if cluster.is_readable(path):
            seen = Seen(object=name, value="missing")
            yield finding(
                "PRE038",
                dotted(_PLACE),
                f"there is no {name} to adopt",
                "write policy: own: the stack creates it",
                seen=seen,
            )
        return
    there = live.get("spec") or {}
    found = [
        Seen(
            object=name, field=f"spec.{entry.path}", value=f"{_short(entry.old)}, and the plan has {_short(entry.new)}"
        )
        for entry in differences(there, overlaid(there, planned.spec))
        # A key more in a map takes nothing from another; in a list or a text it changes the whole.
        if (entry.kind == "changed" or not isinstance(field(there, *entry.keys[:-1]), Mapping))
        and not all(str(row.get("manager")).startswith(_OF_STACKS) for row in holders(live, ("spec", *entry.keys)))
    ]
    if found:
        text = "; ".join(f"{one.field}: it is {one.value}" for one in found)
        yield finding(
            "PRE038",
            dotted(_PLACE),
            f"{name} has other values in what the fabric needs, and they stay: {text}",
            seen=found,
        )


def policy_problems(expected: ExpectedPolicy, specs: Sequence[Json]) -> Iterator[str]:
    """A line for everything that the policies of the cluster lack; `specs` are the sections `spec` of all of them."""
    if not specs:
        yield "there is no NicClusterPolicy"
        return
    for section in expected.sections:
        if not any(field(spec, *section.split(".")) is not None for spec in specs):
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


def _short(value: object) -> str:
    return shorten(str(value), _SHOWN)


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
