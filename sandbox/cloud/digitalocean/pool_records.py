"""Node pools as the API keeps them: what a request makes of a pool, and how the provider shows one."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from ..store import Record
from ..wire import Properties
from . import facts
from .api import Api, new_id, shown
from .validation import check_account, check_pool

DEFAULT_POOL_TAG = "terraform:default-node-pool"
_SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxyz0123456789"


def new_pool(api: Api, cluster: Record, inputs: Mapping[str, Any], *, default: bool = False) -> Record:
    """Make a pool of a cluster, inside a request; its nodes are yet to join. Raises Refused."""
    pool = _asked(inputs)
    check_pool(api, cluster, api.pools(cluster["id"]), pool)
    if not default:
        check_account(api, [pool["size"]])
    own_tags = ["k8s", f"k8s:{cluster['id']}", "k8s:worker", *([DEFAULT_POOL_TAG] if default else [])]
    pool |= {
        "id": new_id(),
        "cluster_id": cluster["id"],
        "own_tags": own_tags,
        # a pool in which nothing moves: its nodes never join
        "stuck": not default and api.faults.happens("pool-never-ready"),
        "nodes": [],
    }
    resize(api, pool)
    switch_on_plugins(cluster, pool["size"])
    return api.store.add("pools", pool)


def changed_pool(api: Api, pool: Record, cluster: Record, inputs: Mapping[str, Any]) -> Record:
    """A pool as an update wants it, inside a request. Raises Refused."""
    asked = _asked(inputs)
    asked["size"], asked["gpu_partition_mode"] = pool["size"], pool["gpu_partition_mode"]
    if inputs.get("nodeCount") is None:
        asked["count"] = pool["count"]
    if not asked["labels"]:
        # an empty map is left out of the request
        asked["labels"] = pool["labels"]
    check_pool(api, cluster, [other for other in api.pools(cluster["id"]) if other["id"] != pool["id"]], asked)
    pool = pool | asked
    for node in pool["nodes"]:
        # labels and taints that the pool no longer has stay on existing nodes
        node["labels"] = node["labels"] | pool["labels"]
    resize(api, pool)
    api.store.put("pools", pool)
    return pool


def resize(api: Api, pool: Record) -> None:
    """Grow or shrink a pool's list of nodes to its count: new nodes are appended, the newest are deleted first."""
    now = api.stamp()
    taken = {node["name"] for node in pool["nodes"]}
    while len(pool["nodes"]) < pool["count"]:
        name = f"{pool['name']}-{''.join(secrets.choice(_SUFFIX_LETTERS) for _ in range(5))}"
        if name in taken:
            continue
        taken.add(name)
        pool["nodes"].append(
            {
                "id": new_id(),
                "name": name,
                "droplet_id": str(400_000_000 + secrets.randbelow(100_000_000)),
                "status": "provisioning",
                "labels": dict(pool["labels"]),
                "created_at": now,
                "updated_at": now,
            }
        )
    del pool["nodes"][pool["count"] :]


def switch_on_plugins(cluster: Record, size: str) -> None:
    """The cluster add-ons that DigitalOcean switches on for a pool of this size, unless the user has set them."""
    found, plugins = facts.sizes()[size], cluster["plugins"]
    if found.vendor and not plugins.get(f"{found.vendor}GpuDraDriver"):
        plugins.setdefault(f"{found.vendor}GpuDevicePlugin", True)
    if found.multi_node:
        plugins.setdefault("rdmaSharedDevicePlugin", True)


def pool_properties(pool: Record, *, with_count: bool) -> Properties:
    """A pool as the provider shows it; `nodeCount` only where the program gave one, or on import."""
    properties = {
        # the provider hides the tags that DigitalOcean and Terraform set
        **shown(pool, "name", "size", "auto_scale", "min_nodes", "max_nodes", "labels", "taints", "tags"),
        **shown(pool, "gpu_partition_mode"),
        "actualNodeCount": pool["count"],
        "nodes": [
            shown(node, "id", "name", "status", "droplet_id", "created_at", "updated_at") for node in pool["nodes"]
        ],
    }
    return properties | ({"nodeCount": pool["count"]} if with_count else {})


def count_is_met(state: Mapping[str, Any], news: Mapping[str, Any]) -> bool:
    """Whether a difference in `nodeCount` is ignored: the program sets no count, or the present one."""
    return news.get("nodeCount") in (None, state.get("actualNodeCount"))


def _asked(inputs: Mapping[str, Any]) -> Record:
    auto_scale, least = bool(inputs.get("autoScale")), int(inputs.get("minNodes") or 0)
    most, count = int(inputs.get("maxNodes") or 0), int(inputs.get("nodeCount") or 0)
    if auto_scale and not least <= count <= most:
        count = least
    return {
        "name": inputs["name"],
        "size": inputs["size"],
        "count": count,
        "auto_scale": auto_scale,
        # the API has no bounds for a pool that is not scaled
        "min_nodes": least if auto_scale else 0,
        "max_nodes": most if auto_scale else 0,
        "labels": dict(inputs.get("labels") or {}),
        "taints": list(inputs.get("taints") or []),
        "tags": sorted(inputs.get("tags") or []),
        "gpu_partition_mode": inputs.get("gpuPartitionMode") or "",
    }
