"""Operators by what they leave behind: finalizers, webhooks and marks on nodes, and whether they still run."""

from __future__ import annotations

from enum import Enum
from fnmatch import fnmatchcase
from functools import cache

from gpu_fabric.catalog import catalog
from gpu_fabric.catalog.operator import Leftovers
from gpu_fabric.preflight.cluster import Cluster, field
from gpu_fabric.preflight.software import running


class Owner(Leftovers):
    """An operator that leaves something behind: its name and title, its API groups, and its chart's release."""

    name: str
    title: str
    groups: tuple[str, ...]
    release: str

    def removes(self, finalizer: str) -> bool:
        """Whether the operator is the one that removes a finalizer."""
        return _fits(finalizer, self.finalizers)

    def registers(self, configuration: str) -> bool:
        """Whether a webhook configuration of this name is the operator's."""
        return _fits(configuration, self.webhooks)


class Presence(Enum):
    """Whether an operator runs, exists without a ready pod, or does not exist."""

    READY = "ready"
    DOWN = "down"
    GONE = "gone"


@cache
def owners() -> tuple[Owner, ...]:
    """The operators that leave something behind."""
    return tuple(
        Owner(name=name, title=row.title, groups=row.groups, release=row.release or name, **dict(row.leaves))
        for name, row in catalog().operators.items()
        if row.leaves is not None
    )


def presence(cluster: Cluster, owner: Owner) -> Presence:
    """Whether an operator runs; one whose workloads may not be read counts as running."""
    workloads = ("/apis/apps/v1/deployments", "/apis/apps/v1/daemonsets")
    if not all(cluster.is_readable(path) for path in workloads):
        return Presence.READY
    found = running(cluster, owner.name)
    if not found:
        return Presence.GONE
    ready = any(
        (field(entry.item, "status", "readyReplicas") or field(entry.item, "status", "numberReady") or 0) > 0
        for entry in found
    )
    return Presence.READY if ready else Presence.DOWN


def _fits(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
