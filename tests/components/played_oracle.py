"""A managed pool at Oracle as its command line shows it, whose machines are nodes of a played cluster."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from played_waves import PlayedCluster

from components.cluster_api import RequestError

Json = dict[str, Any]

POOL, LABEL = "gpu", "gpu-fabric/pool"


class PlayedOracle:
    """Nodes of the cluster in one pool; a machine that is deleted is another after `delay` requests to the cluster.

    `version` and `image` are those of the next machine. `launches` is false while Oracle has no other machine; `busy`
    is how often a deletion is refused; `comes_as` is a version that machines have in spite of the pool's.
    """

    def __init__(self, cluster: PlayedCluster, version: str = "v1.33.1") -> None:
        self.cluster = cluster
        self.version, self.image, self.comes_as = version, "image-1", ""
        self.launches, self.busy = True, 0
        self.pool, self.delay = POOL, 8
        self.images: dict[str, str] = {}
        self.orders: list[str] = []
        self.asked: list[tuple[str, ...]] = []
        self._number = 0
        self._due: list[int] = []
        for name in list(cluster.nodes):
            self._dress(name)
        tick = cluster._tick

        def ticked() -> None:
            tick()
            self._pass()

        cluster._tick = ticked  # type: ignore[method-assign]

    def __call__(self, *words: str) -> Any:
        self.asked.append(words)
        options = dict(pairwise(words))
        match words[:3]:
            case ("ce", "node-pool", "list"):
                assert options["--cluster-id"] == "cluster-1"
                other = {"name": "system", "id": "pool-system", "lifecycle-state": "ACTIVE"}
                return {"data": [other, self._pool()]}
            case ("ce", "node-pool", "get"):
                nodes = [
                    {"id": node["spec"]["providerID"], "lifecycle-state": "ACTIVE"}
                    for node in self.cluster.nodes.values()
                ]
                failed = {"lifecycle-state": "FAILING", "node-error": {"message": "Out of host capacity."}}
                return {"data": {**self._pool(), "nodes": nodes if self.launches else [*nodes, failed]}}
            case ("ce", "node-pool", "delete-node"):
                return self._delete(options)
            case ("compute", "instance", "list"):
                return {
                    "data": [{"id": key, "source-details": {"image-id": image}} for key, image in self.images.items()]
                }
        raise AssertionError(words)

    def machines(self) -> dict[str, str]:
        """The kubelet's version on each machine."""
        return {
            node["spec"]["providerID"]: node["status"]["nodeInfo"]["kubeletVersion"]
            for node in self.cluster.nodes.values()
        }

    def _pool(self) -> Json:
        source = {"image-id": self.image, "source-type": "IMAGE"}
        return {
            "name": self.pool,
            "id": "pool-1",
            "lifecycle-state": "ACTIVE",
            "kubernetes-version": self.version,
            "node-source-details": source,
        }

    def _delete(self, options: dict[str, str]) -> None:
        assert (options["--node-pool-id"], options["--is-decrement-size"]) == ("pool-1", "false")
        if self.busy:
            self.busy -= 1
            raise RequestError(409, "IncorrectState: another work request is in progress")
        (name,) = [
            name for name, node in self.cluster.nodes.items() if node["spec"]["providerID"] == options["--node-id"]
        ]
        self.orders.append(name)
        del self.cluster.nodes[name]
        for path in [path for path, pod in self.cluster.pods.items() if pod["spec"]["nodeName"] == name]:
            del self.cluster.pods[path]
        self._due.append(self.delay)

    def _pass(self) -> None:
        if not self.launches:
            return
        self._due = [left - 1 for left in self._due]
        while self._due and self._due[0] <= 0:
            del self._due[0]
            self.cluster.join(f"new-{len(self.images)}")
            self._dress(f"new-{len(self.images)}")

    def _dress(self, name: str) -> None:
        node = self.cluster.nodes[name]
        node["metadata"]["labels"][LABEL] = POOL
        self._number += 1
        node["spec"]["providerID"] = machine = f"machine-{self._number}"
        node["status"]["nodeInfo"] = {"kubeletVersion": self.comes_as or self.version}
        self.images[machine] = self.image
