"""The rack of a job: its pods claim the channel of one, or of none and use the rails between all nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gpu_fabric.attach.choice import Chosen
from gpu_fabric.attach.devices import own_claims
from gpu_fabric.attach.kinds import Workload
from gpu_fabric.base.enumeration import quantity
from gpu_fabric.contract import FabricContract
from gpu_fabric.contract.fabric import PodDomain, pod_template_patch, without_channel

NO_RACK = "none"
"""The wish for pods without a channel."""

# Keys of a mapping above a pod template that multiply its pods: `size` is that of a LeaderWorkerSet's group.
_COUNTS = ("replicas", "parallelism", "size")


def in_rack(
    workload: Workload, chosen: Sequence[Chosen], contract: FabricContract, namespace: str, rack: str | None
) -> FabricContract:
    """The contract of a workload's pods: of one rack, or without channels. What cannot be is recorded as a problem.

    Without a wish it is the rack whose channel the pods claim, else the first. Pods in another namespace than the
    domains' have no channel.
    """
    place, racks = workload.place, {domain.name: domain for domain in contract.domains}
    if unknown := unknown_rack(contract, rack):
        place.refuse("ATT035", "", *unknown)
        return without_channel(contract)
    if not racks or rack == NO_RACK:
        return without_channel(contract)
    domain = racks[rack] if rack is not None else next(_claimed(chosen, contract), contract.domains[0])
    if namespace != domain.namespace:
        message = f"NVLink between nodes is for jobs in {domain.namespace}; these pods use the rails in {namespace}"
        place.note("ATT076", "metadata.namespace", message)
        return without_channel(contract)
    pods = _pods(workload, chosen)
    if pods > domain.nodes:
        message = f"{quantity(pods, 'pod')} of whole nodes, and the rack {domain.name} has {domain.nodes}"
        remedy = f"run {domain.nodes} or fewer, or write --rack {NO_RACK}: all pods then use the rails"
        place.refuse("ATT036", "", message, remedy)
    return _of(contract, domain)


def unknown_rack(contract: FabricContract, rack: str | None) -> tuple[str, str] | None:
    """What is wrong with a rack that the stack does not have, and what to write."""
    racks = tuple(domain.name for domain in contract.domains)
    if rack in (None, NO_RACK, *racks):
        return None
    offered = ", ".join((*racks, NO_RACK)) if racks else "nothing: leave --rack out"
    return f"the stack has no rack {rack} with NVLink between its nodes", f"write {offered}"


def of_rack(contract: FabricContract, rack: str | None) -> FabricContract:
    """The contract of pods in a rack, the first if none is named, or without channels."""
    if rack == NO_RACK or not contract.domains:
        return without_channel(contract)
    return _of(contract, next((domain for domain in contract.domains if domain.name == rack), contract.domains[0]))


def _of(contract: FabricContract, domain: PodDomain) -> FabricContract:
    """The contract of pods in a rack."""
    changes = {"domains": (domain,), "node_selector": {**contract.node_selector, **domain.node_selector}}
    alone = contract.model_copy(update=changes)
    return alone.model_copy(update={"pod_template_patch": pod_template_patch(alone)})


def _claimed(chosen: Sequence[Chosen], contract: FabricContract) -> Iterator[PodDomain]:
    """The racks whose channel the pods claim already."""
    by_template = {domain.template: domain for domain in contract.domains}
    for entry in chosen:
        yield from (by_template[name] for name in own_claims(entry.template, by_template).values())


def _pods(workload: Workload, chosen: Sequence[Chosen]) -> int:
    """The pods that run at a time, as far as the manifest counts them; a group of a LeaderWorkerSet has its leader."""
    counts = [_count(workload.place.content, entry.container.content) or 1 for entry in chosen]
    return max(counts) if workload.kind.kind == "LeaderWorkerSet" else sum(counts)


def _count(tree: Any, wanted: dict[str, Any]) -> int | None:
    """The product of the counts above a container; None where the tree does not have it."""
    if tree is wanted:
        return 1
    inner = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    found = next((count for value in inner if (count := _count(value, wanted)) is not None), None)
    if found is None or not isinstance(tree, dict):
        return found
    for key in _COUNTS:
        if isinstance(tree.get(key), int) and not isinstance(tree[key], bool):
            found *= tree[key]
    return found
