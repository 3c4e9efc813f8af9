"""A cluster on which DaemonSets of two managers choose their nodes by a label, as the waves' requests see it."""

import copy
import random
from typing import Any

from played_waves import GPU, JOBS, RESOURCE, SOFTWARE, PlayedCluster, planned

from gpu_fabric.k8s.names import WAY_LABEL
from gpu_fabric.plan.records import PlannedWaves, PlannedWay, ProvenNodes, PublishedNics

Json = dict[str, Any]

DRIVER, ADDRESSES = "dra.net", ("0000:18:00.0", "0000:40:00.0")
NICS = PublishedNics(driver=DRIVER, attribute=f"{DRIVER}/pciAddress", values=ADDRESSES)
_IMAGES = {
    "sriovdp": "nvcr.io/nvidia/mellanox/sriov-network-device-plugin:v3",
    "dranet": "mirror/networking/dranet@sha256:1",
}
_WAYS = {"sriovdp": "plugin", "dranet": "claims"}


class PlayedWays(PlayedCluster):
    """Nodes whose NICs are handed out by `sriovdp` (resources) or by `dranet` (slices), and jobs that end in time.

    Kubernetes starts and ends a DaemonSet's pod some requests after a label changed, and slices of a driver that is
    gone are withdrawn later still. `both` lists the nodes on which both were at work at the same time; `home` is the
    way of nodes without the label; `heedless` DaemonSets run on every node.
    """

    def __init__(self, *nodes: str, home: str = "plugin", seed: int = 0) -> None:
        super().__init__()
        self.home, self.heedless, self.silent = home, set[str](), set[str]()
        self.both: set[str] = set()
        self.ends: dict[str, int] = {}
        self.ended: set[str] = set()
        self._chance = random.Random(seed)  # noqa: S311 - a repeatable choice is no secret
        self._due: dict[tuple[str, str], int] = {}
        self._slices: dict[str, int] = {}
        self.meanwhile.append(self._pass)
        for name in nodes:
            self.join(name)

    def join(self, name: str) -> None:
        super().join(name)
        self._due.clear()
        for daemon_set in _WAYS:
            if self._wants(daemon_set, name):
                self._put(daemon_set, name)

    def ways(self) -> dict[str, str]:
        """Which of the two run on each node, with a plus sign between both."""
        return {name: "+".join(one for one in _WAYS if self._path(one, name) in self.pods) for name in self.nodes}

    def job_of(self, name: str, node: str, requests: int) -> None:
        """A job that ends by itself after so many requests."""
        self.job(name, node)
        self.ends[name] = requests

    def items(self, collection: str, selector: str) -> list[Json]:
        if collection == "/apis/apps/v1/daemonsets":
            self.tick()
            return [self._daemon_set(name) for name in _WAYS]
        if collection.endswith("/resourceslices"):
            self.tick()
            return [_slice(name) for name in sorted(self._slices) if name not in self.silent]
        return super().items(collection, selector)

    def _pass(self) -> None:
        for name in self.nodes:
            for daemon_set in _WAYS:
                runs, key = self._path(daemon_set, name) in self.pods, (daemon_set, name)
                if runs == self._wants(daemon_set, name):
                    self._due.pop(key, None)
                elif self._due.setdefault(key, self._chance.randint(1, 6)) == 0:
                    del self._due[key]
                    self._put(daemon_set, name) if not runs else self._take(daemon_set, name)
                else:
                    self._due[key] -= 1
            if "+" in self.ways()[name] or (
                name in self._slices and RESOURCE in self.nodes[name]["status"]["allocatable"]
            ):
                self.both.add(name)
        for name, left in list(self._slices.items()):
            if self._path("dranet", name) not in self.pods:
                self._slices[name] = left - 1
                if left == 0:
                    del self._slices[name]
        for job in list(self.ends):
            self.ends[job] -= 1
            if self.ends[job] <= 0:
                del self.ends[job]
                self.ended.add(job)
                self.pods.pop(f"{JOBS}/{job}", None)

    def _wants(self, daemon_set: str, node: str) -> bool:
        label = self.nodes[node]["metadata"]["labels"].get(WAY_LABEL, self.home)
        return daemon_set in self.heedless or label == _WAYS[daemon_set]

    def _put(self, daemon_set: str, node: str) -> None:
        metadata = {"name": f"{daemon_set}-{node}", "namespace": daemon_set, "creationTimestamp": _time(self)}
        owner = {"ownerReferences": [{"kind": "DaemonSet", "uid": daemon_set, "controller": True}]}
        ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        self.pods[self._path(daemon_set, node)] = {
            "metadata": {**metadata, **owner},
            "spec": {"nodeName": node},
            "status": ready,
        }
        if daemon_set == "dranet":
            self._slices[node] = 4
        else:
            self.nodes[node]["status"]["allocatable"] = {RESOURCE: "8"}

    def _take(self, daemon_set: str, node: str) -> None:
        del self.pods[self._path(daemon_set, node)]
        if daemon_set == "sriovdp":
            self.nodes[node]["status"]["allocatable"] = {}

    def _path(self, daemon_set: str, node: str) -> str:
        return f"/api/v1/namespaces/{daemon_set}/pods/{daemon_set}-{node}"

    def _daemon_set(self, name: str) -> Json:
        wanted = {"key": WAY_LABEL, "operator": "In", "values": [_WAYS[name]]}
        spec: Json = {"containers": [{"image": _IMAGES[name]}]}
        if name not in self.heedless:
            spec["affinity"] = {"nodeAffinity": {"required": [wanted]}}
        return {"metadata": {"name": name, "namespace": name, "uid": name}, "spec": {"template": {"spec": spec}}}

    def _start(self, kind: str, node: str) -> None:
        # The plug-in of the class below is one that no way is about.
        offered = self.nodes[node]["status"].get("allocatable", {})
        super()._start(kind, node)
        self.nodes[node]["status"]["allocatable"] = offered


def changing(way: str, home: str = "plugin", **more: Any) -> PlannedWaves:
    """Waves that take each node to a way."""
    proven = ProvenNodes(
        labels=GPU, resources={RESOURCE: 8} if way == "plugin" else {}, nics=None if way == "plugin" else NICS
    )
    images = ("networking/dranet", "sriov-network-device-plugin")
    to = PlannedWay.model_validate({"way": way, "home": home, "driver": DRIVER, "images": images})
    return planned(way=to, proven=(proven,), namespaces=(SOFTWARE, *_WAYS), **more)


def _slice(node: str) -> Json:
    devices = [
        {"name": f"nic-{number}", "attributes": {"pciAddress": {"string": address}}}
        for number, address in enumerate(ADDRESSES)
    ]
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": devices}
    return copy.deepcopy({"metadata": {"name": node}, "spec": spec})


def _time(cluster: PlayedCluster) -> str:
    return cluster.date.strftime("%Y-%m-%dT%H:%M:%SZ")
