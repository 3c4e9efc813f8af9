"""Waiting for objects of which an operator makes one for every node, and which so cannot be resources of the stack."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pulumi
import yaml

from components.cluster.handle import ClusterHandle
from fabric.plan import PlannedWait

# Seconds between two looks, and for how long a node may say that it failed: operators try again by themselves.
_PAUSE, _PATIENCE = 3.0, 60.0

# What is asked of the cluster: the names of the nodes that count, and the objects by name.
Look = Callable[[], tuple[list[str], Mapping[str, Mapping[str, Any]]]]


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
        RuntimeError: naming each node that is not, with the operator's own reason.
    """
    end = time.monotonic() + wait.timeout
    failing_since: dict[str, float] = {}
    said = ""
    while True:
        nodes, found = await asyncio.to_thread(look)
        states = {node: _at(found.get(node, {}), wait.field) for node in nodes}
        missing = {node: state for node, state in states.items() if state != wait.value}
        if nodes and not missing:
            return
        now = time.monotonic()
        failing_since = {node: failing_since.get(node, now) for node, state in missing.items() if state == wait.failed}
        failed = [node for node, since in failing_since.items() if now - since > _PATIENCE]
        if failed or now > end:
            raise RuntimeError(_complaint(wait, failed or sorted(missing), found, timed_out=not failed))
        text = f"{len(nodes) - len(missing)} of {len(nodes)} nodes have {wait.field} {wait.value}"
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

    def look() -> tuple[list[str], Mapping[str, Mapping[str, Any]]]:
        try:
            nodes: Any = client.CoreV1Api(api).list_node(label_selector=selector).items
            listing: Any = client.CustomObjectsApi(api).list_namespaced_custom_object(
                group, version, wait.namespace, wait.plural
            )
        except (client.ApiException, HTTPError):
            return [], {}
        return [node.metadata.name for node in nodes], {item["metadata"]["name"]: item for item in listing["items"]}

    return look


def _complaint(
    wait: PlannedWait, nodes: Sequence[str], found: Mapping[str, Mapping[str, Any]], *, timed_out: bool
) -> str:
    lines = [
        f"  {node}: {_at(found[node], wait.field) or 'no state'} {_at(found[node], wait.reason)}".rstrip()
        if node in found
        else f"  {node}: the operator has no {wait.plural} for it"
        for node in nodes
    ]
    when = f"after {wait.timeout} s" if timed_out else "and keeps saying so"
    what = f"no node with {wait.nodes} was found" if not nodes else f"{wait.field} is not {wait.value} {when}:"
    return "\n".join([f"{wait.plural} in {wait.namespace}: {what}", *lines])


def _at(item: Mapping[str, Any], path: str) -> str:
    here: Any = item
    for key in path.split("."):
        here = here.get(key) if isinstance(here, Mapping) else None
    return "" if here is None else str(here)
