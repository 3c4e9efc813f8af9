"""Waiting until the machines of a pool have joined: Oracle reports self-managed ones as running long before."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pulumi

from gpu_fabric.base.cloud_time import MINUTE_VARIABLE
from gpu_fabric.plan.clouds.oke.resources import OkeResources, PlannedConstruct, joining_advice

from ..engine.cluster_api import RequestError
from ..engine.waiting import NodesError, NodeStatus, api_of, delay_resources, nodes_with, wait_for_nodes
from .handle import ClusterHandle, Resources

Look = Callable[[], Mapping[str, bool]]
"""Reads a pool's nodes, and whether each is ready."""


def when_joined(
    planned: OkeResources,
    pool: PlannedConstruct,
    cluster: ClusterHandle,
    machines: Sequence[pulumi.Resource],
    words: Callable[[str], str],
) -> Resources:
    """The resources of a pool's machines, known when all of its nodes are ready; a preview does not wait.

    After the time limit the run ends with an error: the number of nodes, and why others may not join, in `words` for
    the user's settings.
    """

    async def waited(kubeconfig: str) -> None:
        advice = words(joining_advice(planned, pool, await cluster.cluster_id.future() or ""))
        seconds = int(real_seconds(planned.join_minutes * 60))
        await wait_until_joined(pool, seconds, looking(pool, kubeconfig, cluster.context), pulumi.log.info, advice)

    return delay_resources(cluster, machines, waited)


async def wait_until_joined(
    pool: PlannedConstruct, seconds: int, look: Look, say: Callable[[str], None], advice: str
) -> None:
    """Poll until all nodes of a pool are ready.

    Raises:
        NodesError: naming the pool, how many joined, each that is not ready, and the advice.
    """
    try:
        await wait_for_nodes(lambda: _status(pool, look), f"of pool {pool.pool} are ready", seconds, say)
    except NodesError as error:
        raise NodesError(f"{error}\n{advice}") from None


def looking(pool: PlannedConstruct, kubeconfig: str, context: str | None) -> Look:
    """A function that reads the pool's nodes from the cluster of a kubeconfig."""
    api = api_of(kubeconfig, context)

    return lambda: {name: _is_ready(node) for name, node in nodes_with(api, pool.node_labels).items()}


def _status(pool: PlannedConstruct, look: Look) -> NodeStatus:
    try:
        seen = look()
    except RequestError as error:
        return NodeStatus(0, {}, missing=f"pool {pool.pool}: the cluster gives no answer: {error}")
    few = f"pool {pool.pool}: {len(seen)} of {pool.awaited} nodes have joined the cluster"
    lacks = {node: "it has joined, but is not ready" for node, ready in seen.items() if not ready}
    return NodeStatus(len(seen), lacks, missing=few if len(seen) < pool.awaited else "")


def _is_ready(node: Mapping[str, Any]) -> bool:
    conditions = node.get("status", {}).get("conditions", [])
    return any(entry["type"] == "Ready" and entry["status"] == "True" for entry in conditions)


def real_seconds(seconds: float) -> float:
    """Seconds of the cloud's time in real time, which is less for a simulated cloud, whose time passes faster."""
    return seconds / 60 * float(os.environ.get(MINUTE_VARIABLE, 60))
