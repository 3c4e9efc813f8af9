"""Changing nodes in waves: cordon, wait for jobs, restart what is of an earlier version, prove the fabric, uncordon.

What has happened to a node is in its annotations, so that a run continues where one before it was interrupted.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

import pulumi

from gpu_fabric.k8s.names import WAY_LABEL
from gpu_fabric.plan.records import PlannedWaves

from ...cluster.handle import ClusterHandle, Resources
from ...kept_objects import shortened
from ..cluster_api import ClusterApi, Json, RequestError, api_path, find, merge
from ..waiting import NodesError, api_of, delay_resources
from .machines import WaveMachines, machine_of
from .marks import HOOKED, PROVE, UPGRADED, WAVE, Mark, Phase, annotations_of, is_cordoned, labels_of, mark_of
from .oke_pools import OkePools, ask_oracle
from .proofs import answer, lack
from .software import Seen, jobs, look, path_of
from .ways import Serving, heedless, next_label, serving, way_of

# Seconds between two looks; for which a proof must hold, since a kubelet reports a plug-in's end only with its node's
# next status, every ten seconds; and of requests that fail until they end the run.
_PAUSE, _STEADY, _PATIENCE = 3.0, 15.0, 120.0
_MOST_JOBS = 5


def when_changed(planned: PlannedWaves, cluster: ClusterHandle, resources: Resources) -> Resources:
    """The resources, known when every node that needs it has been changed and proven; a preview does not wait.

    The run ends with an error that names the first node that failed: it stays cordoned, and no other is begun.
    """

    async def waited(kubeconfig: str) -> None:
        api, machines = api_of(kubeconfig, cluster.context), None
        if planned.machines is not None:
            identifier = await cluster.cluster_id.future() or ""
            machines = WaveMachines(planned.machines, api, OkePools(planned.machines, identifier, ask_oracle))
        await change_nodes(planned, api, pulumi.log.info, machines)

    return delay_resources(cluster, resources or (cluster.provider,), waited)


async def change_nodes(
    planned: PlannedWaves, api: ClusterApi, say: Callable[[str], None], machines: WaveMachines | None = None
) -> None:
    """Take turns until no node is left to change.

    Raises:
        NodesError: naming the node at which the waves stop, and why.
    """
    run = Waves(planned, api, say, machines)
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            if await asyncio.to_thread(run.turn):
                return
            end = time.monotonic() + _PATIENCE
        except RequestError as error:
            # Webhooks of software that is being replaced refuse for a while, and others write to nodes, too.
            if error.status in (401, 403) or time.monotonic() > end:
                raise NodesError(f"the waves ended: {error}. Run `up` again: they continue where they were") from None
        await asyncio.sleep(_PAUSE)


class Waves:
    """The waves of one run. Each turn looks at the cluster, and does for every node what comes next."""

    def __init__(
        self, planned: PlannedWaves, api: ClusterApi, say: Callable[[str], None], machines: WaveMachines | None
    ) -> None:
        self._planned = planned
        self._api = api
        self._say = say
        self._machines = machines
        self._serving = Serving({}, {})
        self._resumed = False
        self._stops = False
        self._unsettled_since: float | None = None
        self._good_since: dict[str, float] = {}
        self._said: dict[str, str] = {}

    def turn(self) -> bool:
        """Whether every node is as planned. Raises RequestError, and NodesError where the waves stop."""
        nodes = {node["metadata"]["name"]: node for node in self._api.items("/api/v1/nodes", "")}
        if (now := self._api.date) is None:
            raise RequestError(0, "the API server's answers have no date, by which the waves count their time")
        if not self._resumed:
            self._resumed = True
            if self._resume(nodes.values(), now):
                return False
        software = look(self._planned, self._api)
        if self._is_unsettled(software.unsettled or self._lack_of_ways(nodes)):
            return False
        awaited, missing = self._follow(nodes, now)
        marks = {name: mark for name, node in nodes.items() if (mark := mark_of(node)) is not None}
        changing = {name: mark for name, mark in marks.items() if not mark.failed}
        for name, mark in changing.items():
            self._go_on(nodes, name, mark, software, now)
        members = self._members(nodes, software)
        due = {name: whole for name in members if name not in marks and (whole := self._due(nodes[name], software))}
        if (failed := {name: mark.failed for name, mark in marks.items() if mark.failed}) or missing:
            if changing or awaited:
                return False
            raise NodesError(_stopped(failed, missing, len(due)))
        at_a_time = self._planned.at_a_time(len(members) + awaited)
        room = 0 if self._stops else at_a_time - len(changing) - awaited
        for name in sorted(due)[: max(0, room)]:
            self._begin(nodes[name], now, whole=due[name] == "whole")
        if changing or due or awaited:
            done, every = len(members) - len(changing) - len(due), len(members) + awaited
            self._tell("", f"{done} of {every} nodes are as planned")
            return False
        self._adopt(nodes[name] for name in members)
        return True

    def _resume(self, nodes: Iterable[Json], now: datetime) -> bool:
        """Try a node again at which an earlier run stopped, and give one that it left half done its time again."""
        found = [(node, mark) for node in nodes if (mark := mark_of(node)) is not None]
        for node, mark in found:
            # The deadline of jobs continues where a run was interrupted, and begins again where it was over.
            if mark.failed or mark.phase is not Phase.JOBS:
                phase = Phase.JOBS if mark.whole else Phase.PROOF
                self._write(node, mark._replace(phase=phase, since=now, failed=""))
            why = f": {mark.failed}" if mark.failed else ""
            self._say(f"node {node['metadata']['name']} continues where an earlier run ended{why}")
        entries = {} if self._machines is None else self._machines.entries()
        for machine, entry in entries.items():
            assert self._machines is not None
            self._machines.write(machine, entry._replace(since=now, failed=""))
            why = f": {entry.failed}" if entry.failed else ""
            self._say(f"an earlier run replaced the machine of node {entry.node}{why}")
        return bool(found or entries)

    def _follow(self, nodes: dict[str, Json], now: datetime) -> tuple[int, dict[str, str]]:
        """Go on where a node has gone with its machine: how many wait for another, and which wait no more, and why.

        A node that has come in the place of another is cordoned and has a wave of its own from the next turn on.
        """
        awaited, missing = 0, dict[str, str]()
        if self._machines is None:
            return awaited, missing
        gone = self._machines.gone(nodes.values())
        for machine, entry in sorted(gone.items(), key=lambda item: (item[1].since, item[0])):
            if (successor := self._machines.successor(entry, nodes.values())) is not None:
                awaited += 1
                node = successor.node
                self._stops = self._stops or bool(successor.wrong)
                mark = Mark(Phase.JOBS, now, True, not is_cordoned(node), successor.wrong)
                self._write(node, mark, unschedulable=True)
                self._machines.forget(machine)
                del nodes[node["metadata"]["name"]]
                self._say(f"node {node['metadata']['name']} has come in the place of {entry.node}")
            elif self._machines.is_full(entry, nodes.values()):
                # A run that was killed, or one without machines, has met the successor and could not forget it.
                self._machines.forget(machine)
            elif entry.failed:
                missing[entry.node] = entry.failed
            elif (now - entry.since).total_seconds() > self._planned.node_seconds:
                self._stops = True
                missing[entry.node] = self._machines.lack(entry)
                self._machines.write(machine, entry._replace(failed=missing[entry.node]))
            else:
                awaited += 1
                self._tell(entry.node, f"its machine is gone; {self._machines.lack(entry)}")
        return awaited, missing

    def _lack_of_ways(self, nodes: Mapping[str, Json]) -> str:
        """Why no node may change its way yet; nodes without a label get that of the way which they have."""
        if (planned := self._planned.way) is None:
            return ""
        self._serving, own = serving(planned, self._api), self._own(nodes)
        if (reason := heedless(self._serving, own)) and planned.way != planned.home:
            raise NodesError(
                f"no node was touched: {reason}, so that a node could have both ways at a time. Write the earlier "
                "fabric.manager with upgrade.fromManager, run `up`, then change the manager (docs/upgrading.md)"
            )
        for name in own:
            if not reason and WAY_LABEL not in labels_of(nodes[name]):
                self._patch(nodes[name], {"metadata": {"labels": {WAY_LABEL: planned.home}}})
        return reason

    def _is_unsettled(self, reason: str) -> bool:
        """Whether an operator has not yet written what its policy asks; raises NodesError if it never does."""
        if not reason:
            self._unsettled_since = None
            return False
        since = self._unsettled_since = self._unsettled_since or time.monotonic()
        if time.monotonic() - since > self._planned.node_seconds:
            raise NodesError(f"the software on the nodes is not what its policies ask for: {reason}")
        self._tell("", reason)
        return True

    def _members(self, nodes: Mapping[str, Json], software: Seen) -> list[str]:
        """The fabric's nodes, and others on which operators' pods wait to be replaced."""
        return sorted(self._own(nodes).union(name for name in software.outdated if name in nodes))

    def _own(self, nodes: Mapping[str, Json]) -> set[str]:
        """The fabric's nodes."""
        wanted = self._planned.nodes.items()
        return {name for name, node in nodes.items() if wanted and wanted <= labels_of(node).items()}

    def _has_other_way(self, node: Json) -> bool:
        """Whether the node is to hand out its NICs in another way than it does."""
        planned, name = self._planned.way, node["metadata"]["name"]
        return planned is not None and name in self._own({name: node}) and way_of(planned, node) != planned.way

    def _due(self, node: Json, software: Seen) -> str:
        """`whole` for a node that must be free of jobs for its change, `proof` for one that is proven again, or empty.

        A node without the annotation of a revision was there before the waves, or has just joined.
        """
        seen, hook = annotations_of(node), self._planned.hook
        if self._machines is not None and self._machines.outdated(node):
            return "whole"
        if self._has_other_way(node):
            return "whole"
        if software.outdated.get(node["metadata"]["name"]) or (hook is not None and seen.get(HOOKED) != hook.digest):
            return "whole"
        return "proof" if seen.get(UPGRADED, self._planned.revision) != self._planned.revision else ""

    def _adopt(self, nodes: Iterable[Json]) -> None:
        """Note the revision on nodes that need no wave."""
        for node in nodes:
            if UPGRADED not in annotations_of(node):
                self._patch(node, {"metadata": {"annotations": {UPGRADED: self._planned.revision}}})

    def _begin(self, node: Json, now: datetime, *, whole: bool) -> None:
        cordoned = whole and not is_cordoned(node)
        mark = Mark(Phase.JOBS if whole else Phase.PROOF, now, whole, cordoned)
        self._write(node, mark, **({"unschedulable": True} if cordoned else {}))
        self._said.pop(node["metadata"]["name"], None)

    def _go_on(self, nodes: Mapping[str, Json], name: str, mark: Mark, software: Seen, now: datetime) -> None:
        """Do what comes next on a node whose wave has begun."""
        node = nodes[name]
        waited = (now - mark.since).total_seconds()
        if mark.phase is Phase.JOBS:
            self._await_jobs(node, mark, waited, now)
            return
        if self._machines is not None and mark.phase is Phase.CHANGE and self._machines.outdated(node):
            # Nothing else is changed on a machine that goes.
            lacking = self._machines.replace(node, nodes.values(), now)
            self._tell(name, lacking)
        elif mark.phase is Phase.CHANGE:
            lacking = self._change(node, mark, software)
        else:
            lacking = self._prove(node, mark, software)
        if lacking and waited > self._planned.node_seconds:
            self._fail(node, mark, lacking)

    def _await_jobs(self, node: Json, mark: Mark, waited: float, now: datetime) -> None:
        name = node["metadata"]["name"]
        left = jobs(self._planned, self._api, name)
        if not left:
            self._write(node, mark._replace(phase=Phase.CHANGE, since=now))
            return
        running = shortened([f"{pod['metadata']['namespace']}/{pod['metadata']['name']}" for pod in left], _MOST_JOBS)
        over = waited - self._planned.job_seconds
        if over <= 0:
            self._tell(name, f"cordoned; these pods still run: {', '.join(running)}")
        elif not self._planned.evict:
            minutes = self._planned.job_seconds // 60
            self._fail(node, mark, f"jobs still run {minutes} minutes after it was cordoned: {', '.join(running)}")
        elif over > self._planned.node_seconds:
            self._fail(node, mark, f"these pods were not evicted: {', '.join(running)}")
        else:
            self._tell(name, f"evicts {', '.join(running)}")
            for pod in left:
                self._evict(pod)

    def _evict(self, pod: Json) -> None:
        place = {key: pod["metadata"][key] for key in ("name", "namespace")}
        try:
            body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": place}
            self._api.request("POST", f"{path_of(pod)}/eviction", body, {"Content-Type": "application/json"})
        except RequestError as error:
            # 429 is a PodDisruptionBudget's answer, which may change.
            if error.status not in (404, 429):
                raise

    def _change(self, node: Json, mark: Mark, software: Seen) -> str:
        """Run the hook, change the way, replace old pods, then start the plug-ins again; what is not yet done."""
        name = node["metadata"]["name"]
        if lacking := self._run_hook(node, mark) or self._change_way(node):
            return lacking
        old = software.outdated.get(name, [])
        # Device plug-ins have found the NICs under the drivers of before.
        began = mark.since.strftime("%Y-%m-%dT%H:%M:%SZ")
        old = old or [pod for pod in software.plugins.get(name, ()) if pod["metadata"]["creationTimestamp"] < began]
        if not old:
            self._write(node, mark._replace(phase=Phase.PROOF))
            return ""
        names = ", ".join(sorted(pod["metadata"]["name"] for pod in old))
        self._tell(name, f"replaces {names}")
        for pod in old:
            if "deletionTimestamp" not in pod["metadata"]:
                self._api.delete(path_of(pod))
        return f"pods were deleted, and are still there: {names}"

    def _change_way(self, node: Json) -> str:
        """What is not done until the planned way alone hands out the node's NICs; empty if it does."""
        planned, name = self._planned.way, node["metadata"]["name"]
        if planned is None or not self._has_other_way(node):
            return ""
        label, lacking = next_label(planned, self._api, node, self._serving.pods.get(name, ()))
        self._tell(name, lacking)
        if label:
            self._patch(node, {"metadata": {"labels": {WAY_LABEL: label}}})
        return lacking

    def _run_hook(self, node: Json, mark: Mark) -> str:
        """What is not done of the hook; empty if it has run on the node, or there is none."""
        hook, name = self._planned.hook, node["metadata"]["name"]
        if hook is None or annotations_of(node).get(HOOKED) == hook.digest:
            return ""
        metadata: dict[str, Any] = dict(hook.manifest["metadata"])  # type: ignore[arg-type]
        metadata["name"] = f"{metadata['name']}-{name}"
        pods = api_path("v1", "pods", metadata["namespace"])
        path = f"{pods}/{metadata['name']}"
        if (pod := find(self._api, path)) is None:
            spec: dict[str, Any] = {**hook.manifest["spec"], "nodeName": name}  # type: ignore[dict-item]
            body = {**hook.manifest, "metadata": metadata, "spec": spec}
            self._api.request("POST", pods, body, {"Content-Type": "application/json"})
            return f"pod {metadata['name']} has not ended"
        phase = pod.get("status", {}).get("phase")
        if phase == "Succeeded":
            self._patch(node, {"metadata": {"annotations": {HOOKED: hook.digest}}})
            self._api.delete(path)
            return "the hook has ended"
        if phase == "Failed":
            if pod["metadata"]["creationTimestamp"] < mark.since.strftime("%Y-%m-%dT%H:%M:%SZ"):
                # Of an earlier run.
                self._api.delete(path)
            else:
                self._fail(
                    node, mark, f"its hook failed: see `kubectl logs -n {metadata['namespace']} {metadata['name']}`"
                )
        return f"pod {metadata['name']} has not ended"

    def _prove(self, node: Json, mark: Mark, software: Seen) -> str:
        """Why a node is not proven yet; one that is takes jobs again."""
        name = node["metadata"]["name"]
        if lacking := lack(self._planned, self._api, node, software):
            self._good_since.pop(name, None)
            self._tell(name, lacking)
            return lacking
        if self._planned.by_condition:
            token = f"{self._planned.revision}-{mark.since.isoformat()}"
            if annotations_of(node).get(PROVE) != token:
                self._patch(node, {"metadata": {"annotations": {PROVE: token}}})
            answered, lacking = answer(node, token)
            if lacking:
                if answered:
                    self._fail(node, mark, lacking)
                return lacking
        elif mark.whole and time.monotonic() - self._good_since.setdefault(name, time.monotonic()) < _STEADY:
            return "it has offered all that is planned for some seconds only"
        self._end(node, mark)
        return ""

    def _end(self, node: Json, mark: Mark) -> None:
        hook = self._planned.hook
        changes: dict[str, Any] = {WAVE: None, UPGRADED: self._planned.revision}
        spec = {"spec": {"unschedulable": None}} if mark.cordoned else {}
        if self._machines is not None:
            self._machines.forget(machine_of(node))
        self._patch(node, {"metadata": {"annotations": changes}, **spec})
        stays = ", and stays cordoned, as it was before" if mark.whole and not mark.cordoned else ""
        what = "changed and proven" if mark.whole else "proven again"
        self._say(f"node {node['metadata']['name']} is {what}{stays}" + ("" if hook is None else " with the hook run"))

    def _fail(self, node: Json, mark: Mark, reason: str) -> None:
        """Note why a node failed; no job comes to it."""
        self._stops = True
        cordoned = mark.cordoned or not is_cordoned(node)
        self._write(node, mark._replace(failed=reason, cordoned=cordoned), unschedulable=True)

    def _write(self, node: Json, mark: Mark, **spec: Any) -> None:
        body = {"metadata": {"annotations": {WAVE: mark.to_json()}}}
        self._patch(node, {**body, "spec": spec} if spec else body)

    def _patch(self, node: Json, changes: Mapping[str, Any]) -> None:
        merge(self._api, f"/api/v1/nodes/{node['metadata']['name']}", dict(changes))

    def _tell(self, node: str, text: str) -> None:
        if self._said.get(node) != text:
            self._said[node] = text
            self._say(f"node {node}: {text}" if node else text)


def _stopped(failed: Mapping[str, str], missing: Mapping[str, str], others: int) -> str:
    lines = [f"  {node}: {reason}" for node, reason in sorted({**failed, **missing}.items())]
    places = [f"{', '.join(sorted(failed))}, which stays cordoned"] if failed else []
    places += [f"{', '.join(sorted(missing))}, whose machine is gone"] if missing else []
    return "\n".join(
        [
            f"the waves stopped at {'; and at '.join(places)}; {others} more nodes were to be "
            "changed, and none of them was touched:",
            *lines,
            "  -> repair it and run `up` again, which continues there; or write the versions of before, by which the "
            "nodes that have changed are taken back in waves",
        ]
    )
