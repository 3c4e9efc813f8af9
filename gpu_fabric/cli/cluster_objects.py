"""The objects of a live cluster as `kubectl get -o json` would print them, for `gpu-fabric discover`."""

from __future__ import annotations

import json
from typing import Any

from gpu_fabric.cli.kubectl import ClusterError, Kubectl
from gpu_fabric.discover.cluster_objects import PATHS

_METADATA = ("name", "labels")
_STATUS = ("capacity", "conditions", "addresses", "nodeInfo", "interfaces", "node", "type", "ports")


def cluster_text(kubectl: Kubectl) -> tuple[str, tuple[str, ...]]:
    """A list of what is read of the cluster as JSON, and what the user may not read.

    Raises:
        ClusterError: the cluster was not reached, or its nodes may not be read.
    """
    items, forbidden = list[dict[str, Any]](), list[str]()
    for what, path in PATHS.items():
        try:
            found = kubectl.get(path)
        except ClusterError as error:
            if error.reason != "Forbidden" or what == "nodes":
                raise
            forbidden.append(f"{what} are not read: {error}")
            continue
        items += _items(found or {})
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), tuple(forbidden)


def _items(found: dict[str, Any]) -> list[dict[str, Any]]:
    """The objects of an answer, each with its kind, which the API server leaves out in a list."""
    if "items" not in found:
        return [_needed(found)] if found else []
    kind = str(found.get("kind", "")).removesuffix("List")
    return [_needed({"kind": kind, **item}) for item in found["items"] if isinstance(item, dict)]


def _needed(item: dict[str, Any]) -> dict[str, Any]:
    """An object without most of its length, which says nothing of a machine."""
    for part, keys in (("metadata", _METADATA), ("status", _STATUS)):
        if isinstance(found := item.get(part), dict):
            item = {**item, part: {key: value for key, value in found.items() if key in keys}}
    if item.get("kind") in ("SriovNetworkNodeState", "NicDevice", "NicClusterPolicy"):
        # What is asked of the NICs, and not what they are.
        item.pop("spec", None)
    return item
