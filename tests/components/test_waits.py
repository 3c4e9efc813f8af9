"""Waiting for nodes, plug-ins and objects: when it ends, what is said meanwhile, and what is named in the end."""

import asyncio
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from fake_api_server import serving
from programs import STACKS, run_program, stack_config
from recording import Recording
from stack_plans import stack_plan

from components.cluster.oke import wait_until_joined
from components.engine import plugin_restarts, pod_watch, waiting
from components.engine.cluster_api import RequestError
from components.engine.node_states import Seen, wait_until_synced
from components.engine.object_states import wait_until_in_state
from components.engine.plugin_restarts import Plugin, looking, wait_until_restarted
from components.engine.waiting import NodesError
from components.rdma import capacity
from components.rdma.capacity import Capacity, wait_until_offered
from gpu_fabric.plan import Plan
from gpu_fabric.plan.clouds.oke.resources import joining_advice
from gpu_fabric.plan.records import PlannedCapacity, PlannedConfiguration, PlannedState, PlannedWait, WantedFunctions

Wait = Callable[[Any, Callable[[str], None], int], Any]
Json = dict[str, Any]


class FastTime:
    """In the place of the module `time`: whenever somebody looks, a tenth of a second has passed."""

    def __init__(self) -> None:
        self._tenths = count()

    def monotonic(self) -> float:
        return next(self._tenths) / 10


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_PAUSE", 0.01)
    monkeypatch.setattr(waiting, "_PATIENCE", 0.35)
    monkeypatch.setattr(waiting, "time", FastTime())


def looks(*answers: Any) -> Any:
    """A cluster that gives these answers one after another, and the last one for ever; an error is raised."""
    rest = list(answers)

    def look(*_: object) -> Any:
        found = rest.pop(0) if len(rest) > 1 else rest[0]
        if isinstance(found, Exception):
            raise found
        return found

    return look


def said_until_it_ended(wait: Wait, *answers: Any) -> list[str]:
    said: list[str] = []
    asyncio.run(wait(looks(*answers), said.append, 30))
    return said


def complaint(wait: Wait, *answers: Any) -> str:
    with pytest.raises(NodesError) as raised:
        asyncio.run(wait(looks(*answers), lambda _: None, 1))
    return str(raised.value)


# Nodes that offer their devices

ALL = {"rdma/fabric0": "100", "rdma/fabric1": "100", "nvidia.com/gpu": "8"}
ONE = {"rdma/fabric0": "100", "rdma/fabric1": "0"}
OFFERED = Capacity({"gpu-a": ALL, "gpu-b": ALL})
HALF = Capacity({"gpu-a": ALL, "gpu-b": {}})
TAKEN = {"gpu-b": frozenset({"rdma/fabric1"})}
RAILS = PlannedCapacity(nodes={"type": "h200"}, count=2, resources={"rdma/fabric0": 0, "rdma/fabric1": 1}, timeout=30)
GPUS = PlannedCapacity(nodes={"gpu": "yes"}, count=1, resources={"nvidia.com/gpu": None}, timeout=30)


def offering(planned: PlannedCapacity, look: Any, say: Any, seconds: int) -> Any:
    return wait_until_offered(planned.model_copy(update={"timeout": seconds}), look, say)


rails, gpus = partial(offering, RAILS), partial(offering, GPUS)
empty, single = (partial(offering, RAILS.model_copy(update={"count": number})) for number in (0, 1))

# Nodes in sync with the SR-IOV operator's wishes

VFS, ADDRESS = "nvidia.com/rail_00", "0000:18:00.0"
READY = {"nvidia.com/gpu": "8", VFS: "8"}
SYNC = PlannedWait(
    api_version="sriovnetwork.openshift.io/v1",
    plural="sriovnetworknodestates",
    namespace="nvidia-network-operator",
    nodes={"pool": "gpu"},
    having="nvidia.com/gpu",
    field="status.syncStatus",
    value="Succeeded",
    failed="Failed",
    reason="status.lastSyncError",
    resources={VFS: 8},
    timeout=30,
)


def syncing(planned: PlannedWait, look: Any, say: Any, seconds: int) -> Any:
    return wait_until_synced(planned.model_copy(update={"timeout": seconds}), look, say)


def sync_with(**changes: Any) -> Wait:
    return partial(syncing, SYNC.model_copy(update=changes))


def seen(first: Any, second: Any, offered: Json = READY) -> Seen:
    """Two nodes' states, each its `syncStatus` or whole; the second offers what is said."""
    states = [{"status": {"syncStatus": state}} if isinstance(state, str) else state for state in (first, second)]
    return Seen({"gpu-0": READY, "gpu-1": offered}, dict(zip(("gpu-0", "gpu-1"), states, strict=True)))


def failed(reason: str) -> Json:
    return {"status": {"syncStatus": "Failed", "lastSyncError": reason}}


def mode(found: str) -> Seen:
    status = {"syncStatus": "Succeeded", "system": {"rdmaMode": found}}
    return seen(*[{"spec": {"system": {"rdmaMode": "exclusive"}}, "status": status}] * 2)


sync = sync_with()
SYNCED = seen("Succeeded", "Succeeded")
EARLY = seen("Succeeded", "Succeeded", {"nvidia.com/gpu": "8", VFS: "1"})
WANTED = WantedFunctions(
    policy="rail-00", resource="rail_00", nodes={"pool": "gpu"}, addresses=(ADDRESS,), count=8, mtu=9000
)
LABELS = dict.fromkeys(("gpu-0", "gpu-1"), WANTED.nodes)

# Device plug-ins with their configuration, an object of somebody else's, and machines that join by themselves

PLUGIN = "network-operator-sriov-device-plugin"
CONFIGURED = PlannedConfiguration(
    namespace="nvidia-network-operator",
    config_map="network-operator-sriovdp-config",
    daemon_set=PLUGIN,
    text='{"resourceList":[{"resourceName":"rail_00"}]}',
    timeout=30,
)
QUEUE = PlannedState(
    api_version="scheduling.volcano.sh/v1beta1",
    kind="Queue",
    plural="queues",
    name="default",
    creator="Volcano's scheduler",
    field="status.state",
    value="Open",
    timeout=3,
)


def daemon_set(generation: int = 2, updated: int = 3, **status: int) -> Json:
    status = {"observedGeneration": 2, "updatedNumberScheduled": updated, "desiredNumberScheduled": 3, **status}
    return {"metadata": {"generation": generation}, "status": status}


def plugin(look: Any, say: Any, seconds: int) -> Any:
    return wait_until_restarted(CONFIGURED.model_copy(update={"timeout": seconds}), look, say)


def queue(look: Any, say: Any, seconds: int) -> Any:
    return wait_until_in_state(QUEUE.model_copy(update={"timeout": seconds}), look, say)


def joining(stack: str, look: Any, say: Any, seconds: int) -> Any:
    planned = stack_plan(stack, STACKS[stack].parent).cluster.oke
    assert planned is not None
    (pool,) = planned.pools
    return wait_until_joined(pool, seconds, look, say, joining_advice(planned, pool, "ocid1.cluster.oc1.iad.one"))


machines = partial(joining, "oke-h100")
JOINED = {f"gpu-{number}": True for number in range(4)}
UNREADY = {**JOINED, "gpu-3": False}
SILENT = RequestError(503, "starting")
NO_QUEUE = "there is no Queue default yet: Volcano's scheduler creates it"

ENDS: dict[str, tuple[Wait, list[Any], list[str]]] = {
    "nodes that offer every rail are not waited for": (rails, [OFFERED], []),
    "a NIC that a pod has is excused": (rails, [Capacity({"gpu-a": ALL, "gpu-b": ONE}, TAKEN)], []),
    "a pool that may be empty is not waited for": (empty, [Capacity({})], []),
    "it goes on looking and says only what is new": (rails,
        [Capacity({}), Capacity({}), Capacity({"gpu-a": {}}), HALF, HALF, OFFERED],
        ["there are 0 of 2 nodes with the labels {'type': 'h200'}",
            "there are 1 of 2 nodes with the labels {'type': 'h200'}", "1 of 2 nodes offer their RDMA devices"]),
    "GPUs are waited for although the policy says ready before any node is known": (gpus,
        [Capacity({}), Capacity({"gpu-a": {}}), Capacity({"gpu-a": {"nvidia.com/gpu": "8"}})],
        ["there are 0 of 1 nodes with the labels {'gpu': 'yes'}", "0 of 1 nodes offer their GPUs"]),
    "nodes without functions are counted": (sync, [Seen(SYNCED.nodes, {}), seen("Succeeded", ""), SYNCED],
        ["0 of 2 nodes have their virtual functions", "1 of 2 nodes have their virtual functions"]),
    "a state of an earlier wish is not taken for done while functions lack": (sync, [EARLY, EARLY, SYNCED],
        ["1 of 2 nodes have their virtual functions"]),
    "a failure that the operator gets over by itself is no failure": (sync,
        [seen("Succeeded", failed("busy")), seen("Succeeded", "InProgress"), seen("Succeeded", failed("busy")), SYNCED],
        ["1 of 2 nodes have their virtual functions"]),
    "an RDMA mode that the node does not have yet is waited for": (sync, [mode("shared"), mode("exclusive")],
        ["0 of 2 nodes have their virtual functions"]),
    "a policy of other nodes is not looked for in a node's spec": (
        sync_with(functions=(WANTED.model_copy(update={"nodes": {"pool": "other"}}),)),
        [SYNCED._replace(labels=LABELS)], []),
    "plug-ins of the configuration are not waited for however it is written": (plugin,
        [Plugin(json.dumps(json.loads(CONFIGURED.text), indent=2), daemon_set())], []),
    "a node that is away stops no plug-in": (plugin, [Plugin(CONFIGURED.text, daemon_set(numberUnavailable=1))], []),
    "an object is waited for until it exists and has the value": (queue,
        [None, {"metadata": {}}, {"status": {"state": "Closed"}}, {"status": {"state": "Open"}}],
        [NO_QUEUE, "0 of 1 queues have status.state Open"]),
    "machines that join are waited for until they are ready": (machines,
        [{"gpu-0": True, "gpu-1": True}, UNREADY, JOINED],
        ["pool gpu: 2 of 4 nodes have joined the cluster", "3 of 4 nodes of pool gpu are ready"]),
    "a cluster that gives no answer is waited for": (machines, [SILENT, JOINED],
        ["pool gpu: the cluster gives no answer: starting"]),
}  # fmt: skip


@pytest.mark.parametrize(("wait", "answers", "said"), ENDS.values(), ids=ENDS)
def test_a_wait_ends_with_what_it_is_for(wait: Wait, answers: list[Any], said: list[str]) -> None:
    assert said_until_it_ended(wait, *answers) == said


FAILS: dict[str, tuple[Wait, Any, list[str], list[str]]] = {
    "a rail by its node and resource": (single, Capacity({"gpu-a": ALL, "gpu-b": ONE}),
        ["after 1 s not all nodes offer their RDMA devices", "gpu-b: no rdma/fabric1 (rail 1)"], ["gpu-a", "fabric0"]),
    "nodes that never came, and those that lack something": (rails, Capacity({"gpu-a": {}}),
        ["after 1 s there are 1 of 2 nodes with the labels {'type': 'h200'}",
            "gpu-a: no rdma/fabric0 (rail 0), no rdma/fabric1 (rail 1)"],
        []),
    "a NIC that a pod has on another node": (rails, Capacity({"gpu-a": ONE, "gpu-b": ONE}, TAKEN),
        ["gpu-a: no rdma/fabric1"], ["gpu-b"]),
    "a node without its GPUs": (gpus, Capacity({"gpu-a": {}}), ["gpu-a: no nvidia.com/gpu"], ["(rail"]),
    "a cluster that gives no answer": (rails, SILENT, ["after 1 s the cluster gives no answer: starting"], []),
    "functions that never come": (sync, seen("Succeeded", "Succeeded", {"nvidia.com/gpu": "8"}),
        ["gpu-1: 0 of 8 nvidia.com/rail_00"], ["gpu-0"]),
    "a node that keeps failing, by the operator's reason": (sync,
        seen("InProgress", failed("the firmware allows 4 functions")),
        ["kept failing", "gpu-1: status.syncStatus is Failed the firmware allows 4 functions"], ["gpu-0"]),
    "nodes without a state, and states that say nothing": (sync, Seen(SYNCED.nodes, {"gpu-0": {}}),
        ["after 1 s", "gpu-0: status.syncStatus is not set",
            "gpu-1: the operator has no sriovnetworknodestates for it"],
        []),
    "labels that no GPU node carries": (sync, Seen({}, SYNCED.states),
        ["there is no node with nvidia.com/gpu and the labels {'pool': 'gpu'}"], []),
    "a webhook without a pod, by its switch": (sync_with(served_by="operator-webhook"),
        SYNCED._replace(is_served=False), ["has no pod that works", "enableOperatorWebhook: false"], []),
    "no object": (queue, None, ["after 1 s", NO_QUEUE], []),
    "an object without the field": (queue, {}, ["default: status.state is not set"], []),
    "an object of another value": (queue, {"status": {"state": "Closed"}}, ["default: status.state is Closed"], []),
    "machines that do not join, and what may keep them out": (
        machines,
        {"gpu-0": True},
        [
            "pool gpu: 1 of 4 nodes have joined the cluster",
            *("CLUSTER_JOIN", "security rules", "image", "metadata"),
            "a dynamic group with the rule: ALL {instance.compartment.id = 'ocid1.compartment.oc1..aaaaaaaaexample'}",
            "policy oke-h100-join of the stack says: Allow dynamic-group 'oke-h100-nodes' to {CLUSTER_JOIN} in",
            "where target.cluster.id = 'ocid1.cluster.oc1.iad.one'",
        ],
        [],
    ),
    "machines that Oracle manages, which need no policy": (partial(joining, "oke-h200"), {}, ["security rules"],
        ["CLUSTER_JOIN"]),
    "a machine that has joined and is not ready": (machines, UNREADY, ["gpu-3: it has joined, but is not ready"], []),
}  # fmt: skip


@pytest.mark.parametrize(("wait", "found", "parts", "absent"), FAILS.values(), ids=FAILS)
def test_a_wait_that_is_over_names_what_lacks(wait: Wait, found: Any, parts: list[str], absent: list[str]) -> None:
    message = complaint(wait, found)
    assert [part for part in parts if part not in message] == []
    assert [part for part in absent if part in message] == []


@pytest.mark.parametrize(
    ("behind", "why"),
    [
        (Plugin(None, daemon_set()), "the operator has not created network-operator-sriovdp-config"),
        (Plugin(CONFIGURED.text, None), f"the operator has not created {PLUGIN}"),
        (Plugin('{"resourceList":[]}', daemon_set()), "does not match the policy yet"),
        (Plugin("no JSON", daemon_set()), "does not match the policy yet"),
        (Plugin(CONFIGURED.text, daemon_set(generation=3)), "Kubernetes has not seen its last change"),
        (Plugin(CONFIGURED.text, daemon_set(updated=1)), "1 of 3 pods were restarted"),
        (Plugin(None, None, "the cluster gives no answer: refused"), "the cluster gives no answer: refused"),
    ],
)
def test_a_plug_in_that_is_behind_is_waited_out_and_named_when_the_time_is_over(behind: Plugin, why: str) -> None:
    done = Plugin(CONFIGURED.text, daemon_set())
    assert said_until_it_ended(plugin, behind, done) == ["0 of 1 device plug-ins run with the planned configuration"]
    assert why in complaint(plugin, behind).partition(f"{PLUGIN}: ")[2]


def interface(**fields: Any) -> Json:
    return {"pciAddress": ADDRESS, **fields}


@pytest.mark.parametrize(
    ("wanted", "found", "lack"),
    [
        ({"numVfs": 8}, {"numVfs": 4}, "has 4 of 8 virtual functions"),
        ({"numVfs": 4}, {"numVfs": 8}, "has 8 of 4 virtual functions"),
        ({"numVfs": 8}, {}, "has 0 of 8 virtual functions"),
        ({"numVfs": 8, "mtu": 9000}, {"numVfs": 8, "mtu": 4200}, "has an MTU of 4200, not 9000"),
        ({"numVfs": 4, "externallyManaged": True}, {"numVfs": 8}, ""),
        ({"numVfs": 8, "mtu": 4200}, {"numVfs": 8, "mtu": 9000}, ""),
    ],
)
def test_a_state_of_before_the_change_is_not_taken_for_done(wanted: Json, found: Json, lack: str) -> None:
    status = {"syncStatus": "Succeeded", "interfaces": [interface(**found)]}
    stale = {"spec": {"interfaces": [interface(**wanted)]}, "status": status}
    if lack:
        assert f"{ADDRESS} {lack}" in complaint(sync, seen(stale, stale))
    else:
        said_until_it_ended(sync, seen(stale, stale))


GROUP = {"policyName": "rail-00", "resourceName": "rail_00", "vfRange": "0-7", "mtu": 9000}


def written(**fields: Any) -> list[Json]:
    return [interface(**{"numVfs": 8, "vfGroups": [GROUP], **fields})]


@pytest.mark.parametrize(
    "before",
    [
        pytest.param([], id="no interface yet"),
        pytest.param(written(pciAddress="0000:2a:00.0"), id="another NIC"),
        pytest.param(written(numVfs=4), id="fewer functions"),
        pytest.param(written(numVfs=16, vfGroups=[{**GROUP, "vfRange": "0-15"}]), id="more functions"),
        pytest.param(written(vfGroups=[{**GROUP, "resourceName": "rail_01"}]), id="another resource"),
        pytest.param(written(vfGroups=[{**GROUP, "policyName": "of-others"}]), id="of another policy"),
        pytest.param(written(vfGroups=[{**GROUP, "mtu": 4200}]), id="another MTU"),
        pytest.param(written(vfGroups=[]), id="of no policy"),
    ],
)
def test_a_spec_of_before_the_policys_change_is_waited_out_although_all_functions_are_offered(
    before: list[Json],
) -> None:
    def found(interfaces: list[Json]) -> Seen:
        there = [{"pciAddress": ADDRESS, "numVfs": 8, "mtu": 9000}, {"pciAddress": "0000:2a:00.0", "numVfs": 8}]
        state = {"spec": {"interfaces": interfaces}, "status": {"syncStatus": "Succeeded", "interfaces": there}}
        return seen(state, state)._replace(labels=LABELS)

    wait = sync_with(functions=(WANTED,))
    said = said_until_it_ended(wait, found(before), found(written(mtu=9000)))
    assert said == ["0 of 2 nodes have their virtual functions"]
    assert "the operator has not written policy rail-00, as it is now, into its spec" in complaint(wait, found(before))


# What is looked at


class Nodes:
    """An API server with nodes and pods; `asked` are the paths that were asked for, `refusal` what it answers."""

    def __init__(self, offered: Json, pods: list[Json], refusal: RequestError | None = None) -> None:
        self.nodes = [{"metadata": {"name": "gpu-a"}, "status": {"allocatable": offered}}]
        self.pods, self.refusal = pods, refusal
        self.asked: list[str] = []

    def items(self, collection: str, selector: str) -> list[Json]:
        if self.refusal is not None:
            raise self.refusal
        self.asked.append(f"{collection} {selector}")
        return self.nodes

    def request(self, _method: str, path: str) -> Json:
        self.asked.append(path.partition("?")[0])
        return {"items": self.pods}

    def look(self) -> Capacity:
        with patch.object(capacity, "api_of", lambda *_: self):
            return capacity.looking(RAILS, "a kubeconfig", None)()


def pod(on: str, *asked: str) -> Json:
    containers = [{"name": "sidecar"}, {"name": "job", "resources": {"limits": dict.fromkeys(asked, "1")}}]
    return {"spec": {"nodeName": on, "containers": containers}}


def test_only_where_a_rail_lacks_are_pods_asked_for_and_seen_by_node() -> None:
    whole = Nodes(ALL, [])
    assert whole.look().offered == {"gpu-a": ALL}
    assert whole.asked == ["/api/v1/nodes type=h200"]
    pods = [pod("gpu-a", "rdma/fabric0"), pod("gpu-a", "rdma/fabric1"), pod("cpu"), {"spec": {"containers": []}}]
    taken = Nodes(ONE, pods).look().taken
    assert (taken["gpu-a"], taken["cpu"]) == ({"rdma/fabric0", "rdma/fabric1"}, frozenset())


@pytest.mark.parametrize("status", [401, 403])
def test_refused_credentials_end_the_wait_at_once_and_say_what_renews_them(status: int) -> None:
    with pytest.raises(NodesError, match=r"refuses the stack's credentials: no entry\. .*`pulumi refresh` renews it"):
        Nodes(ALL, [], RequestError(status, "no entry")).look()
    with pytest.raises(RequestError, match="starting"):
        Nodes(ALL, [], SILENT).look()


@pytest.mark.parametrize(
    ("ago", "seen_again"),
    [
        ([timedelta(seconds=1)], True),
        # Somebody wrote it lately; others did so long ago.
        ([timedelta(days=2), timedelta(0), timedelta(hours=3)], True),
        # It says nothing of when it was written.
        ([], True),
        ([timedelta(seconds=10)], False),
        ([timedelta(days=2), timedelta(hours=3)], False),
    ],
)
def test_a_daemon_set_that_seems_done_is_looked_at_again_a_moment_after_its_config_map_was_written(
    ago: list[timedelta], seen_again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = "/namespaces/nvidia-network-operator"
    path = f"/apis/apps/v1{place}/daemonsets/{PLUGIN}"
    times = [{"time": (datetime.now(UTC) - since).isoformat(timespec="seconds")} for since in ago]
    with serving() as server:
        assert looking(CONFIGURED, server.kubeconfig("a-token"), None)() == Plugin(None, None)
        server.objects[f"/api/v1{place}/configmaps/{CONFIGURED.config_map}"] = {
            "data": {"config.json": CONFIGURED.text},
            "metadata": {"managedFields": times},
        }
        server.objects[path] = daemon_set()
        # The operator writes the DaemonSet just then.
        monkeypatch.setattr(plugin_restarts.time, "sleep", lambda _: server.objects.update({path: daemon_set(3)}))
        found = looking(CONFIGURED, server.kubeconfig("a-token"), None)()

    assert found == Plugin(CONFIGURED.text, daemon_set(3) if seen_again else daemon_set())


# In a run

NETWORK = "v1:NetworkAttachmentDefinition"


def run(kubeconfig: Path, stack: str, wait: str, looking: Any, *, preview: bool = False) -> Recording:
    """What a stack has registered where one of its waits looks so."""
    recording = Recording()
    with patch(f"programs.{wait}", looking), suppress(NodesError):
        config = stack_config(STACKS[stack], kubeconfig)
        run_program(stack, config, recording=recording, preview=preview)
    return recording


def unasked(*_: object) -> Any:
    raise AssertionError("the cluster was asked")


def test_networks_come_once_every_node_offers_its_rails_and_in_a_preview_at_once(
    kubeconfig: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = {f"gpu-{node}": {f"rdma/fabric{rail}": "100" for rail in range(8)} for node in range(4)}
    coming = run(kubeconfig, "doks-h200", "_all_offered", lambda *_: looks(Capacity({}), Capacity(there)))
    assert len(coming.of_type(NETWORK)) == 8
    assert len(run(kubeconfig, "doks-h200", "_all_offered", unasked, preview=True).of_type(NETWORK)) == 8

    monkeypatch.setattr("gpu_fabric.plan.concerns._CAPACITY_TIMEOUT", 1)
    away = run(kubeconfig, "doks-h200", "_all_offered", lambda *_: looks(Capacity({})))
    assert away.of_type(":DaemonSet") != []
    assert away.of_type(NETWORK) == []


@pytest.mark.parametrize(("stack", "checked"), [("spiderpool-ib", True), ("sriov-operator", False)])
def test_policies_that_a_webhook_holds_against_the_nodes_nics_wait_until_the_operator_knows_those(
    kubeconfig: Path, stack: str, checked: bool
) -> None:
    waits: list[PlannedWait] = []

    def failing(wait: PlannedWait, *_: object) -> Any:
        waits.append(wait)
        return looks(seen(failed("no daemon"), failed("no daemon"))._replace(nodes={"gpu-0": {}, "gpu-1": {}}))

    recording = run(kubeconfig, stack, "_all_in_sync", failing)

    # No function is there before the policies are, so none is waited for.
    assert [bool(wait.resources) for wait in waits] == [not checked]
    policies = recording.of_type(("SriovNetworkPoolConfig", "SriovNetworkNodePolicy"))
    assert bool(policies) is not checked


def test_what_keeps_pods_from_starting_is_said_once_while_a_run_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pod_watch, "_PAUSE", 0.01)
    plan = stack_plan("dev", STACKS["dev"].parent)
    place, labels = {"namespace": "gpu-operator"}, {"app": "of-it"}
    pulling = {"name": "ctr", "state": {"waiting": {"reason": "ErrImagePull", "message": "401 Unauthorized"}}}
    operator = {
        "metadata": {**place, "name": "gpu-operator"},
        "spec": {"replicas": 2, "selector": {"matchLabels": labels}},
    }
    said: list[str] = []

    async def watched(kubeconfig: str) -> None:
        ended, looks = asyncio.get_running_loop().create_future(), count(1)

        def look() -> Mapping[str, str]:
            if next(looks) == 3:
                ended.get_loop().call_soon_threadsafe(ended.set_exception, RuntimeError("the chart failed"))
            return pod_watch.start_problems(plan, kubeconfig, None)

        await pod_watch.watch_until(ended, look, said.append)

    with serving() as fake:
        asyncio.run(watched(fake.kubeconfig("t")))
        assert said == [], "a cluster that cannot be read is not worth a word"
        fake.objects["/version"] = {}
        other = {**operator, "metadata": {**place, "name": "another"}}
        fake.objects["/apis/apps/v1/namespaces/gpu-operator/deployments"] = {"items": [operator, other]}
        for name in ("one", "two"):
            fake.objects[f"/api/v1/namespaces/gpu-operator/pods/{name}"] = {
                "metadata": {**place, "name": name, "labels": labels, "creationTimestamp": "2026-05-04T10:00:00Z"},
                "status": {"phase": "Pending", "containerStatuses": [pulling]},
            }
        asyncio.run(watched(fake.kubeconfig("t")))

    text, of_the_other = said
    assert "Deployment gpu-operator/another has 0 of 2 pods ready" in of_the_other
    assert "Deployment gpu-operator/gpu-operator has 0 of 2 pods ready: 2 pods have ErrImagePull, 401 Unau" in text
    assert "-> name a Secret with a login for the registry in `software.imagePullSecrets`" in text


@pytest.mark.parametrize("preview", [False, True])
def test_a_run_looks_at_its_pods_and_a_preview_does_not(
    preview: bool, kubeconfig: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []
    monkeypatch.setattr(pod_watch, "_PAUSE", 0)

    def look(plan: Plan, kubeconfig: str, context: str | None) -> Mapping[str, str]:
        looked.append(plan.stack)
        return {}

    monkeypatch.setattr(pod_watch, "start_problems", look)

    run_program("dev", stack_config(STACKS["dev"], kubeconfig), preview=preview)

    assert set(looked) == (set() if preview else {"dev"})
