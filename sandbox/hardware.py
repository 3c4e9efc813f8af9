"""Plays the kubelets' RDMA device plug-ins: `python -m sandbox.hardware --kubeconfig FILE`.

It advertises extended resources on simulated nodes only from the configuration that is really installed:
the NicClusterPolicy that the operator would reconcile, once it is ready and the operator is there. It also
sets the label by which that operator marks nodes whose NIC driver is in place.

All state is in the cluster: what was advertised is remembered in an annotation of the node, so a restart
withdraws what is no longer offered.
"""

from __future__ import annotations

import argparse
import http.client
import json
import logging
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fabric.k8s.mellanox import NIC_CLUSTER_POLICY_NAME, NIC_LABEL
from sandbox.advertise import resources_for
from sandbox.inventory import INVENTORY_ANNOTATION
from sandbox.kubernetes_api import STRATEGIC_PATCH, Api, ApiError, Object

ADVERTISED_ANNOTATION = "sandbox.gpu-fabric/advertised"
DRIVER_WAIT_LABEL = "network.nvidia.com/operator.mofed.wait"

NODES = "/api/v1/nodes"
POLICIES = "/apis/mellanox.com/v1alpha1/nicclusterpolicies"
OPERATORS = "/apis/apps/v1/deployments?labelSelector=app.kubernetes.io%2Fname%3Dnetwork-operator"

# A watch ends after this time and starts with a fresh list, which repairs whatever an event did not tell.
RESYNC_S = 10
# The first retry comes at once enough to be within a second of a CRD's or a server's appearance.
RETRY_S, LONGEST_RETRY_S = 0.3, 2.0

log = logging.getLogger("sandbox.hardware")


class Watched(threading.Thread):
    """Keeps the objects of one collection, by namespace and name, as the API server last told them."""

    def __init__(self, kubeconfig: Path, path: str, changed: threading.Event) -> None:
        super().__init__(name=path, daemon=True)
        self._kubeconfig = kubeconfig
        self._path = path
        self._changed = changed
        self._lock = threading.Lock()
        self._objects: dict[str, Object] = {}
        self.listed = threading.Event()
        """Set once the collection is known; until then an object that is missing may only be unread."""

    def objects(self) -> dict[str, Object]:
        """A copy of the collection; the objects themselves are not to be changed."""
        with self._lock:
            return dict(self._objects)

    def run(self) -> None:
        retry = RETRY_S
        while True:
            try:
                self._follow()
                retry = RETRY_S
            except ApiError as error:
                if error.status == 404:
                    # the kind does not exist (yet): the same as a collection without objects
                    self._replace({})
                    retry = RETRY_S
                    time.sleep(retry)
                    continue
                log.warning("%s: %s; again in %.1f s", self._path, error, retry)
                time.sleep(retry)
                retry = min(retry * 2, LONGEST_RETRY_S)

    def _follow(self) -> None:
        stream = EventStream(self._kubeconfig)
        listing = stream.get(self._path)
        self._replace({_key(item): item for item in listing.get("items", [])})
        for event in stream.events(self._path, listing["metadata"]["resourceVersion"]):
            if event["type"] in ("BOOKMARK", "ERROR"):
                return
            item = event["object"]
            with self._lock:
                if event["type"] == "DELETED":
                    self._objects.pop(_key(item), None)
                else:
                    self._objects[_key(item)] = item
            self._changed.set()

    def _replace(self, objects: dict[str, Object]) -> None:
        with self._lock:
            self._objects = objects
        self.listed.set()
        self._changed.set()


class EventStream(Api):
    """The sandbox's API client with a watch on its connection."""

    def events(self, path: str, resource_version: str) -> Iterator[Object]:
        """Events after a resource version, until the server ends the watch. Raises ApiError."""
        separator = "&" if "?" in path else "?"
        query = f"{separator}watch=1&resourceVersion={resource_version}&timeoutSeconds={RESYNC_S}"
        try:
            self._connection.request("GET", path + query, headers={"Authorization": f"Bearer {self._token}"})
            answer = self._connection.getresponse()
            if answer.status >= 400:
                raise ApiError(answer.status, answer.read().decode()[:300])
            for line in answer:
                yield json.loads(line)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise ApiError(0, f"the watch broke off: {error}") from error
        finally:
            self._connection.close()


class Controller:
    """Compares what every node offers with what its plug-in would offer, and patches the difference."""

    def __init__(self, kubeconfig: Path) -> None:
        self._changed = threading.Event()
        self._api = Api(kubeconfig)
        self._nodes = Watched(kubeconfig, NODES, self._changed)
        self._policies = Watched(kubeconfig, POLICIES, self._changed)
        self._operators = Watched(kubeconfig, OPERATORS, self._changed)
        self._complaint = ""

    def run(self, stopped: threading.Event) -> None:
        """Works until `stopped` is set; errors of the API server are logged and retried."""
        collections = (self._nodes, self._policies, self._operators)
        for collection in collections:
            collection.start()
        while not stopped.is_set():
            if not self._changed.wait(0.5):
                continue
            self._changed.clear()
            if all(collection.listed.is_set() for collection in collections):
                self._reconcile()

    def _reconcile(self) -> None:
        policy = effective_policy(self._policies.objects(), self._operators.objects())
        complaint = ""
        for name, node in self._nodes.objects().items():
            if INVENTORY_ANNOTATION not in (node["metadata"].get("annotations") or {}):
                continue
            try:
                wanted = resources_for(policy, node)
            except ValueError as problem:
                complaint, wanted = f"{name}: {problem}", {}
            patch = node_patch(node, wanted, driver_ready=policy is not None)
            if patch:
                self._send(name, patch, wanted)
        if complaint and complaint != self._complaint:
            log.error("%s; nothing is advertised there", complaint)
        self._complaint = complaint

    def _send(self, name: str, patch: Object, wanted: Mapping[str, int]) -> None:
        try:
            self._api.patch(f"{NODES}/{name}/status", patch, STRATEGIC_PATCH)
            log.info("%s offers %s", name, json.dumps(wanted, sort_keys=True))
        except ApiError as error:
            log.warning("%s: %s; again with the next event", name, error)
            threading.Timer(RETRY_S, self._changed.set).start()


def effective_policy(policies: Mapping[str, Object], operators: Mapping[str, Object]) -> Object | None:
    """The policy that the operator has put into effect: of the one name, ready, with an operator installed."""
    policy = policies.get(NIC_CLUSTER_POLICY_NAME)
    ready = ((policy or {}).get("status") or {}).get("state") == "ready"
    return policy if ready and operators else None


def node_patch(node: Mapping[str, Any], wanted: Mapping[str, int], *, driver_ready: bool) -> Object:
    """The strategic merge patch that makes a node offer just `wanted`; empty when it already does.

    Resources advertised before and no longer wanted are withdrawn; all others are left alone.
    """
    metadata = node["metadata"]
    annotations = metadata.get("annotations") or {}
    labels = metadata.get("labels") or {}
    remembered = json.loads(annotations.get(ADVERTISED_ANNOTATION, "[]"))
    status = node.get("status") or {}
    quantities: dict[str, str | None] = {name: str(count) for name, count in wanted.items()}
    quantities |= {name: None for name in remembered if name not in wanted}
    patch: Object = {}
    for field in ("capacity", "allocatable"):
        present = status.get(field) or {}
        different = {name: value for name, value in quantities.items() if present.get(name) != value}
        if different:
            patch.setdefault("status", {})[field] = different
    if sorted(wanted) != remembered:
        patch.setdefault("metadata", {})["annotations"] = {ADVERTISED_ANNOTATION: json.dumps(sorted(wanted))}
    # The operator writes "false" on nodes with the NIC where no driver container is to be waited for.
    if driver_ready and labels.get(NIC_LABEL) == "true" and labels.get(DRIVER_WAIT_LABEL) != "false":
        patch.setdefault("metadata", {})["labels"] = {DRIVER_WAIT_LABEL: "false"}
    return patch


def _key(item: Mapping[str, Any]) -> str:
    metadata = item["metadata"]
    namespace = metadata.get("namespace")
    return f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"])


def main() -> None:
    """Runs until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(
        prog="python -m sandbox.hardware", description="Plays the RDMA device plug-ins of simulated nodes."
    )
    parser.add_argument("--kubeconfig", type=Path, required=True)
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    Controller(arguments.kubeconfig).run(stopped)


if __name__ == "__main__":
    main()
