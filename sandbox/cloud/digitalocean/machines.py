"""What happens behind the API: control planes start, nodes join and leave, managed plug-ins come and go."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from ipaddress import IPv4Network
from typing import TYPE_CHECKING

from ...home import ClusterRanges
from ..resource import Call, CloudError
from ..store import Record
from .api import TOKEN_DAYS, Api

if TYPE_CHECKING:
    from .doks_nodes import PoolNodes


def start_cluster(api: Api, cluster: Record) -> None:
    """Start a cluster's control plane; it takes the account's own token from then on."""
    endpoint = api.clusters.create(cluster["id"], ClusterRanges(cluster["cluster_subnet"], cluster["service_subnet"]))
    api.clusters.set_tokens(cluster["id"], {api.account_token: None})
    api.change(
        "clusters",
        cluster["id"],
        lambda record: record.update(endpoint=endpoint.server, authority=endpoint.authority),
    )


def bring_about(api: Api, cluster_id: str) -> None:
    """Make the cluster's nodes and managed plug-ins those that its records ask for. Does not wait for nodes."""
    from .doks_nodes import node_objects
    from .managed import managed_objects

    with api.store.lock(f"machines-{cluster_id}"):
        cluster = api.store.get("clusters", cluster_id)
        if cluster is None or not cluster["endpoint"]:
            return
        pools = api.pools(cluster_id)
        groups = [group for pool in pools if not pool["stuck"] for group in _groups(pool)]
        # the nodes are Droplets in the cluster's VPC, and known by their addresses there
        vpc = IPv4Network(api.found("vpcs", cluster["vpc_uuid"])["ip_range"])
        api.clusters.set_nodes(cluster_id, node_objects(cluster_id, cluster["region"], cluster["version"], vpc, groups))
        after = [cluster["plugins"], sorted({pool["size"] for pool in pools})]
        api.install("clusters", cluster, after, managed_objects)


def wait_for_nodes(api: Api, call: Call, cluster_id: str, pool_id: str) -> None:
    """Wait until every node of a pool is Ready, which makes it `running`. Raises CloudError when the run is ended."""

    def names() -> list[str]:
        pool = api.store.get("pools", pool_id)
        if pool is None:
            raise CloudError(f"node pool {pool_id} is gone")
        return [node["name"] for node in pool["nodes"]]

    api.wait_until_ready(call, cluster_id, names)
    api.change("pools", pool_id, _all_running)


def mint_credentials(api: Api, cluster_id: str, expire_seconds: int) -> tuple[str, datetime]:
    """A new token of a cluster with its expiry; 0 seconds mean a week. Must be called outside requests."""
    end = api.clock.today() + timedelta(seconds=expire_seconds or TOKEN_DAYS * 24 * 3600)
    token = f"sandbox_v1_{secrets.token_hex(32)}"
    # whole seconds are what the provider shows, and compares with the date
    end = end.replace(microsecond=0)
    api.change("clusters", cluster_id, lambda record: record["tokens"].update({token: end.isoformat()}))
    renew_tokens(api, cluster_id)
    return token, end


def renew_tokens(api: Api, cluster_id: str) -> None:
    """Let a cluster take the tokens that are good by the cloud's date, and the account's own."""
    with api.store.lock(f"machines-{cluster_id}"):
        cluster = api.store.get("clusters", cluster_id)
        if cluster is None or not cluster["endpoint"]:
            return
        good: dict[str, datetime | None] = {
            token: api.clock.on_real_clock(datetime.fromisoformat(end)) for token, end in cluster["tokens"].items()
        }
        api.clusters.set_tokens(cluster_id, {api.account_token: None, **good})


def _groups(pool: Record) -> Iterable[PoolNodes]:
    from .doks_nodes import PoolNodes

    # nodes of one pool may differ in labels, since a label that is dropped stays where it is
    by_labels: dict[tuple[tuple[str, str], ...], list[tuple[str, str]]] = {}
    for node in pool["nodes"]:
        by_labels.setdefault(tuple(sorted(node["labels"].items())), []).append((node["id"], node["name"]))
    for labels, nodes in by_labels.items():
        yield PoolNodes(
            pool=pool["name"],
            pool_id=pool["id"],
            size=pool["size"],
            nodes=tuple(nodes),
            labels=dict(labels),
            taints=tuple(pool["taints"]),
            gpu_partition_mode=pool["gpu_partition_mode"] or None,
        )


def _all_running(pool: Record) -> None:
    for node in pool["nodes"]:
        node["status"] = "running"
