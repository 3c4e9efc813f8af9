"""What the APIs of all simulated clouds have in common: requests that may be refused or fail, and are tried again."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from .clock import Clock
from .faults import Faults
from .resource import Call, CloudError
from .store import Record, Store

if TYPE_CHECKING:
    from ..home import ClusterRanges
    from .clusters import Endpoint

T = TypeVar("T")

# Waits between tries grow from the first to the second, in seconds.
_RETRY_WAIT_S = (1, 30)
# Real seconds after which nodes that do not join are this sandbox's failure, not a simulated one.
_JOIN_WITHIN_S = 120.0
_POLL_S = 0.1


class Clusters(Protocol):
    """The control planes behind the clusters: `sandbox.cloud.clusters.ControlPlanes`."""

    def create(self, cluster: str, ranges: ClusterRanges) -> Endpoint: ...
    def set_tokens(self, cluster: str, tokens: Mapping[str, datetime | None]) -> None: ...
    def set_nodes(self, cluster: str, nodes: list[Record]) -> None: ...
    def ready_nodes(self, cluster: str) -> set[str]: ...
    def apply(self, cluster: str, manifests: list[Record]) -> None: ...
    def remove(self, cluster: str, manifests: list[Record]) -> None: ...
    def delete(self, cluster: str) -> None: ...


class Refused(Exception):
    """The API's answer to a request that it does not carry out; the provider puts it into its own words."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Account:
    """One account of a simulated cloud, as one instance of its provider uses it.

    `outages` gives status and text of the answer to a request that a fault of that name meets.
    """

    outages: Mapping[str, tuple[int, str]]

    def __init__(self, store: Store, faults: Faults, clock: Clock, clusters: Clusters, retries: int) -> None:
        self.store = store
        self.faults = faults
        self.clock = clock
        self.clusters = clusters
        self.retries = retries

    def attempt(self, call: Call, action: Callable[[], T], failed: Callable[[int, str, int], CloudError]) -> T:
        """Carry out one request; no other runs in between.

        Raises the error that `failed` builds from status, text and the number of tries (0 where the API refused).
        """
        tries = 0
        while True:
            tries += 1
            call.check_cancelled()
            outage = next((answer for name, answer in self.outages.items() if self.faults.happens(name)), None)
            if outage is None:
                try:
                    with self.store.lock():
                        return action()
                except Refused as error:
                    raise failed(error.status, str(error), 0) from None
            status, message = outage
            if tries > self.retries:
                raise failed(status, message, tries)
            call.say(f"{status} from the API, trying again ({tries} of {self.retries})")
            first, longest = _RETRY_WAIT_S
            self.clock.stopwatch().wait_until(min(first * 2 ** (tries - 1), longest), call.cancelled)

    def change(self, collection: str, identifier: str, edit: Callable[[Record], Any]) -> Record | None:
        """Edit an object's record by itself; None when it is gone."""
        with self.store.lock():
            record = self.store.get(collection, identifier)
            if record is not None:
                edit(record)
                self.store.put(collection, record)
            return record

    def install(self, collection: str, cluster: Record, after: list[Any], objects: Callable[..., list[Record]]) -> None:
        """Give a cluster the cloud's own objects that follow from `after`, and take away those of before."""
        before, identifier = cluster["managed"], cluster["id"]
        if before == after:
            return
        wanted = objects(*after)
        names = {_name(manifest) for manifest in wanted}
        gone = [manifest for manifest in objects(*before) if _name(manifest) not in names] if before else []
        self.clusters.remove(identifier, gone)
        self.clusters.apply(identifier, wanted)
        self.change(collection, identifier, lambda record: record.update(managed=after))

    def wait_until_ready(self, call: Call, cluster_id: str, names: Callable[[], list[str]]) -> None:
        """Wait until the nodes of these names are Ready. Raises CloudError when the run is ended."""
        deadline = time.monotonic() + _JOIN_WITHIN_S
        while True:
            call.check_cancelled()
            wanted, ready = names(), self.clusters.ready_nodes(cluster_id)
            missing = [name for name in wanted if name not in ready]
            if not missing:
                return
            if time.monotonic() > deadline:
                raise CloudError(f"the sandbox's nodes did not become Ready: {', '.join(missing)}")
            call.say(f"{len(wanted) - len(missing)} of {len(wanted)} nodes are running")
            call.cancelled.wait(_POLL_S)


def _name(manifest: Record) -> tuple[str, str]:
    return manifest["kind"], manifest["metadata"]["name"]
