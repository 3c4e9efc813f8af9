"""The proof of a node's fabric: by its condition where a check writes it, else by what the node offers."""

from __future__ import annotations

from gpu_fabric.base.api_objects import condition
from gpu_fabric.k8s.names import FABRIC_READY
from gpu_fabric.plan.records import PlannedWaves

from ..cluster_api import ClusterApi, Json
from ..node_states import lack_of_node
from ..waiting import offered
from .marks import PROVE, PROVED, annotations_of, is_cordoned, labels_of
from .software import Seen, is_ready
from .ways import unpublished

RAILS_CLOSED = "RailsClosed"
"""The reason of a condition that is True while rails are closed (gpu_fabric/on_nodes/readiness_rails.py)."""


def lack(planned: PlannedWaves, api: ClusterApi, node: Json, software: Seen) -> str:
    """What a node lacks of what it must offer, in words; empty if nothing. Raises RequestError."""
    name = node["metadata"]["name"]
    if condition(node, "Ready").get("status", "True") != "True":
        return "it is not Ready"
    if late := sorted(pod["metadata"]["name"] for pod in software.pods.get(name, ()) if not is_ready(pod)):
        return f"pods are not ready: {', '.join(late)}"
    resources = offered(node)
    wanted: dict[str, int] = {}
    for proven in planned.proven:
        if proven.labels.items() <= labels_of(node).items():
            wanted |= proven.resources
            # A NIC in a pod is published without its interface; a cordoned node has no jobs.
            if proven.nics is not None and is_cordoned(node) and (reason := unpublished(proven.nics, api, node)):
                return reason
    few = [name for name, least in wanted.items() if int(resources.get(name, "0")) < least]
    if few:
        return "it offers " + ", ".join(f"{resources.get(name, '0')} of {wanted[name]} {name}" for name in few)
    return next(filter(None, (lack_of_node(wait, api, node) for wait in planned.states)), "")


def answer(node: Json, token: str) -> tuple[bool, str]:
    """Whether the node's check has answered to this token, and why its fabric is not ready; empty if it is."""
    if annotations_of(node).get(PROVE) != token or annotations_of(node).get(PROVED) != token:
        return False, "its check has not answered"
    found = condition(node, FABRIC_READY)
    if not found:
        return False, f"it has no condition {FABRIC_READY}"
    if found["status"] == "True":
        # The node takes jobs that need fewer rails; a wave has proven it when all are open.
        closed = found.get("reason") == RAILS_CLOSED
        return True, f"rails are closed: {found.get('message', '')}" if closed else ""
    return True, f"{FABRIC_READY} is {found['status']}: {found.get('reason', '')} {found.get('message', '')}".rstrip()
