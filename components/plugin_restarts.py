"""Waiting until an operator has restarted its device plug-ins for a changed configuration, which its status hides."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import pulumi

from gpu_fabric.plan import PlannedConfiguration

from .cluster.handle import ClusterHandle
from .cluster_api import ClusterApi, RequestError
from .waiting import Standing, api_of, once_waited, wait_for_nodes

# The operator writes the ConfigMap, and in the same turn the DaemonSet.
_TURN = 0.5


class Plugin(NamedTuple):
    """A device plug-in as the cluster has it: its configuration as text, and its DaemonSet; None where it is missing.

    `problem` says why nothing was seen.
    """

    text: str | None
    daemon_set: Mapping[str, Any] | None
    problem: str = ""


Look = Callable[[PlannedConfiguration], Plugin]


def when_restarted(
    planned: Sequence[PlannedConfiguration], cluster: ClusterHandle, resources: Sequence[pulumi.Input[pulumi.Resource]]
) -> tuple[pulumi.Input[pulumi.Resource], ...]:
    """The resources, known once every plug-in's pods were made from the configuration as it is planned.

    A preview waits for nothing. The run ends with an error that names the DaemonSet where the time is over.
    """

    async def waited(kubeconfig: str) -> None:
        await wait_until_restarted(planned, looking(kubeconfig, cluster.context), pulumi.log.info)

    return once_waited(cluster, resources, waited)


async def wait_until_restarted(planned: Sequence[PlannedConfiguration], look: Look, say: Callable[[str], None]) -> None:
    """Look again and again until no node runs a plug-in of another configuration.

    Raises:
        NodesError: naming each DaemonSet that is behind, and why.
    """

    def standing() -> Standing:
        lacks = {entry.daemon_set: lack for entry in planned if (lack := _lack(entry, look(entry)))}
        return Standing(len(planned), lacks)

    await wait_for_nodes(standing, "run with the planned configuration", planned[0].timeout, say, "device plug-ins")


def looking(kubeconfig: str, context: str | None) -> Look:
    """How to look at a plug-in in the cluster of a kubeconfig.

    A DaemonSet that seems done is looked at twice: the operator may be about to write it.
    """
    api = api_of(kubeconfig, context)

    def look(planned: PlannedConfiguration) -> Plugin:
        daemon_set = f"/apis/apps/v1/namespaces/{planned.namespace}/daemonsets/{planned.daemon_set}"
        config_map = f"/api/v1/namespaces/{planned.namespace}/configmaps/{planned.config_map}"
        try:
            found = _found(api, config_map)
            text = (found or {}).get("data", {}).get("config.json")
            seen = Plugin(text, _found(api, daemon_set))
            if _lack(planned, seen):
                return seen
            time.sleep(_TURN)
            return Plugin(text, _found(api, daemon_set))
        except RequestError as error:
            return Plugin(None, None, f"the cluster gives no answer: {error}")

    return look


def _found(api: ClusterApi, path: str) -> Mapping[str, Any] | None:
    try:
        found: Mapping[str, Any] = api.request("GET", path)
    except RequestError as error:
        if error.status == 404:
            return None
        raise
    return found


def _lack(planned: PlannedConfiguration, seen: Plugin) -> str:
    """Why a plug-in does not count as restarted, in words; empty where it does."""
    if seen.problem:
        return seen.problem
    if seen.text is None or seen.daemon_set is None:
        missing = planned.config_map if seen.text is None else planned.daemon_set
        return f"the operator has not made {missing} in {planned.namespace}"
    if not _means(seen.text, planned.text):
        return f"ConfigMap {planned.config_map} is not yet as the policy says: the operator has not written it"
    status = seen.daemon_set.get("status") or {}
    if status.get("observedGeneration") != seen.daemon_set["metadata"].get("generation"):
        return "Kubernetes has not seen its last change"
    # Pods alone that are of an earlier template: an unreachable node does not block an `up` that changes nothing.
    updated, wanted = (status.get(field, 0) for field in ("updatedNumberScheduled", "desiredNumberScheduled"))
    return "" if updated >= wanted else f"{updated} of {wanted} pods were restarted"


def _means(text: str, planned: str) -> bool:
    try:
        return bool(json.loads(text) == json.loads(planned))
    except ValueError:
        return False
