"""Nodes as they are: what they offer of the rails, and whether their fabric was proven."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.base.api_objects import condition
from gpu_fabric.findings import Finding, Seen, finding, rules
from gpu_fabric.k8s.names import FABRIC_READY
from gpu_fabric.live.cluster import Cluster, name_of
from gpu_fabric.live.examination import Examination
from gpu_fabric.live.pool_nodes import allocatable
from gpu_fabric.live.pools import Pool, pools_of
from gpu_fabric.live.several import some
from gpu_fabric.live.stack import Stack
from gpu_fabric.plan.fabrics import is_storage
from gpu_fabric.plan.gpus import offers_whole_gpus
from gpu_fabric.plan.managers import MANAGERS
from gpu_fabric.spec.places import dotted


def node_drift(case: Examination) -> Iterator[Finding]:
    """What nodes lack of what the stack made on them."""
    stack, cluster = case.stack, case.cluster
    if not cluster.is_readable("/api/v1/nodes"):
        return
    for fabric, seen, words in lacking_offers(stack, cluster):
        yield finding("DRI030", dotted(fabric.in_fabric("rails")), words, seen=seen)
    for pool in pools_of(stack, cluster):
        yield from _proven(pool)


def offer_damages(case: Examination) -> Iterator[Finding]:
    """Nodes of a stack that was up which offer fewer GPUs or devices than a job takes."""
    if case.purpose == "up" and case.stack.has_been_up(case.cluster):
        for fabric, seen, words in lacking_offers(case.stack, case.cluster):
            yield finding("DOC073", dotted(fabric.in_fabric("rails")), words, rules()["DRI030"].remedy, seen=seen)


def lacking_offers(stack: Stack, cluster: Cluster) -> Iterator[tuple[Stack, Seen, str]]:
    """Devices and GPUs that nodes lack: the fabric, what was seen, and words.

    Those that the same nodes lack alike have one cause, and come together.
    """
    for fabric in stack.by_fabric:
        for pool in pools_of(fabric, cluster):
            if pool.certain:
                for nodes, resources in _lacking(fabric, pool).items():
                    yield fabric, *_offer_words(pool, dict(nodes), resources)


def _lacking(stack: Stack, pool: Pool) -> dict[tuple[tuple[str, int], ...], list[str]]:
    by_cloud = MANAGERS[stack.plan.choices.manager].devices_advertised_by is not None
    wanted = {name: amount for name, amount in stack.plan.workload.devices.items() if name in stack.resources}
    gpus = pool.shape.gpus.resource
    if offers_whole_gpus(stack.spec) and not is_storage(stack.spec.fabric):
        # Some of a node's GPUs are PRE055.
        wanted[gpus] = 1
    lacking: dict[tuple[tuple[str, int], ...], list[str]] = {}
    for resource, amount in sorted(wanted.items()):
        offers = {name_of(node): allocatable(node, resource) for node in pool.nodes}
        # A cloud's own plug-in that offers none of a rail is PRE071.
        fewer = {
            name: had for name, had in offers.items() if had < amount and (had or resource == gpus or not by_cloud)
        }
        if fewer:
            lacking.setdefault(tuple(sorted(fewer.items())), []).append(resource)
    return lacking


def _offer_words(pool: Pool, nodes: dict[str, int], resources: list[str]) -> tuple[Seen, str]:
    """What nodes lack, as evidence and in words."""
    name, offered = next(iter(nodes.items()))
    return (
        Seen(object=f"Node {name}", field=f"status.allocatable[{resources[0]}]", value=str(offered)),
        f"pool {pool.spec.name}: {some([*nodes])} {'offers' if len(nodes) == 1 else 'offer'} {offered} of "
        f"{some(resources)}, and a job takes more",
    )


def _proven(pool: Pool) -> Iterator[Finding]:
    rows = [(node, found) for node in pool.nodes if (found := condition(node, FABRIC_READY))]
    unproven = [(node, found) for node, found in rows if found.get("status") != "True"]
    if unproven:
        node, found = unproven[0]
        names = sorted(name_of(entry) for entry, _ in unproven)
        yield finding(
            "DRI031",
            dotted(pool.at("nodes")),
            f"pool {pool.spec.name}: the fabric of {some(names)} is not proven: "
            f"{found.get('message') or 'no message is given'}",
            seen=Seen(
                object=f"Node {name_of(node)}",
                field=f"status.conditions[{FABRIC_READY}]",
                value=f"{found.get('status')}, {found.get('reason') or 'without a reason'}",
            ),
        )
