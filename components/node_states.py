"""Waiting for objects of which an operator makes one for every node, and which so cannot be resources of the stack."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import pulumi
import yaml

from components.cluster.handle import ClusterHandle
from fabric.plan import PlannedWait

# Seconds between two looks, and for how long a node may say that it failed: operators try again by themselves.
_PAUSE, _PATIENCE = 3.0, 60.0


class NodeStatesError(pulumi.RunError):
    """Nodes are not as wanted; the engine prints the message alone."""


class Seen(NamedTuple):
    """The cluster at one moment: what each node that counts offers, and the operator's objects, by node."""

    nodes: Mapping[str, Mapping[str, str]]
    states: Mapping[str, Mapping[str, Any]]


Look = Callable[[], Seen]


def when_synced(
    wait: PlannedWait, cluster: ClusterHandle, resources: Sequence[pulumi.Resource]
) -> tuple[pulumi.Input[pulumi.Resource], ...]:
    """The resources, known once every node's object has the wanted value after all of them were applied.

    A preview waits for nothing. The run ends with an error that names the nodes where the time is over, or where a
    node keeps failing.
    """
    if pulumi.runtime.is_dry_run():
        return tuple(resources)

    async def waited(values: list[Any]) -> list[pulumi.Resource]:
        await wait_until_synced(wait, looking(wait, values[0], cluster.context), pulumi.log.info)
        return list(resources)

    # A kubeconfig is secret, and a resource that depends on one need not be.
    applied: pulumi.Output[list[Any]] = pulumi.Output.all(cluster.kubeconfig, *(entry.urn for entry in resources))
    synced: pulumi.Output[list[pulumi.Resource]] = pulumi.Output.unsecret(applied.apply(waited))
    return tuple(synced[place] for place in range(len(resources)))


async def wait_until_synced(wait: PlannedWait, look: Look, say: Callable[[str], None]) -> None:
    """Look again and again until every node is as wanted.

    Raises:
        NodeStatesError: naming each node that is not, with the operator's own reason.
    """
    end = time.monotonic() + wait.timeout
    failing_since: dict[str, float] = {}
    said = ""
    while True:
        seen = await asyncio.to_thread(look)
        lacks = {node: lack for node in seen.nodes if (lack := _lack(wait, seen, node))}
        if seen.nodes and not lacks:
            return
        now = time.monotonic()
        failing_since = {node: failing_since.get(node, now) for node in lacks if _failed(wait, seen, node)}
        failed = [node for node, since in failing_since.items() if now - since > _PATIENCE]
        if failed or now > end:
            raise NodeStatesError(_complaint(wait, {node: lacks[node] for node in failed or lacks}, bool(failed)))
        text = f"{len(seen.nodes) - len(lacks)} of {len(seen.nodes)} nodes {_aim(wait)}"
        if text != said:
            say(text)
            said = text
        await asyncio.sleep(_PAUSE)


def looking(wait: PlannedWait, kubeconfig: str, context: str | None) -> Look:
    """How to look at the cluster of a kubeconfig; errors of the connection count as nothing found."""
    # Its import takes a second, and only stacks of this operator need it.
    from kubernetes import client, config
    from urllib3.exceptions import HTTPError

    api = config.new_client_from_config_dict(yaml.safe_load(kubeconfig), context=context)  # type: ignore[no-untyped-call]
    group, _, version = wait.api_version.rpartition("/")
    selector = ",".join(f"{key}={value}" for key, value in sorted(wait.nodes.items()))

    def look() -> Seen:
        try:
            # Plain JSON: making the client's objects of hundreds of nodes takes longer than the pause between looks.
            listing: Any = client.CoreV1Api(api).list_node(label_selector=selector, _preload_content=False)
            nodes: list[Any] = json.loads(listing.data)["items"]
            listing = client.CustomObjectsApi(api).list_namespaced_custom_object(
                group, version, wait.namespace, wait.plural, _preload_content=False
            )
            states: list[Any] = json.loads(listing.data)["items"]
        except (client.ApiException, HTTPError):
            return Seen({}, {})
        offered = {node["metadata"]["name"]: node["status"].get("allocatable", {}) for node in nodes}
        return Seen(
            {name: resources for name, resources in offered.items() if resources.get(wait.having, "0") != "0"},
            {item["metadata"]["name"]: item for item in states},
        )

    return look


def _lack(wait: PlannedWait, seen: Seen, node: str) -> str:
    """What a node lacks, in words; empty where it is as wanted."""
    if node not in seen.states:
        return f"the operator has no {wait.plural} for it"
    state = seen.states[node]
    if (value := _at(state, wait.field)) != wait.value:
        return f"{wait.field} is {value or 'not set'} {_at(state, wait.reason)}".rstrip()
    offered = seen.nodes[node]
    few = [name for name, least in wait.resources.items() if int(offered.get(name, "0")) < least]
    return ", ".join(f"{offered.get(name, '0')} of {wait.resources[name]} {name}" for name in few)


def _failed(wait: PlannedWait, seen: Seen, node: str) -> bool:
    return _at(seen.states.get(node, {}), wait.field) == wait.failed


def _aim(wait: PlannedWait) -> str:
    return "have their virtual functions" if wait.resources else "are known to the SR-IOV operator"


def _complaint(wait: PlannedWait, lacks: Mapping[str, str], failed: bool) -> str:
    if not lacks:
        return f"after {wait.timeout} s there is no node with {wait.having} and the labels {wait.nodes}"
    if failed:
        which = "nodes that kept failing:"
    else:
        which = f"after {wait.timeout} s not all nodes {_aim(wait)}; those that lack something:"
    return "\n".join([which, *(f"  {node}: {lack}" for node, lack in lacks.items())])


def _at(item: Mapping[str, Any], path: str) -> str:
    here: Any = item
    for key in path.split("."):
        here = here.get(key) if isinstance(here, Mapping) else None
    return "" if here is None else str(here)
