"""What happens to the account at once when a fault is ordered, without the stack's doing."""

from __future__ import annotations

from collections.abc import Callable

from ...home import SandboxHome
from ..resource import Call
from ..store import Record
from . import facts
from .api import TOKEN_DAYS, Api
from .kubernetes_clusters import forget_cluster
from .machines import bring_about, renew_tokens, wait_for_nodes
from .pool_records import DEFAULT_POOL_TAG, resize
from .provider import open_api

_DAY_S = 24 * 3600


def play(home: SandboxHome, name: str) -> str:
    """Let an event happen to every cluster; gives what has come of it. Raises SandboxError."""
    return play_on(open_api(home), name)


def play_on(api: Api, name: str) -> str:
    """Let an event happen on this account."""
    return _EVENTS[name](api)


def _credentials_expired(api: Api) -> str:
    api.clock.advance((TOKEN_DAYS + 1) * _DAY_S)
    clusters = api.store.list("clusters")
    for cluster in clusters:
        renew_tokens(api, cluster["id"])
    return f"the cloud's date is now {api.clock.today():%Y-%m-%d}: the kubeconfigs of {_those(clusters)} have expired"


def _version_bumped(api: Api) -> str:
    bumped = []

    def bump(cluster: Record) -> None:
        if version := facts.next_version(cluster["version"]):
            cluster["version"] = version
            bumped.append(f"{cluster['name']} has version {version}")

    for cluster in api.store.list("clusters"):
        api.change("clusters", cluster["id"], bump)
        bring_about(api, cluster["id"])
    return "; ".join(bumped) or "there is no cluster that could be upgraded"


def _cluster_gone(api: Api) -> str:
    clusters = api.store.list("clusters")
    for cluster in clusters:
        with api.store.lock():
            forget_cluster(api, cluster["id"])
        api.clusters.delete(cluster["id"])
    return f"deleted: {_those(clusters)}"


def _pool_resized(api: Api) -> str:
    pools = [pool for pool in api.store.list("pools") if DEFAULT_POOL_TAG not in pool["own_tags"]]
    scaled = [pool for pool in api.store.list("pools") if pool["auto_scale"]] or pools

    def grow(pool: Record) -> None:
        pool["count"] += 1
        resize(api, pool)

    for pool in scaled:
        api.change("pools", pool["id"], grow)
        bring_about(api, pool["cluster_id"])
        wait_for_nodes(api, Call(), pool["cluster_id"], pool["id"])
    return "; ".join(f"{pool['name']} has {pool['count'] + 1} nodes" for pool in scaled) or "there is no such pool"


def _default_tag_lost(api: Api) -> str:
    tagged = [pool for pool in api.store.list("pools") if DEFAULT_POOL_TAG in pool["own_tags"]]
    for pool in tagged:
        api.change("pools", pool["id"], lambda record: record["own_tags"].remove(DEFAULT_POOL_TAG))
    return f"tag {DEFAULT_POOL_TAG} removed from: {', '.join(pool['name'] for pool in tagged) or 'no pool'}"


def _those(clusters: list[Record]) -> str:
    return ", ".join(cluster["name"] for cluster in clusters) or "no cluster"


_EVENTS: dict[str, Callable[[Api], str]] = {
    "credentials-expired": _credentials_expired,
    "version-bumped": _version_bumped,
    "cluster-gone": _cluster_gone,
    "pool-resized": _pool_resized,
    "default-tag-lost": _default_tag_lost,
}
