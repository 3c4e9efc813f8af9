"""A cluster with DaemonSets whose pods are replaced when they are deleted, as the waves' requests see it."""

import copy
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qs, urlsplit

from components.engine.cluster_api import RequestError
from gpu_fabric.plan.records import PlannedHook, PlannedWaves, ProvenNodes

Json = dict[str, Any]

GPU = {"pool": "gpu"}
SOFTWARE = "operators"
JOBS = "/api/v1/namespaces/default/pods"
RESOURCE = "example.com/rail"


class PlayedCluster:
    """Nodes with a driver, a plug-in and jobs; each request takes a second of its clock.

    `bad` nodes offer nothing once their plug-in has started again; `hook_fails` are nodes on which the hook fails;
    `budgets` are pods that a PodDisruptionBudget keeps; `meanwhile` is called at each request.
    """

    def __init__(self, *nodes: str) -> None:
        self.date: datetime = datetime(2026, 1, 1, tzinfo=UTC)
        self.nodes: dict[str, Json] = {}
        self.pods: dict[str, Json] = {}
        self.revision = 1
        self.bad: set[str] = set()
        self.hook_fails: set[str] = set()
        self.budgets: set[str] = set()
        self.log: list[str] = []
        self.kept: dict[str, Json] = {}
        self.meanwhile: list[Callable[[], None]] = []
        for name in nodes:
            self.join(name)

    def join(self, name: str) -> None:
        """Another node, on which the operators' pods start."""
        self.nodes[name] = _node(name)
        self._start("driver", name)
        self._start("plugin", name)

    def upgrade(self) -> None:
        """Another template of the driver, which changes no pod by itself."""
        self.revision += 1

    def job(self, name: str, node: str) -> None:
        self.pods[f"{JOBS}/{name}"] = _pod(name, "default", node, self.date)

    def end_jobs(self) -> None:
        self.pods = {path: pod for path, pod in self.pods.items() if not path.startswith(JOBS)}

    def versions(self) -> dict[str, str]:
        """The template of the driver that each node has."""
        return {
            pod["spec"]["nodeName"]: pod["metadata"]["labels"]["controller-revision-hash"]
            for pod in self.pods.values()
            if pod["metadata"]["name"].startswith("driver")
        }

    def cordoned(self) -> list[str]:
        return sorted(name for name, node in self.nodes.items() if node["spec"].get("unschedulable"))

    def items(self, collection: str, _selector: str) -> list[Json]:
        self.tick()
        if collection == "/api/v1/nodes":
            found = list(self.nodes.values())
        elif collection.endswith("/daemonsets"):
            found = [_daemon_set("driver", "OnDelete"), _daemon_set("plugin", "RollingUpdate")]
        elif collection.endswith("/controllerrevisions"):
            found = [
                {
                    "metadata": {"labels": {"controller-revision-hash": f"driver-{number}"}, **_owned("driver")},
                    "revision": number,
                }
                for number in range(1, self.revision + 1)
            ]
        else:
            found = [pod for path, pod in self.pods.items() if path.startswith(f"{collection}/")]
        return copy.deepcopy(found)

    def delete(self, path: str) -> None:
        self.tick()
        if "/configmaps/" in path:
            del self.kept[path]
            return
        pod = self.pods.pop(path)
        name, node = pod["metadata"]["name"], pod["spec"]["nodeName"]
        self.log.append(f"delete {name}")
        if name.startswith(("driver", "plugin")):
            self._start(name.partition("-")[0], node)

    def request(self, method: str, target: str, body: Json | None = None, headers: Any = None) -> Json:
        self.tick()
        path = urlsplit(target).path
        if method == "GET" and path == "/api/v1/pods":
            node = parse_qs(urlsplit(target).query)["fieldSelector"][0].partition("=")[2]
            return {"items": copy.deepcopy([pod for pod in self.pods.values() if pod["spec"]["nodeName"] == node])}
        if "/configmaps" in path:
            return self._keep(method, path, body)
        if method == "GET":
            if path not in self.pods:
                raise RequestError(404, "not found")
            return copy.deepcopy(self.pods[path])
        if method == "PATCH" and body is not None:
            _merge(self.nodes[path.rpartition("/")[2]], body)
            return {}
        if eviction := re.fullmatch(r"(.*/pods/([^/]+))/eviction", path):
            if eviction[2] in self.budgets:
                raise RequestError(429, "Cannot evict pod as it would violate the pod's disruption budget.")
            self.delete(eviction[1])
            return {}
        assert method == "POST"
        assert body is not None
        created = _pod(body["metadata"]["name"], body["metadata"]["namespace"], body["spec"]["nodeName"], self.date)
        created["status"]["phase"] = "Failed" if body["spec"]["nodeName"] in self.hook_fails else "Succeeded"
        self.pods[f"{path}/{body['metadata']['name']}"] = created
        self.log.append(f"hook on {body['spec']['nodeName']}")
        return {}

    def _keep(self, method: str, path: str, body: Json | None) -> Json:
        if method == "POST" and body is not None:
            self.kept[f"{path}/{body['metadata']['name']}"] = body
            return {}
        if path not in self.kept:
            raise RequestError(404, "not found")
        if method == "PATCH" and body is not None:
            _merge(self.kept[path], body)
        return copy.deepcopy(self.kept[path])

    def tick(self) -> None:
        """A second goes by."""
        for act in self.meanwhile:
            act()
        self.date += timedelta(seconds=1)

    def _start(self, kind: str, node: str) -> None:
        name = f"{kind}-{node}"
        digest = f"driver-{self.revision}" if kind == "driver" else "plugin-1"
        pod = _pod(name, SOFTWARE, node, self.date)
        pod["metadata"] |= {"labels": {"controller-revision-hash": digest}, **_owned(kind)}
        self.pods[f"/api/v1/namespaces/{SOFTWARE}/pods/{name}"] = pod
        if kind == "plugin":
            self.nodes[node]["status"]["allocatable"] = {} if node in self.bad else {RESOURCE: "8"}


def planned(**changes: Any) -> PlannedWaves:
    wish: Json = {
        "revision": "r1",
        "nodes_at_a_time": 1,
        "percent": None,
        "nodes": GPU,
        "namespaces": (SOFTWARE,),
        "plugins": ("plugin",),
        "policies": (),
        "proven": (ProvenNodes(labels=GPU, resources={RESOURCE: 8}),),
        "states": (),
        "by_condition": False,
        "hook": None,
        "job_seconds": 60,
        "evict": False,
        "node_seconds": 120,
    }
    return PlannedWaves(**{**wish, **changes})


HOOK = PlannedHook(digest="h1", manifest={"metadata": {"name": "hook", "namespace": SOFTWARE}, "spec": {}})


def _node(name: str) -> Json:
    metadata = {"name": name, "labels": dict(GPU), "annotations": {}}
    return {"metadata": metadata, "spec": {}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}


def _pod(name: str, namespace: str, node: str, now: datetime) -> Json:
    created = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "metadata": {"name": name, "namespace": namespace, "creationTimestamp": created},
        "spec": {"nodeName": node},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }


def _owned(kind: str) -> Json:
    return {"ownerReferences": [{"kind": "DaemonSet", "uid": kind, "controller": True}]}


def _daemon_set(name: str, strategy: str) -> Json:
    spec = {"updateStrategy": {"type": strategy}, "template": {"spec": {"containers": []}}}
    metadata = {"name": name, "namespace": SOFTWARE, "uid": name, "generation": 1}
    return {"metadata": metadata, "spec": spec, "status": {"observedGeneration": 1}}


def _merge(item: Json, changes: Json) -> None:
    """A JSON merge patch (RFC 7386)."""
    for key, value in changes.items():
        if value is None:
            item.pop(key, None)
        elif isinstance(value, dict):
            _merge(item.setdefault(key, {}), value)
        else:
            item[key] = value


POOL, LABEL = "gpu", "gpu-fabric/pool"


class PlayedOracle:
    """A managed pool at Oracle as its command line shows it, with the nodes of a cluster.

    A machine that is deleted is another after `delay` requests to the cluster.

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
        cluster.meanwhile.append(self._pass)

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
