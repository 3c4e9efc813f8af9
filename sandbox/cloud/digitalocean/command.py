"""What the sandbox's `doctl` lists, changes and deletes of the simulated account."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from ...failure import SandboxError
from ...home import SandboxHome
from ..requests import Refused
from ..store import Record
from . import facts
from .api import Api
from .cluster_records import upgraded_cluster
from .kubernetes_clusters import forget_cluster
from .machines import bring_about
from .provider import open_api


def _clusters(home: SandboxHome, given: Sequence[str]) -> str:
    api = open_api(home)
    rows = [
        [each["id"], each["name"], each["region"], each["version"], each["status"], ",".join(_names(api, each))]
        for each in api.store.list("clusters")
    ]
    return _table(["ID", "Name", "Region", "Version", "Status", "Node Pools"], rows)


def _pools(home: SandboxHome, given: Sequence[str]) -> str:
    api = open_api(home)
    rows = [
        [each["id"], each["name"], each["size"], str(each["count"]), ",".join(each["tags"])]
        for each in api.pools(_cluster(api, given[0])["id"])
    ]
    return _table(["ID", "Name", "Size", "Count", "Tags"], rows)


def _versions(home: SandboxHome, given: Sequence[str]) -> str:
    return _table(["Slug", "Kubernetes Version"], [[slug, slug.partition("-")[0]] for slug in facts.versions()])


def _sizes(home: SandboxHome, given: Sequence[str]) -> str:
    rows = [[size.slug, str(size.memory_mib or ""), str(size.vcpus or "")] for size in facts.sizes().values()]
    return _table(["Slug", "Memory", "VCPUs"], rows)


def _no_surge(home: SandboxHome, given: Sequence[str]) -> str:
    api = open_api(home)
    cluster = _cluster(api, given[0])
    api.change("clusters", cluster["id"], lambda record: record.update(surge_upgrade=False))
    return _clusters(home, given)


def _upgrade(home: SandboxHome, given: Sequence[str]) -> str:
    api, (name, version) = open_api(home), given
    cluster = _cluster(api, name)
    try:
        with api.store.lock():
            upgraded_cluster(api, cluster, version)
    except Refused as error:
        raise SandboxError(str(error)) from None
    bring_about(api, cluster["id"])
    return ""


def _delete_cluster(home: SandboxHome, given: Sequence[str]) -> str:
    api = open_api(home)
    identifier = _cluster(api, given[0])["id"]
    with api.store.lock():
        forget_cluster(api, identifier)
    api.clusters.delete(identifier)
    return f"deleted: {identifier}"


def _delete_pool(home: SandboxHome, given: Sequence[str]) -> str:
    api = open_api(home)
    cluster = _cluster(api, given[0])
    pool = _one(api.pools(cluster["id"]), given[1], "node pool")
    api.store.remove("pools", pool["id"])
    bring_about(api, cluster["id"])
    return f"deleted: {pool['id']}"


def _cluster(api: Api, name: str) -> Record:
    return _one(api.store.list("clusters"), name, "cluster")


def _one(records: Iterable[Record], name: str, what: str) -> Record:
    """The record of this id or name."""
    found = next((each for each in records if name in (each["id"], each["name"])), None)
    if found is None:
        raise SandboxError(f"there is no {what} {name} in the simulated account")
    return found


def _names(api: Api, cluster: Record) -> list[str]:
    return [pool["name"] for pool in api.pools(cluster["id"])]


def _table(head: list[str], rows: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = ("    ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (head, *rows))
    return "\n".join(line.rstrip() for line in lines)


COMMANDS: Mapping[str, Callable[[SandboxHome, Sequence[str]], str]] = {
    "kubernetes cluster list": _clusters,
    "kubernetes cluster delete CLUSTER": _delete_cluster,
    "kubernetes cluster update CLUSTER --surge-upgrade=false": _no_surge,
    "kubernetes cluster upgrade CLUSTER --version VERSION": _upgrade,
    "kubernetes cluster node-pool list CLUSTER": _pools,
    "kubernetes cluster node-pool delete CLUSTER POOL": _delete_pool,
    "kubernetes options versions": _versions,
    "compute size list": _sizes,
}
"""What each command prints, by its words; those in capitals stand for an id or a name, which are given in order."""
