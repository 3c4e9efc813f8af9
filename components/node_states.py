"""Waiting for objects of which an operator makes one for every node, and which so cannot be resources of the stack."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import pulumi

from components.cluster.handle import ClusterHandle
from components.cluster_api import RequestError
from components.waiting import Standing, api_of, nodes_with, offered, once_waited, wait_for_nodes
from fabric.plan import PlannedWait


class Seen(NamedTuple):
    """The cluster at one moment: what each node that counts offers, and the operator's objects, by node.

    `problem` says why nothing was seen.
    """

    nodes: Mapping[str, Mapping[str, str]]
    states: Mapping[str, Mapping[str, Any]]
    problem: str = ""


Look = Callable[[], Seen]


def when_synced(
    wait: PlannedWait, cluster: ClusterHandle, resources: Sequence[pulumi.Resource]
) -> tuple[pulumi.Input[pulumi.Resource], ...]:
    """The resources, known once every node's object has the wanted value after all of them were applied.

    A preview waits for nothing. The run ends with an error that names the nodes where the time is over, or where a
    node keeps failing.
    """

    async def waited(kubeconfig: str) -> None:
        await wait_until_synced(wait, looking(wait, kubeconfig, cluster.context), pulumi.log.info)

    return once_waited(cluster, resources, waited)


async def wait_until_synced(wait: PlannedWait, look: Look, say: Callable[[str], None]) -> None:
    """Look again and again until every node is as wanted.

    Raises:
        NodesError: naming each node that is not, with the operator's own reason.
    """
    aim = "have their virtual functions" if wait.resources else "are known to the SR-IOV operator"
    await wait_for_nodes(lambda: _standing(wait, look()), aim, wait.timeout, say)


def looking(wait: PlannedWait, kubeconfig: str, context: str | None) -> Look:
    """How to look at the cluster of a kubeconfig."""
    api = api_of(kubeconfig, context)

    def look() -> Seen:
        try:
            nodes = nodes_with(api, wait.nodes)
            states = api.items(f"/apis/{wait.api_version}/namespaces/{wait.namespace}/{wait.plural}", "")
        except RequestError as error:
            return Seen({}, {}, f"the cluster gives no answer: {error}")
        resources = {name: offered(node) for name, node in nodes.items()}
        return Seen(
            {name: found for name, found in resources.items() if found.get(wait.having, "0") != "0"},
            {item["metadata"]["name"]: item for item in states},
        )

    return look


def _standing(wait: PlannedWait, seen: Seen) -> Standing:
    lacks = {node: lack for node in seen.nodes if (lack := _lack(wait, seen, node))}
    failed = frozenset(node for node in lacks if _at(seen.states.get(node, {}), wait.field) == wait.failed)
    none = f"there is no node with {wait.having} and the labels {wait.nodes}"
    return Standing(len(seen.nodes), lacks, failed, "" if seen.nodes else seen.problem or none)


def _lack(wait: PlannedWait, seen: Seen, node: str) -> str:
    """What a node lacks, in words; empty where it is as wanted."""
    if node not in seen.states:
        return f"the operator has no {wait.plural} for it"
    state = seen.states[node]
    if (value := _at(state, wait.field)) != wait.value:
        return f"{wait.field} is {value or 'not set'} {_at(state, wait.reason)}".rstrip()
    resources = seen.nodes[node]
    few = [name for name, least in wait.resources.items() if int(resources.get(name, "0")) < least]
    return ", ".join(f"{resources.get(name, '0')} of {wait.resources[name]} {name}" for name in few)


def _at(item: Mapping[str, Any], path: str) -> str:
    here: Any = item
    for key in path.split("."):
        here = here.get(key) if isinstance(here, Mapping) else None
    return "" if here is None else str(here)
