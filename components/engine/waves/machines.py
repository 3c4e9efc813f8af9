"""Machines that are replaced in their node's wave: which are due, what is on its way, and which node is its successor.

A Node object is deleted with its machine, and with it the wave's mark. So a ConfigMap has what was replaced, by the
machine's id, until a node that was not there before has joined its pool: that node gets a mark of its own.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from gpu_fabric.plan.clouds import POOL_LABEL
from gpu_fabric.plan.records import PlannedMachines

from ..cluster_api import ClusterApi, Json, RequestError, api_path, find, merge
from ..waiting import NodesError
from .marks import UPGRADED, WAVE, annotations_of, labels_of
from .oke_pools import OkePools, Pool

# Seconds between two questions to Oracle about a machine: each starts a program.
_PAUSE = 30.0
_VERSION = re.compile(r"v?(\d+)\.(\d+)\.(\d+)")


class Replaced(NamedTuple):
    """A machine that makes room for another: its node and pool, the machines that were there, and since when.

    `failed` says why no other came; empty while one may.
    """

    node: str
    pool: str
    before: tuple[str, ...]
    since: datetime
    failed: str = ""

    def to_json(self) -> str:
        """The text in the ConfigMap."""
        return json.dumps({**self._asdict(), "since": self.since.isoformat()})


class Successor(NamedTuple):
    """A node that has joined in the place of another, and why it is none; empty if it is."""

    node: Json
    machine: str
    wrong: str


class WaveMachines:
    """The machines of one run of waves."""

    def __init__(self, planned: PlannedMachines, api: ClusterApi, oracle: OkePools) -> None:
        self._planned = planned
        self._api = api
        self._oracle = oracle
        self._pools: dict[str, Pool] | None = None
        self._images: dict[str, str] | None = None
        self._asked: dict[str, float] = {}
        self._busy: set[str] = set()
        self._errors: dict[str, str] = {}

    def outdated(self, node: Json) -> str:
        """Why a node's machine is not as its pool makes them now; empty if it is. Raises RequestError."""
        pool, machine = self._pool(node), machine_of(node)
        if pool is None or not machine:
            return ""
        kubelet = str((node.get("status", {}).get("nodeInfo") or {}).get("kubeletVersion") or "")
        has, wanted = _version(kubelet), _version(pool.version)
        if has and wanted and has < wanted:
            return f"its kubelet is {kubelet}, and its pool makes {pool.version}"
        image = self._image(machine)
        if image and pool.image and image != pool.image:
            return f"its image is {image}, and its pool makes {pool.image}"
        return ""

    def replace(self, node: Json, nodes: Iterable[Json], now: datetime) -> str:
        """Have a node's machine replaced; what is not yet done. Raises RequestError."""
        pool, machine = self._pool(node), machine_of(node)
        if pool is None:
            return "its pool is not there any more"
        name = labels_of(node)[POOL_LABEL]
        if machine not in (entries := self.entries()):
            before = {machine_of(entry) for entry in nodes if labels_of(entry).get(POOL_LABEL) == name} - {""}
            # Those that have gone and are awaited count as well, for the pool will be as large as it was.
            before = before.union(*(entry.before for entry in entries.values() if entry.pool == name))
            entry = Replaced(node["metadata"]["name"], name, tuple(sorted(before)), now)
            # Before the order: a run that is killed after it must find what it has done.
            self._write({machine: entry.to_json()})
        if self._may_ask(machine) and self._oracle.has(pool, machine):
            self._busy.discard(machine)
            if not self._oracle.replace(pool, machine):
                self._busy.add(machine)
        if machine in self._busy:
            return "Oracle is busy with its pool, and is asked again to replace its machine"
        return f"its machine is being replaced: {self.outdated(node)}"

    def entries(self) -> dict[str, Replaced]:
        """What was replaced and has no successor yet, by the machine's id. Raises RequestError."""
        found = find(self._api, self._path) or {}
        return {machine: _entry(text) for machine, text in (found.get("data") or {}).items()}

    def gone(self, nodes: Iterable[Json]) -> dict[str, Replaced]:
        """Those of the entries whose node is gone. Raises RequestError."""
        there = {machine_of(node) for node in nodes}
        return {machine: entry for machine, entry in self.entries().items() if machine not in there}

    def successor(self, entry: Replaced, nodes: Iterable[Json]) -> Successor | None:
        """The node that has come in the place of a machine; None while there is none. Raises RequestError.

        A node with annotations of the waves has taken another's place.
        """
        for node in nodes:
            machine = machine_of(node)
            joined = machine and machine not in entry.before and labels_of(node).get(POOL_LABEL) == entry.pool
            if joined and not {WAVE, UPGRADED} & annotations_of(node).keys():
                return Successor(node, machine, self.outdated(node))
        return None

    def is_full(self, entry: Replaced, nodes: Iterable[Json]) -> bool:
        """Whether the pool has as many nodes as before, so that no machine is still to come."""
        return sum(labels_of(node).get(POOL_LABEL) == entry.pool for node in nodes) >= len(entry.before)

    def lack(self, entry: Replaced) -> str:
        """Why a machine's successor has not joined yet, as far as it is known. Raises RequestError."""
        text = f"no other node has joined pool {entry.pool} in its place"
        pool = self._known_pools().get(entry.pool)
        if pool is not None and self._may_ask(entry.pool):
            self._errors[entry.pool] = self._oracle.errors(pool)
        said = self._errors.get(entry.pool)
        return f"{text}; Oracle says: {said}" if said else text

    def write(self, machine: str, entry: Replaced) -> None:
        """Keep what is known of a replacement. Raises RequestError."""
        self._write({machine: entry.to_json()})

    def forget(self, machine: str) -> None:
        """Nothing more is awaited for a machine. Raises RequestError."""
        others = self.entries()
        if others.pop(machine, None) is None:
            return
        if others:
            self._write({machine: None})
        else:
            self._api.delete(self._path)

    def _pool(self, node: Json) -> Pool | None:
        name = labels_of(node).get(POOL_LABEL, "")
        return self._known_pools().get(name) if name in self._planned.pools else None

    def _known_pools(self) -> dict[str, Pool]:
        # What they make next does not change while the waves run.
        if self._pools is None:
            self._pools = self._oracle.pools()
            if missing := sorted(set(self._planned.pools) - set(self._pools)):
                raise NodesError(
                    f"Oracle lists no node pool {', '.join(missing)} of this cluster, whose machines the waves replace "
                    "(gpu-fabric:upgrade.machines); an adopted pool must have the name that the stack file has"
                )
        return self._pools

    def _image(self, machine: str) -> str:
        """The image of a machine; empty where Oracle does not list it."""
        if self._images is None or machine not in self._images:
            self._images = {machine: "", **self._oracle.images()}
        return self._images[machine]

    def _may_ask(self, about: str) -> bool:
        now = time.monotonic()
        if now - self._asked.get(about, -_PAUSE) < _PAUSE:
            return False
        self._asked[about] = now
        return True

    def _write(self, data: Mapping[str, str | None]) -> None:
        try:
            merge(self._api, self._path, {"data": dict(data)})
        except RequestError as error:
            if error.status != 404:
                raise
            metadata = {"name": self._planned.name, "namespace": self._planned.namespace}
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(data)}
            self._api.request("POST", self._path.rpartition("/")[0], body, {"Content-Type": "application/json"})

    @property
    def _path(self) -> str:
        return api_path("v1", "configmaps", self._planned.namespace, self._planned.name)


def machine_of(node: Json) -> str:
    """The id of a node's machine, which Oracle's cloud controller writes; empty before."""
    # Older controllers write a prefix (oracle/oci-cloud-controller-manager, MapProviderIDToResourceID).
    return str(node["spec"].get("providerID") or "").removeprefix("oci://")


def _version(text: str) -> tuple[int, ...]:
    found = _VERSION.match(text)
    return () if found is None else tuple(int(part) for part in found.groups())


def _entry(text: str) -> Replaced:
    found = json.loads(text)
    since = datetime.fromisoformat(found["since"])
    return Replaced(found["node"], found["pool"], tuple(found["before"]), since, found["failed"])
