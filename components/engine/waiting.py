"""Waiting for states of nodes that operators bring about, and that are not resources of the stack."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

import pulumi

from ..cluster.handle import ClusterHandle, Resources
from .cluster_api import ClusterApi, Json, RequestError

# Seconds between two requests, and of a reported failure until it counts: operators try again by themselves.
_PAUSE, _PATIENCE = 3.0, 60.0


class NodesError(pulumi.RunError):
    """Nodes are not in the wanted state; Pulumi prints the message without a traceback."""


class NodeStatus(NamedTuple):
    """The number of nodes, and what those that are not ready lack, in words.

    `failed` are the nodes for which waiting is probably useless. `missing` reports nodes that do not exist; empty if
    none is missing.
    """

    total: int
    lacks: Mapping[str, str]
    failed: frozenset[str] = frozenset()
    missing: str = ""


def delay_resources(cluster: ClusterHandle, resources: Resources, wait: Callable[[str], Awaitable[None]]) -> Resources:
    """The resources, known when all of them are applied and the wait, which gets the kubeconfig, has ended.

    A preview does not wait.
    """
    if pulumi.runtime.is_dry_run():
        return tuple(resources)

    async def waited(values: list[Any]) -> list[pulumi.Resource]:
        await wait(values[0])
        return values[1:]

    # The kubeconfig is secret; a resource that depends on it need not be.
    every: pulumi.Output[list[Any]] = pulumi.Output.all(cluster.kubeconfig, *map(applied, resources))
    over: pulumi.Output[list[pulumi.Resource]] = pulumi.Output.unsecret(every.apply(waited))
    return tuple(over[place] for place in range(len(resources)))


def applied(resource: pulumi.Input[pulumi.Resource]) -> pulumi.Output[pulumi.Resource]:
    """A resource, known when it is applied."""
    known: pulumi.Output[pulumi.Resource] = pulumi.Output.from_input(resource)
    return known.apply(lambda entry: entry.urn.apply(lambda _: entry))


async def wait_for_nodes(
    look: Callable[[], NodeStatus], aim: str, seconds: int, say: Callable[[str], None], what: str = "nodes"
) -> None:
    """Poll until every node, or every other thing that `what` names, is ready; `aim` describes the ready state.

    A look may raise RequestError, and is repeated.

    Raises:
        NodesError: naming each node that is not ready and what it lacks, at the time limit or if a node keeps failing.
    """
    end = time.monotonic() + seconds
    failing_since: dict[str, float] = {}
    said = ""
    while True:
        try:
            found = await asyncio.to_thread(look)
        except RequestError as error:
            found = NodeStatus(0, {}, missing=f"the cluster gives no answer: {error}")
        if not found.lacks and not found.missing:
            return
        now = time.monotonic()
        failing_since = {node: failing_since.get(node, now) for node in found.failed}
        if failed := [node for node, since in failing_since.items() if now - since > _PATIENCE]:
            raise NodesError(_complaint(f"{what} that kept failing:", {node: found.lacks[node] for node in failed}))
        if now > end:
            late = f"after {seconds} s not all {what} {aim}; those that lack something:" if found.lacks else ""
            missing = f"after {seconds} s {found.missing}" if found.missing else ""
            raise NodesError("\n".join(filter(None, [missing, _complaint(late, found.lacks)])))
        text = found.missing or f"{found.total - len(found.lacks)} of {found.total} {what} {aim}"
        if text != said:
            say(text)
            said = text
        await asyncio.sleep(_PAUSE)


def api_of(kubeconfig: str, context: str | None) -> ClusterApi:
    """The API of a kubeconfig's cluster, for one request at a time.

    Raises:
        NodesError: the kubeconfig cannot be used.
    """
    try:
        return ClusterApi(kubeconfig, context, 1)
    except RequestError as error:
        raise NodesError(f"the cluster: {error}") from None


def nodes_with(api: ClusterApi, labels: Mapping[str, str]) -> dict[str, Json]:
    """The nodes with all of the labels, by name. Raises RequestError."""
    selector = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
    return {node["metadata"]["name"]: node for node in api.items("/api/v1/nodes", selector)}


def offered(node: Json) -> dict[str, str]:
    """The resources that a node offers to pods."""
    found: dict[str, str] = node.get("status", {}).get("allocatable", {})
    return found


def _complaint(which: str, lacks: Mapping[str, str]) -> str:
    return "\n".join([which, *(f"  {node}: {lack}" for node, lack in lacks.items())]) if lacks else ""
