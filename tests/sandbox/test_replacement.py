"""Nodes are lost and replaced, again and again, while controllers, plug-ins and the API server are killed.

How many times is the environment variable REPLACEMENTS; `make test-replacement` takes 200. It does so with each of
STACKS, or with the one that REPLACEMENTS_STACK names.
"""

from __future__ import annotations

import contextlib
import copy
import json
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pytest
from driver import PODS, STACK, Sandbox, until

from gpu_fabric.base.clock import utc
from gpu_fabric.findings import Finding, Severity
from gpu_fabric.k8s.names import FABRIC_READY
from gpu_fabric.live.addresses import STATE_GRACE_S
from gpu_fabric.live.cluster import Cluster, NotAllowed
from gpu_fabric.live.drift_and_damages import drift
from gpu_fabric.live.stack import Stack
from gpu_fabric.prepare import prepare
from sandbox.control_plane import ControlPlane
from sandbox.failure import SandboxError
from sandbox.hardware.resource_slices import DRANET, NVIDIA_GPU
from sandbox.kubernetes_api import APPLY_PATCH, ApiError, object_path
from sandbox.processes import PidFile, start_mark
from sandbox.simulated_nodes import desired_nodes, reconcile_nodes
from sandbox.toolchain.build import ensure
from sandbox.toolchain.progress import Progress

pytestmark = pytest.mark.slow

SEED = int(os.environ.get("REPLACEMENTS_SEED", "23"))
ALONE = os.environ.get("REPLACEMENTS_STACK")
NODES = "/api/v1/nodes"
POOLS = "/apis/nv-ipam.nvidia.com/v1alpha1/ippools"
SPIDER_POOLS = "/apis/spiderpool.spidernet.io/v2beta1/spiderippools"
ENDPOINTS = "/apis/spiderpool.spidernet.io/v2beta1/namespaces/default/spiderendpoints"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
SLICES = "/apis/resource.k8s.io/v1/resourceslices"
STATES = "/apis/sriovnetwork.openshift.io/v1/sriovnetworknodestates"
KEPT_UNTIL = "sriovnetwork.openshift.io/keep-state-until"
# Seconds until a node that has joined takes jobs. A DaemonSet's controller that waits for an event that it has missed
# does so for five minutes (kubernetes, pkg/controller/controller_utils.go, ExpectationsTimeout).
LIMIT_S = 420.0
# KWOK, which plays containers and nodes, does not always take up a node that comes back under its name:
# all pods on it then wait for ever, which no kubelet lets them. A KWOK that is started again takes it up.
UNPLAYED_S = 60.0
Json = dict[str, Any]


class Replaced(NamedTuple):
    """A stack whose nodes are replaced: how often, whom else to kill, and what its file says besides.

    Nodes are no names of the stack file: a successor needs no change of it. With `claims` there are no proofs of nodes,
    and pods get NICs that a DRA driver publishes.
    """

    stack: str
    times: int
    kills: tuple[str, ...]
    more: dict[str, dict[str, Any]] = {}
    claims: bool = False

    @property
    def sections(self) -> dict[str, Any]:
        """What the stack's file says besides: nodes prove their fabric before they take jobs."""
        return self.more if self.claims else {**self.more, "fabric": {**self.more.get("fabric", {}), "readiness": {}}}


SPIDERPOOL: dict[str, dict[str, Any]] = {
    # What its controller has not seen itself it finds when it looks at all pools: by default every ten minutes.
    "software": {"spiderpool": {"values": {"ipam": {"gc": {"gcAll": {"intervalInSecond": 20}}}}}},
    # As the simulated cluster is, on three machines without names.
    "cluster": {
        "kubernetes": None,
        "pools": [{"name": "gpu", "shape": "guide-cx5", "nodes": 3}],
        "ranges": {"pods": "10.244.0.0/16", "services": "10.96.0.0/16", "nodes": "10.0.0.0/16"},
    },
    # Simulated NICs of a shape without an MTU have none.
    "fabric": {"mtu": None, "podsPerNic": 60, "hostPreparation": {"fabricRule": True}},
}
STACKS = {
    "nv-ipam": Replaced(STACK, 5, ("the IPAM's controller", "the Network Operator")),
    "spiderpool": Replaced("spiderpool-macvlan", 2, ("Spiderpool's controller",), SPIDERPOOL),
    "sriov-operator": Replaced("sriov-operator", 2, ("the IPAM's controller", "the SR-IOV operator")),
    "dranet": Replaced("dranet-infiniband", 2, ("a DRA driver", "the controller of claims"), claims=True),
}


class Watch:
    """Looks all the time whether a pod of a job was bound to a node that is not proven, or two claims have one NIC."""

    def __init__(self, fleet: Fleet) -> None:
        # A client of its own: a connection serves one thread.
        self._api, self._claims = fleet.sandbox.api, fleet.replaced.claims
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
            if self._claims:
                with contextlib.suppress(ApiError):
                    held = held_devices(self._api.get(CLAIMS)["items"])
                    self.wrong += [f"{device} is held {count} times" for device, count in held.items() if count > 1]
                    self.looks += 1
                continue
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
                if name is None or uid in self._bound or not is_job(pod):
                    continue
                self._bound.add(uid)
                if name in uids and uids[name] not in now | before:
                    self.wrong.append(f"{pod['metadata']['name']} on {name}")
            before, self.looks = now, self.looks + 1


class Fleet:
    """The nodes of a stack, of which some are lost, and the pods of its jobs."""

    def __init__(self, sandbox: Sandbox, replaced: Replaced) -> None:
        self.sandbox, self.replaced = sandbox, replaced
        self.api = sandbox.api
        self.spec, self.plan = prepare(sandbox.document_with(**replaced.sections), for_up=False)
        self.nodes = {node["metadata"]["name"]: node for node in desired_nodes(self.spec)}
        self.seconds: list[float] = []

    def up(self) -> None:
        """Bring the stack up on its nodes."""
        reconcile_nodes(self.api, self.nodes.values())
        self.sandbox.up_with(**self.replaced.sections)
        self.template = self.sandbox.outputs()["fabric"]["podTemplatePatch"]

    @property
    def gpu_nodes(self) -> list[str]:
        """The names of nodes that take jobs."""
        return [name for name, node in self.nodes.items() if "nvidia.com/gpu" in node["status"]["capacity"]]

    def job(self, name: str, node: str) -> None:
        """A pod of a job, for one node."""
        spec = copy.deepcopy(self.template["spec"])
        spec["nodeSelector"] = {**spec.get("nodeSelector", {}), "kubernetes.io/hostname": node}
        spec["containers"][0]["image"] = "training"
        self.api.post(PODS, {"metadata": {"name": name, **self.template["metadata"]}, "spec": spec})

    def discover(self, node: str) -> None:
        """What GPU feature discovery does minutes after a node has joined: another label.

        The SR-IOV operator writes what it asks of a new node when it looks again after the node's daemon has shown the
        NICs: at a change of some node's labels, else every five minutes (v1.6.0, syncSriovNetworkNodeState).
        """

        def shown() -> bool:
            with contextlib.suppress(ApiError):
                states = [item for item in self.sandbox.items(STATES) if item["metadata"]["name"] == node]
                return bool(states) and all((item.get("status") or {}).get("interfaces") for item in states)
            return False

        if "the SR-IOV operator" in self.replaced.kills:
            until(shown, f"the daemon on {node} shows its NICs", LIMIT_S)
            self.again(
                lambda: self.api.patch(f"{NODES}/{node}", {"metadata": {"labels": {"nvidia.com/gpu.machine": "x"}}})
            )

    def start(self, name: str, node: str) -> None:
        """A pod of a job runs on a node, and has its addresses."""
        self.job(name, node)
        self.wait_for(name, node, f"{node} takes a first job")
        self.lease(name)

    def wait_for(self, job: str, node: str, what: str) -> None:
        """Wait until a pod runs; reports what is missing on its node."""

        def runs() -> bool:
            try:
                pod = self.api.get(f"{PODS}/{job}")
            except ApiError:
                return False
            return bool(pod.get("status", {}).get("phase") == "Running")

        end = time.monotonic() + LIMIT_S
        while True:
            try:
                until(runs, f"{what}: takes a job", UNPLAYED_S)
                return
            except AssertionError as error:
                seen = _seen(self, node)
                if time.monotonic() > end:
                    raise AssertionError(f"{error}, nor within {LIMIT_S:.0f} s; {seen}") from None
            if seen["pods"] == len(seen["pods that wait"]):
                restart(self, "kwok")

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
        """The nodes' shares of each pool of nv-ipam."""
        return {
            pool["metadata"]["name"]: {
                row["nodeName"]: row["startIP"] for row in (pool.get("status") or {}).get("allocations") or ()
            }
            for pool in self.sandbox.items(POOLS)
        }

    def leases(self) -> dict[str, list[str]]:
        """The pools of Spiderpool in which each pod has an address."""
        found: dict[str, list[str]] = {}
        for pool in self.sandbox.items(SPIDER_POOLS):
            for row in leases_of(pool).values():
                found.setdefault(row["pod"], []).append(pool["metadata"]["name"])
        return found

    def lease(self, name: str) -> None:
        """What Spiderpool's agent writes when a pod starts: an address of each rail, then the record of all of them.

        As in v1.2.2, pkg/ippoolmanager and pkg/workloadendpointmanager; no agent runs here.
        """
        pod = self.api.get(f"{PODS}/{name}")
        node, uid = pod["spec"]["nodeName"], pod["metadata"]["uid"]
        pools = self.sandbox.items(SPIDER_POOLS)
        if not pools:
            return
        rows = []
        for place, pool in enumerate(pools):
            pool_name = pool["metadata"]["name"]
            until(
                lambda pool_name=pool_name: self._leased(pool_name, name, uid), f"{name} has an address of {pool_name}"
            )
            (address,) = (a for a, row in leases_of(self._spider_pool(pool_name)).items() if row["podUid"] == uid)
            prefix = pool["spec"]["subnet"].partition("/")[2]
            rows.append({"interface": f"net{place + 1}", "ipv4": f"{address}/{prefix}", "ipv4Pool": pool_name})
        owner = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid}
        metadata = {"name": name, "ownerReferences": [owner], "finalizers": ["spiderpool.spidernet.io"]}
        current = {"uid": uid, "node": node, "ips": rows}
        status = {"current": current, "ownerControllerType": "Pod", "ownerControllerName": name}
        kind = {"apiVersion": "spiderpool.spidernet.io/v2beta1", "kind": "SpiderEndpoint"}
        self.again(lambda: self.api.post(ENDPOINTS, {**kind, "metadata": metadata, "status": status}))

    def _spider_pool(self, name: str) -> Json:
        return self.api.get(f"{SPIDER_POOLS}/{name}")

    def _leased(self, pool_name: str, name: str, uid: str) -> bool:
        """Whether a pod has an address of a pool now; the controller may write at the same time."""
        try:
            pool = self._spider_pool(pool_name)
            taken = leases_of(pool)
            if any(row["podUid"] == uid for row in taken.values()):
                return True
            ranges = [text.partition("-") for text in pool["spec"]["ips"]]
            numbers = (range(int(ip_address(a)), int(ip_address(b or a)) + 1) for a, _, b in ranges)
            free = next(text for run in numbers for number in run if (text := str(ip_address(number))) not in taken)
            rows = {**taken, free: {"pod": f"default/{name}", "podUid": uid}}
            body = {
                "metadata": {"resourceVersion": pool["metadata"]["resourceVersion"]},
                "status": {"allocatedIPs": json.dumps(rows), "allocatedIPCount": len(rows)},
            }
            self.api.patch(f"{SPIDER_POOLS}/{pool_name}/status", body)
        except ApiError:
            return False
        return True

    def states(self) -> dict[str, str]:
        """The SR-IOV operator's states of nodes, and until when it keeps each of a node that is gone."""
        items = self.sandbox.items(STATES)
        return {item["metadata"]["name"]: item["metadata"].get("annotations", {}).get(KEPT_UNTIL, "") for item in items}

    def found(self) -> list[Finding]:
        """What `gpu-fabric drift` finds."""
        cluster = Cluster(self.sandbox.look, refused, self._apply)
        return list(drift(Stack(self.spec, self.plan), cluster, utc(ago=STATE_GRACE_S)))

    def _apply(self, manifest: Json) -> Json:
        path = object_path(self.api, manifest, manifest["metadata"].get("namespace", ""))
        try:
            return self.api.request("PATCH", f"{path}?fieldManager=look&force=true&dryRun=All", manifest, APPLY_PATCH)
        except ApiError as error:
            # A field that the definition does not declare.
            if error.status == 500:
                raise NotAllowed(str(error)) from None
            raise

    def settle(self, what: str) -> None:
        """Wait until nothing has drifted; an API server that is just away does not count."""
        last: list[str] = []

        def settled() -> bool:
            with contextlib.suppress(ApiError):
                last[:] = [f"{row.id} {row.message}" for row in self.found() if row.severity is not Severity.NOTE]
                return not last
            return False

        try:
            until(settled, what, LIMIT_S)
        except AssertionError as error:
            raise AssertionError(f"{error}; there is {last}") from None


def held_devices(claims: list[Json]) -> Counter[str]:
    """How many claims hold each device, by its node and name; one that is deleted does until its pod has ended."""
    rows = [
        row
        for claim in claims
        for row in (claim.get("status", {}).get("allocation") or {}).get("devices", {}).get("results") or ()
    ]
    return Counter(f"{row['pool']}/{row['device']}" for row in rows)


def refused(path: str, manifest: Json) -> Json:
    raise AssertionError(f"{path} is asked for")


def leases_of(pool: Json) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads((pool.get("status") or {}).get("allocatedIPs") or "{}")
    return found


def is_job(pod: Json) -> bool:
    """Whether a pod is a job's, and not one of the stack's check, which runs in the same namespace."""
    return bool(pod["metadata"]["name"].startswith(("first-", "job-")))


def is_proven(node: Json) -> bool:
    rows = node.get("status", {}).get("conditions", ())
    return any(row["type"] == FABRIC_READY and row["status"] == "True" for row in rows)


def end_pod(fleet: Fleet, chance: random.Random, key: str, value: str) -> None:
    """A pod of the stack's software ends on some node; `value` is the end of its label's."""
    every = fleet.sandbox.items("/api/v1/pods")
    pods = [pod for pod in every if pod["metadata"].get("labels", {}).get(key, "").endswith(value)]
    if pods:
        metadata = chance.choice(pods)["metadata"]
        path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}?gracePeriodSeconds=0"
        fleet.again(lambda: fleet.api.delete(path))


def kill(file: Path) -> None:
    """A process ends at once: without waiting for its end it could still count as running."""
    if (pid := PidFile(file).pid()) is not None:
        with contextlib.suppress(psutil.NoSuchProcess):
            psutil.Process(pid).kill()
        until(lambda: start_mark(pid) is None, f"{file.stem} has ended")


def restart(fleet: Fleet, name: str) -> None:
    """A process of the sandbox ends at once, and is started again, on a busy machine not at the first try."""
    home, failures = fleet.sandbox.home, list[str]()
    kill(home.root / "pids" / f"{name}.json")

    def is_up() -> bool:
        try:
            ControlPlane(home, lambda line: None).up(ensure(["core"], Progress()))
        except SandboxError as error:
            failures.append(str(error))
            return False
        return True

    try:
        until(is_up, f"{name} runs again", LIMIT_S)
    except AssertionError as error:
        raise AssertionError(f"{error}; {failures[-1:]}") from None


def end_controller(fleet: Fleet, name: str) -> None:
    """The process of a controller that really runs ends at once; the sandbox starts it again as a kubelet does."""
    for file in fleet.sandbox.home.pids.glob(f"controller-{name}-*.json"):
        kill(file)


Kill = Callable[[Fleet, random.Random], None]
ANYWHERE: dict[str, Kill] = {
    "nothing": lambda fleet, chance: None,
    "a device plug-in": lambda fleet, chance: end_pod(fleet, chance, "sandbox.gpu-fabric/operand", "device-plugin"),
    "an agent": lambda fleet, chance: end_pod(fleet, chance, "gpu-fabric/component", "fabric-readiness"),
    "the kubelets and all that is played": lambda fleet, chance: restart(fleet, "hardware"),
    "the scheduler": lambda fleet, chance: restart(fleet, "kube-scheduler"),
    "the API server": lambda fleet, chance: restart(fleet, "kube-apiserver"),
}
OF_STACKS: dict[str, Kill] = {
    "the IPAM's controller": lambda fleet, chance: end_pod(fleet, chance, "name", "nv-ipam-controller"),
    "the Network Operator": lambda fleet, chance: end_pod(fleet, chance, "app.kubernetes.io/name", "network-operator"),
    "Spiderpool's controller": lambda fleet, chance: end_controller(fleet, "spiderpool-controller"),
    "a DRA driver": lambda fleet, chance: end_pod(
        fleet, chance, "sandbox.gpu-fabric/operand", chance.choice((DRANET, NVIDIA_GPU))
    ),
    "the controller of claims": lambda fleet, chance: restart(fleet, "kube-controller-manager"),
    "the SR-IOV operator": lambda fleet, chance: end_controller(fleet, "network-operator-sriov-network-operator"),
}


@pytest.fixture
def fleet(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Fleet]:
    replaced = STACKS[request.param]
    sandbox = Sandbox(tmp_path / "sandbox", replaced.stack, () if replaced.stack == STACK else ("--sandbox",))
    try:
        sandbox.run("up", *sandbox.options)
        fleet = Fleet(sandbox, replaced)
        fleet.up()
        yield fleet
    finally:
        sandbox.run("down")


@pytest.mark.parametrize("fleet", [ALONE] if ALONE else STACKS, indirect=True)
def test_nodes_are_lost_and_replaced_without_a_hand_and_nothing_of_them_stays(fleet: Fleet) -> None:
    chance = random.Random(SEED)  # noqa: S311 - which process is killed is no secret
    kills = {**ANYWHERE, **{name: OF_STACKS[name] for name in fleet.replaced.kills}}
    times = int(os.environ.get("REPLACEMENTS", fleet.replaced.times))
    fleet.settle("the stack is up, and nothing has drifted")
    with Watch(fleet) as watch:
        for name in fleet.gpu_nodes:
            fleet.start(f"first-{name}", name)
        for number in range(times):
            gone, successor = chance.choice(fleet.gpu_nodes), f"gpu-new-{number}"
            if chance.random() < 0.3:
                # A machine that was repaired, or a boot volume that was replaced, comes back under its name.
                successor = gone
            killed = chance.sample(sorted(kills), 2)
            what = f"{number}: {successor} in the place of {gone}, while {' and '.join(killed)} ended"
            _replace(
                fleet, gone, successor, number, [lambda name=name: kills[name](fleet, chance) for name in killed], what
            )
    assert watch.wrong == []
    assert watch.looks > times
    assert_states_of_lost_nodes_go_in_time(fleet)
    print(f"{times} nodes replaced: {sum(fleet.seconds) / times:.1f} s on average, {max(fleet.seconds):.1f} s at most")


def _replace(fleet: Fleet, gone: str, successor: str, number: int, kills: list[Callable[[], None]], what: str) -> None:
    job = f"job-{number}"
    before = fleet.shares()
    lost = fleet.lose(gone)
    kills[0]()
    began = time.monotonic()
    fleet.again(lambda: fleet.join(lost, successor))
    if successor == gone:
        restart(fleet, "kwok")
    fleet.again(lambda: fleet.job(job, successor))
    kills[1]()
    if number % 10 != 9:
        fleet.discover(successor)
    fleet.wait_for(job, successor, what)
    fleet.seconds.append(time.monotonic() - began)
    fleet.settle(f"{what}: nothing stays of it")
    if fleet.replaced.claims:
        assert_claims_are_those_of_the_jobs(fleet, what)
    else:
        assert is_proven(fleet.api.get(f"{NODES}/{successor}")), what
    after = fleet.shares()
    assert after.keys() == before.keys(), what
    for pool, rows in after.items():
        assert rows.keys() == {name for name in fleet.nodes if name in rows}, what
        assert len(set(rows.values())) == len(rows), what
        kept = {name: share for name, share in before[pool].items() if name != gone}
        assert kept.items() <= rows.items(), f"{what}: other nodes keep their shares"
        assert successor in rows, what
    fleet.lease(job)
    jobs = {pod["metadata"]["name"] for pod in fleet.sandbox.items(PODS) if is_job(pod)}
    assert len(jobs) == len(fleet.gpu_nodes), what
    if leases := fleet.leases():
        rails = {rail.index for rail in fleet.plan.rails}
        assert {name: len(pools) for name, pools in leases.items()} == {f"default/{name}": len(rails) for name in jobs}
        assert {item["metadata"]["name"] for item in fleet.sandbox.items(ENDPOINTS)} == jobs, what
    if states := fleet.states():
        assert {name: states.get(name) for name in fleet.gpu_nodes} == dict.fromkeys(fleet.gpu_nodes, ""), what
    print(f"{what}: {fleet.seconds[-1]:.1f} s", flush=True)


def assert_claims_are_those_of_the_jobs(fleet: Fleet, what: str) -> None:
    """Each node has its slices, each job all devices of its node by one claim, and nothing is left of what is lost."""
    nodes, on_node = (
        sorted(fleet.gpu_nodes),
        {DRANET: len(fleet.plan.rails), NVIDIA_GPU: fleet.plan.workload.gpus_per_node},
    )
    wanted = {(name, driver): count for name in nodes for driver, count in on_node.items()}

    def settled() -> bool:
        specs = [item["spec"] for item in fleet.sandbox.items(SLICES)]
        published = {(spec["nodeName"], spec["driver"]): len(spec["devices"]) for spec in specs}
        return published == wanted and len(fleet.sandbox.items(CLAIMS)) == len(nodes)

    until(settled, f"{what}: slices of its nodes and claims of its jobs, and no others", LIMIT_S)
    held = held_devices(fleet.sandbox.items(CLAIMS))
    assert set(held.values()) == {1}, what
    assert Counter(device.partition("/")[0] for device in held) == dict.fromkeys(nodes, sum(on_node.values())), what


def assert_states_of_lost_nodes_go_in_time(fleet: Fleet) -> None:
    """The SR-IOV operator keeps them for half an hour; drift notes it and no more, and what is overdue is deleted."""
    kept = {name: until_then for name, until_then in fleet.states().items() if name not in fleet.nodes}
    notes = fleet.found()
    assert [row.id for row in notes] == ["DRI028"] * bool(kept)
    if not kept:
        return
    assert max(kept.values()) in notes[0].message
    assert utc() < min(kept.values()) <= max(kept.values()) < utc(ago=-1800)
    for item in fleet.sandbox.items(STATES):
        if item["metadata"]["name"] in kept:
            path = (
                f"/apis/sriovnetwork.openshift.io/v1/namespaces/{item['metadata']['namespace']}/sriovnetworknodestates"
            )
            past = {KEPT_UNTIL: utc(ago=2 * STATE_GRACE_S)}
            fleet.api.patch(f"{path}/{item['metadata']['name']}", {"metadata": {"annotations": past}})
    assert [row.id for row in fleet.found()] == ["DRI027"]
    # It looks every five minutes, and when a label of a node changes.
    fleet.api.patch(f"{NODES}/{fleet.gpu_nodes[0]}", {"metadata": {"labels": {"example.com/looked-at": "now"}}})
    until(lambda: not fleet.found(), "the operator has deleted what is overdue", LIMIT_S)


def _seen(fleet: Fleet, name: str) -> Json:
    node = fleet.api.get(f"{NODES}/{name}")
    rows = [row for row in node.get("status", {}).get("conditions", ()) if row["type"] == FABRIC_READY]
    there = fleet.api.get("/api/v1/pods", fieldSelector=f"spec.nodeName={name}")["items"]
    waiting = [pod["metadata"]["name"] for pod in there if pod.get("status", {}).get("phase") != "Running"]
    return {"condition": rows, "taints": node["spec"].get("taints"), "pods that wait": waiting, "pods": len(there)}
