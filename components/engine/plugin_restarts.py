"""Waiting until an operator has restarted its device plug-ins with a changed configuration, as its status omits."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from gpu_fabric.plan.records import PlannedConfiguration

from .cluster_api import RequestError, api_path, find
from .waiting import NodeStatus, api_of, wait_for_nodes

# Seconds: the operator writes the ConfigMap, and directly afterwards the DaemonSet. A ConfigMap counts as old when the
# second write is long over; Kubernetes gives both times in whole seconds.
_TURN = 0.5
_OLD = timedelta(seconds=3)


class Plugin(NamedTuple):
    """A device plug-in on the cluster: its configuration as text, and its DaemonSet; None if missing.

    `problem` is why they could not be read.
    """

    text: str | None
    daemon_set: Mapping[str, Any] | None
    problem: str = ""


Look = Callable[[], Plugin]


async def wait_until_restarted(planned: PlannedConfiguration, look: Look, say: Callable[[str], None]) -> None:
    """Poll until no node runs a plug-in with another configuration.

    Raises:
        NodesError: naming the DaemonSet, and why it is not ready.
    """

    def status() -> NodeStatus:
        lack = _lack(planned, look())
        return NodeStatus(1, {planned.daemon_set: lack} if lack else {})

    await wait_for_nodes(status, "run with the planned configuration", planned.timeout, say, "device plug-ins")


def looking(planned: PlannedConfiguration, kubeconfig: str, context: str | None) -> Look:
    """A function that reads the plug-in from the cluster of a kubeconfig.

    A DaemonSet that seems ready is read a second time if its ConfigMap is new: the operator may be about to write it.
    """
    api = api_of(kubeconfig, context)
    daemon_set = api_path("apps/v1", "daemonsets", planned.namespace, planned.daemon_set)
    config_map = api_path("v1", "configmaps", planned.namespace, planned.config_map)

    def look() -> Plugin:
        try:
            found = find(api, config_map) or {}
            text = found.get("data", {}).get("config.json")
            seen = Plugin(text, find(api, daemon_set))
            if _lack(planned, seen) or _is_old(found, api.date):
                return seen
            time.sleep(_TURN)
            return Plugin(text, find(api, daemon_set))
        except RequestError as error:
            return Plugin(None, None, f"the cluster gives no answer: {error}")

    return look


def _lack(planned: PlannedConfiguration, seen: Plugin) -> str:
    """Why a plug-in does not count as restarted; empty if it does."""
    if seen.problem:
        return seen.problem
    if seen.text is None or seen.daemon_set is None:
        missing = planned.config_map if seen.text is None else planned.daemon_set
        return f"the operator has not created {missing} in {planned.namespace}"
    if not _means(seen.text, planned.text):
        return f"ConfigMap {planned.config_map} does not match the policy yet: the operator has not written it"
    status = seen.daemon_set.get("status") or {}
    if status.get("observedGeneration") != seen.daemon_set["metadata"].get("generation"):
        return "Kubernetes has not seen its last change"
    # Only pods of an earlier template count, so that an unreachable node does not block an `up` without changes.
    updated, wanted = (status.get(field, 0) for field in ("updatedNumberScheduled", "desiredNumberScheduled"))
    return "" if updated >= wanted else f"{updated} of {wanted} pods were restarted"


def _is_old(config_map: Mapping[str, Any], now: datetime | None) -> bool:
    """Whether a ConfigMap's last write is long ago, by the cluster's own clock; not if either time is unknown."""
    writes = [entry["time"] for entry in config_map["metadata"].get("managedFields", ()) if "time" in entry]
    return now is not None and bool(writes) and now - datetime.fromisoformat(max(writes)) > _OLD


def _means(text: str, planned: str) -> bool:
    try:
        return bool(json.loads(text) == json.loads(planned))
    except ValueError:
        return False
