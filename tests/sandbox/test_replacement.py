"""Nodes are lost and replaced, again and again, while controllers, plug-ins and the API server are killed.

How many times is the environment variable REPLACEMENTS; `make test-replacement` takes 200.
"""

from __future__ import annotations

import contextlib
import copy
import json
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import psutil
import pytest
from driver import PODS, STACK, Sandbox, until

from gpu_fabric.drift.judging import drift
from gpu_fabric.plan import Plan
from gpu_fabric.plan.readiness import CONDITION
from gpu_fabric.preflight.cluster import Cluster
from gpu_fabric.prepare import prepared
from gpu_fabric.spec.stack import StackSpec
from sandbox.control_plane import ControlPlane
from sandbox.kubernetes_api import APPLY_PATCH, Api, ApiError, object_path
from sandbox.nodes import desired_nodes, reconcile_nodes
from sandbox.toolchain.build import ensure
from sandbox.toolchain.progress import Progress

pytestmark = pytest.mark.sandbox

TIMES = int(os.environ.get("REPLACEMENTS", "5"))
SEED = int(os.environ.get("REPLACEMENTS_SEED", "23"))
NODES = "/api/v1/nodes"
NETWORK = "/api/v1/namespaces/nvidia-network-operator/pods"
POOLS = "/apis/nv-ipam.nvidia.com/v1alpha1/ippools"
# Nodes are no names of the stack file: a successor needs no change of it.
READINESS: dict[str, Any] = {"fabric": {"readiness": {}}}
# Seconds until a node that has joined takes jobs. A DaemonSet's controller that waits for an event that it has missed
# does so for five minutes (kubernetes, pkg/controller/controller_utils.go, ExpectationsTimeout).
LIMIT_S = 420.0
Json = dict[str, Any]


class Watch:
    """Looks all the time whether a pod of a job was bound to a node that is not proven."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._bound: set[str] = set()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch")
        self.wrong: list[str] = []
        self.looks = 0

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        before: frozenset[str] = frozenset()
        while not self._stopped.wait(0.1):
            try:
                # The pods first: a node that is proven when its pod is seen may have been since.
                pods = self._api.get(PODS)["items"]
                nodes = self._api.get(NODES)["items"]
            except ApiError:
                continue
            now = frozenset(node["metadata"]["uid"] for node in nodes if is_proven(node))
            uids = {node["metadata"]["name"]: node["metadata"]["uid"] for node in nodes}
            for pod in pods:
                name, uid = pod["spec"].get("nodeName"), pod["metadata"]["uid"]
                if name is None or uid in self._bound:
                    continue
                self._bound.add(uid)
                if name in uids and uids[name] not in now | before:
                    self.wrong.append(f"{pod['metadata']['name']} on {name}")
            before, self.looks = now, self.looks + 1


class Fleet:
    """The nodes of a stack, of which some are lost, and the pods of its jobs."""

    def __init__(self, sandbox: Sandbox, spec: StackSpec, plan: Plan) -> None:
        self.sandbox, self.spec, self.plan = sandbox, spec, plan
        self.api = sandbox.api
        self.nodes = {node["metadata"]["name"]: node for node in desired_nodes(spec)}
        self.template = sandbox.outputs()["fabric"]["podTemplatePatch"]
        self.seconds: list[float] = []

    def job(self, name: str, node: str) -> None:
        """A pod of a job, for one node."""
        spec = copy.deepcopy(self.template["spec"])
        spec["nodeSelector"] = {**spec.get("nodeSelector", {}), "kubernetes.io/hostname": node}
        spec["containers"][0]["image"] = "training"
        self.api.post(PODS, {"metadata": {"name": name, **self.template["metadata"]}, "spec": spec})

    def lose(self, name: str) -> Json:
        """A node is gone, as a cloud recycles it: its object first, then its pods."""
        self.again(lambda: self.api.delete(f"{NODES}/{name}"))
        # Kubernetes' collection of garbage does so after 40 s. In this order no controller makes them again.
        for pod in self.api.get("/api/v1/pods", fieldSelector=f"spec.nodeName={name}")["items"]:
            path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"
            self.again(lambda path=path: self.api.delete(f"{path}?gracePeriodSeconds=0"))
        return self.nodes.pop(name)

    @staticmethod
    def again(act: Callable[[], object]) -> None:
        """Do something that a killed API server may refuse at first."""
        refusals: list[str] = []

        def tried() -> bool:
            try:
                act()
            except ApiError as error:
                refusals.append(f"{error.status}: {error}")
                return error.status in (404, 409)
            return True

        try:
            until(tried, "the API server takes it")
        except AssertionError as error:
            raise AssertionError(f"{error}; it says {refusals[-1:]}") from None

    def join(self, gone: Json, name: str) -> None:
        """A machine of the same kind joins under a name."""
        node = json.loads(json.dumps(gone).replace(json.dumps(gone["metadata"]["name"]), json.dumps(name)))
        self.nodes[name] = node
        reconcile_nodes(self.api, self.nodes.values())

    def shares(self) -> dict[str, dict[str, str]]:
        """The nodes' shares of each pool."""
        return {
            pool["metadata"]["name"]: {
                row["nodeName"]: row["startIP"] for row in (pool.get("status") or {}).get("allocations") or ()
            }
            for pool in self.sandbox.items(POOLS)
        }

    def found(self) -> list[str]:
        """What `gpu-fabric drift` finds."""
        cluster = Cluster(self._read, refused, self._apply)
        return [f"{entry.id} {entry.message}" for entry in drift(self.spec, self.plan, cluster)]

    def _read(self, path: str) -> Json | None:
        try:
            return self.api.get(path)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def _apply(self, manifest: Json) -> Json:
        path = object_path(self.api, manifest, manifest["metadata"].get("namespace", ""))
        return self.api.request("PATCH", f"{path}?fieldManager=look&force=true&dryRun=All", manifest, APPLY_PATCH)

    def settle(self, what: str) -> None:
        """Wait until nothing has drifted; an API server that is just away does not count."""
        last: list[str] = []

        def settled() -> bool:
            with contextlib.suppress(ApiError):
                last[:] = self.found()
                return not last
            return False

        try:
            until(settled, what, LIMIT_S)
        except AssertionError as error:
            raise AssertionError(f"{error}; there is {last}") from None


def refused(path: str, manifest: Json) -> Json:
    raise AssertionError(f"{path} is asked for")


def is_proven(node: Json) -> bool:
    rows = node.get("status", {}).get("conditions", ())
    return any(row["type"] == CONDITION and row["status"] == "True" for row in rows)


def by_label(fleet: Fleet, chance: random.Random, key: str, value: str) -> None:
    """A pod of the stack's software ends on some node."""
    pods = [pod for pod in fleet.sandbox.items(NETWORK) if pod["metadata"].get("labels", {}).get(key) == value]
    if pods:
        pod = chance.choice(pods)
        fleet.api.delete(f"{NETWORK}/{pod['metadata']['name']}?gracePeriodSeconds=0")


def kill(fleet: Fleet, *names: str) -> None:
    """Processes of the sandbox end at once, and are started again."""
    for name in names:
        file = fleet.sandbox.home.root / "pids" / f"{name}.json"
        psutil.Process(int(json.loads(file.read_text())["pid"])).kill()
    home = fleet.sandbox.home
    ControlPlane(home, lambda line: None).up(ensure(["core"], Progress()))


KILLS: dict[str, Callable[[Fleet, random.Random], None]] = {
    "nothing": lambda fleet, chance: None,
    "the IPAM's controller": lambda fleet, chance: by_label(fleet, chance, "name", "nv-ipam-controller"),
    "a device plug-in": lambda fleet, chance: by_label(fleet, chance, "app", "sriovdp"),
    "an agent": lambda fleet, chance: by_label(fleet, chance, "gpu-fabric/component", "fabric-readiness"),
    "the operator": lambda fleet, chance: by_label(fleet, chance, "app.kubernetes.io/name", "network-operator"),
    "the kubelets and all that is played": lambda fleet, chance: kill(fleet, "hardware"),
    "the scheduler": lambda fleet, chance: kill(fleet, "kube-scheduler"),
    "the API server": lambda fleet, chance: kill(fleet, "kube-apiserver"),
}


@pytest.fixture
def fleet(tmp_path: Any) -> Iterator[Fleet]:
    sandbox = Sandbox(tmp_path / "sandbox")
    try:
        sandbox.run("up", "-s", STACK)
        sandbox.up_with(**READINESS)
        spec, plan = prepared(sandbox.document_with(**READINESS), for_up=False)
        yield Fleet(sandbox, spec, plan)
    finally:
        sandbox.run("down")


def test_nodes_are_lost_and_replaced_without_a_hand_and_nothing_of_them_stays(fleet: Fleet) -> None:
    chance = random.Random(SEED)  # noqa: S311 - which process is killed is no secret
    names = [name for name, node in fleet.nodes.items() if "nvidia.com/gpu" in node["status"]["capacity"]]
    fleet.settle("the stack is up, and nothing has drifted")
    with Watch(fleet.sandbox.api) as watch:
        for number in range(TIMES):
            gone, successor = chance.choice(names), f"gpu-new-{number}"
            if chance.random() < 0.3:
                # A machine that was repaired, or a boot volume that was replaced, comes back under its name.
                successor = gone
            _replace(fleet, chance, gone, successor, number)
            names = [successor if name == gone else name for name in names]
    assert watch.wrong == []
    assert watch.looks > TIMES
    print(f"{TIMES} nodes replaced: {sum(fleet.seconds) / TIMES:.1f} s on average, {max(fleet.seconds):.1f} s at most")


def _replace(fleet: Fleet, chance: random.Random, gone: str, successor: str, number: int) -> None:
    before, killed = fleet.shares(), chance.sample(sorted(KILLS), 2)
    lost = fleet.lose(gone)
    KILLS[killed[0]](fleet, chance)
    began = time.monotonic()
    fleet.again(lambda: fleet.join(lost, successor))
    if successor == gone:
        # KWOK, which plays containers and the life signs of nodes, does not always take up a node that comes back under
        # its name: pods on it then wait for ever, which no kubelet lets them.
        kill(fleet, "kwok")
    fleet.again(lambda: fleet.job(f"job-{number}", successor))
    KILLS[killed[1]](fleet, chance)

    what = f"{number}: {successor} in the place of {gone}, while {' and '.join(killed)} ended"
    try:
        until(lambda: _runs(fleet, f"job-{number}"), f"{what}: takes a job", LIMIT_S)
    except AssertionError as error:
        raise AssertionError(f"{error}; {_seen(fleet, successor)}") from None
    fleet.seconds.append(time.monotonic() - began)
    fleet.settle(f"{what}: nothing stays of it")
    assert is_proven(fleet.api.get(f"{NODES}/{successor}")), what
    after = fleet.shares()
    for pool, rows in after.items():
        assert rows.keys() == {name for name in fleet.nodes if name in rows}, what
        assert len(set(rows.values())) == len(rows), what
        kept = {name: share for name, share in before[pool].items() if name != gone}
        assert kept.items() <= rows.items(), f"{what}: other nodes keep their shares"
        assert successor in rows, what
    fleet.api.delete(f"{PODS}/job-{number}?gracePeriodSeconds=0")
    print(f"{what}: {fleet.seconds[-1]:.1f} s", flush=True)


def _runs(fleet: Fleet, name: str) -> bool:
    try:
        pod = fleet.api.get(f"{PODS}/{name}")
    except ApiError:
        return False
    return bool(pod.get("status", {}).get("phase") == "Running")


def _seen(fleet: Fleet, name: str) -> Json:
    node = fleet.api.get(f"{NODES}/{name}")
    rows = [row for row in node.get("status", {}).get("conditions", ()) if row["type"] == CONDITION]
    there = fleet.api.get("/api/v1/pods", fieldSelector=f"spec.nodeName={name}")["items"]
    waiting = [pod["metadata"]["name"] for pod in there if pod.get("status", {}).get("phase") != "Running"]
    return {"condition": rows, "taints": node["spec"].get("taints"), "pods that wait": waiting, "pods": len(there)}
