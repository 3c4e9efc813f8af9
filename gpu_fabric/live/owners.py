"""Operators by what they leave behind: finalizers, webhooks and marks on nodes, and whether they still run."""

from __future__ import annotations

from enum import Enum
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from gpu_fabric.base.tables import read_table
from gpu_fabric.live.cluster import Cluster, field
from gpu_fabric.live.software import installs, known_software, running
from gpu_fabric.live.stack import Stack
from gpu_fabric.model import FrozenModel


class Owner(FrozenModel):
    """A row of `owners.yaml`; `name` is its key, which is one of `software.yaml` too."""

    name: str
    sources: tuple[str, ...]
    groups: tuple[str, ...] = ()
    finalizers: tuple[str, ...] = ()
    webhooks: tuple[str, ...] = ()
    pods: str = ""
    upgrade_state: str = ""
    upgrade_notes: str = ""
    state_note: str = ""
    at_rest: str = ""
    wait_label: str = ""
    cordoned_by: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The operator for people."""
        return known_software()[self.name].title

    @property
    def release(self) -> str:
        """The name of the release that installs it, where it has one of its own."""
        return known_software()[self.name].release or self.name

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
    """The rows of `owners.yaml`."""
    table = read_table(Path(__file__).with_name("owners.yaml"))
    return tuple(Owner.model_validate({"name": name, **row}) for name, row in table.items())


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


def is_of(stack: Stack, owner: Owner) -> bool:
    """Whether the stack installs an operator, so that what it leaves behind is the stack's own."""
    return installs(stack, owner.name) is not None


def _fits(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
