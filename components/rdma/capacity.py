"""Waiting until every GPU node offers its GPUs, and later its rails' devices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple
from urllib.parse import urlencode

from gpu_fabric.plan.records import PlannedCapacity

from ..engine.cluster_api import ClusterApi, Json, RequestError
from ..engine.waiting import NodesError, NodeStatus, api_of, nodes_with, offered, wait_for_nodes

_REFUSED = (401, 403)
_ON_NODES = {"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"}


class Capacity(NamedTuple):
    """The resources that each GPU node offers, and those that its pods use."""

    offered: Mapping[str, Mapping[str, str]]
    taken: Mapping[str, frozenset[str]] = {}


Look = Callable[[], Capacity]


async def wait_until_offered(planned: PlannedCapacity, look: Look, say: Callable[[str], None]) -> None:
    """Poll until every node offers some of every resource.

    Raises:
        NodesError: naming each node that does not, with the rail and its resource.
    """
    rails = any(rail is not None for rail in planned.resources.values())
    aim = "offer their RDMA devices" if rails else "offer their GPUs"
    await wait_for_nodes(lambda: _status(planned, look()), aim, planned.timeout, say)


def looking(planned: PlannedCapacity, kubeconfig: str, context: str | None) -> Look:
    """A function that reads the cluster of a kubeconfig; it raises NodesError if the credentials are refused."""
    api = api_of(kubeconfig, context)

    def look() -> Capacity:
        try:
            found = {name: offered(node) for name, node in nodes_with(api, planned.nodes).items()}
            # There are many pods, and they matter only if something is not offered.
            lacking = any(_lacking(planned, resources) for resources in found.values())
            return Capacity(found, _taken(api) if lacking else {})
        except RequestError as error:
            if error.status in _REFUSED:
                raise NodesError(
                    f"the cluster refuses the stack's credentials: {error}. Where its kubeconfig has expired, "
                    "`pulumi refresh` renews it; then run `up` again"
                ) from None
            raise

    return look


def _taken(api: ClusterApi) -> dict[str, frozenset[str]]:
    """The resources that the pods on each node ask for. Raises RequestError."""
    pods: list[Json] = api.request("GET", f"/api/v1/pods?{urlencode(_ON_NODES)}")["items"]
    taken: dict[str, frozenset[str]] = {}
    for pod in pods:
        spec = pod["spec"]
        asked = (container.get("resources", {}).get("limits", {}) for container in spec["containers"])
        node = spec.get("nodeName", "")
        taken[node] = taken.get(node, frozenset()).union(*asked)
    return taken


def _status(planned: PlannedCapacity, seen: Capacity) -> NodeStatus:
    found = len(seen.offered)
    lacks = {node: lack for node in seen.offered if (lack := _lack(planned, seen, node))}
    few = f"there are {found} of {planned.count} nodes with the labels {planned.nodes}"
    return NodeStatus(found, lacks, missing=few if found < planned.count else "")


def _lack(planned: PlannedCapacity, seen: Capacity, node: str) -> str:
    """The rails that a node lacks, in words; empty if it lacks none.

    The device plug-in searches for NICs once a minute, and does not find a NIC in a pod's network namespace. So a
    resource that a pod on the node uses counts as offered.
    """
    taken = seen.taken.get(node, frozenset())
    lacking = [name for name in _lacking(planned, seen.offered[node]) if name not in taken]
    rails = {name: planned.resources[name] for name in lacking}
    return ", ".join(f"no {name}" + ("" if rail is None else f" (rail {rail})") for name, rail in rails.items())


def _lacking(planned: PlannedCapacity, resources: Mapping[str, str]) -> list[str]:
    return [name for name in planned.resources if resources.get(name, "0") == "0"]
