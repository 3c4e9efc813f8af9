"""Measures the rails of a node with a neighbour, by two short pods; `readiness_agent.py` loads it where a stack asks.

One pod on each of the two nodes holds a device of every rail (`fabric_pair.sh`). A pod has its node's name in its own
name, so that the API server lets a node take part in one pair at a time. Each look goes one step further, and what must
be known at the next one is in an annotation of the node and in the two pods: a program that is started again
continues.

The tests of perftest print a table under the heading

    #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]

(source: linux-rdma/perftest, src/perftest_parameters.h, RESULT_FMT_G and REPORT_FMT). The fourth number is what counts;
the peak is 0 in a test of a number of seconds.
"""

from __future__ import annotations

import calendar
import copy
import hashlib
import json
import time
from typing import Any, NamedTuple
from urllib.parse import quote

PAIR = "gpu-fabric.dev/pair"
CANDIDATE, NEIGHBOUR = "gpu-fabric.dev/candidate", "gpu-fabric.dev/neighbour"
_CONDITION = "gpu-fabric.dev/FabricReady"
_PROVED, _PROVED_BOOT = "gpu-fabric.dev/proved", "gpu-fabric.dev/proved-boot"
# Reasons of nodes whose own look found nothing, so that they can serve another one that is not proven either.
_LOOKED_WELL = ("PairWaiting", "PairRunning")
_HEADING = ["#bytes", "#iterations", "BW", "peak[Gb/sec]", "BW", "average[Gb/sec]", "MsgRate[Mpps]"]
# Seconds: until what could not be measured is given up; between two tries of a node that is slow; until a pod that has
# no node is given up; for images and networks of pods; after which pods of another node count as left behind.
_GIVE_UP, _AGAIN, _WITHOUT_NODE, _START, _LEFT_BEHIND = 600, 600, 60, 240, 180
# Seconds that a test takes beside its own length, and the heartbeat's age at which a condition is of the past.
_TEST_MORE, _OLD = 20, 900
# Neighbours that are tried in one look.
_TRIES = 3

Json = dict[str, Any]


class Answer(NamedTuple):
    """The condition's status, reason and message, whether it answers what was asked, and what is to be remembered."""

    status: str
    reason: str
    message: str
    is_answer: bool
    record: Json


class Result(NamedTuple):
    """What came of a pair: `good`, `slow`, `failed`, or `none` where nothing was measured."""

    kind: str
    text: str


def result_of(message: str, rails: dict[str, int], percent: int) -> Result:
    """The result of what the candidate's pod left; `rails` are the line rates in Gb/s by the rails' numbers."""
    seen: dict[tuple[str, str], float] = {}
    faults: list[str] = []
    is_known = False
    for line in message.splitlines():
        word, _, rest = line.partition(" ")
        if word == "cannot":
            return Result("none", rest)
        if word == "columns":
            is_known = rest.split()[: len(_HEADING)] == _HEADING
        rail, _, rest = rest.partition(" ")
        test, _, found = rest.partition(" ")
        if word == "failed":
            faults.append(f"rail {rail}: ib_{test}_bw fails: {found}")
        elif word == "rail":
            try:
                seen[rail, test] = float(found.split()[3])
            except (IndexError, ValueError):
                is_known = False
    if faults:
        return Result("failed", "; ".join(faults))
    wanted = {(rail, test) for rail in rails for test in ("write", "read")}
    if not is_known or set(seen) != wanted:
        return Result("none", "what perftest printed is not understood")
    slow = [
        f"rail {rail}: {seen[rail, test]:g} of {gbps} Gb/s {'to' if test == 'write' else 'from'} it"
        for rail, gbps in rails.items()
        for test in ("write", "read")
        if seen[rail, test] < gbps * percent / 100
    ]
    if slow:
        return Result("slow", "; ".join(slow))
    lowest = min(seen, key=lambda each: seen[each] / rails[each[0]])
    return Result("good", f"the slowest rail, {lowest[0]}, has {seen[lowest]:g} of {rails[lowest[0]]} Gb/s")


class Pairing:
    """The measurements of one node, a step at each look."""

    def __init__(self, api: Any, node: str, wanted: Json, refused: type[Exception]) -> None:
        self._api, self._name, self._wanted, self._refused = api, node, wanted, refused
        self._rails: dict[str, int] = wanted["rails"]
        # Both directions of each rail.
        self._seconds = _START + 2 * len(self._rails) * (wanted["seconds"] + _TEST_MORE)

    def was_seen(self, node: Json, boot: str) -> bool:
        """Whether a look found nothing in this boot: a NIC may be in the pod that measures it since."""
        return _record(node).get("boot") == boot

    def answer(self, node: Json, boot: str, asked: str | None, well: str) -> Answer:
        """What follows for a node whose look found nothing, which is `well` in words."""
        annotations, now = _annotations(node), int(time.time())
        at_boot = self._wanted["when"] == "boot"
        record = _record(node)
        if record.get("asked") != asked or (at_boot and record.get("boot") != boot):
            record = {"asked": asked, "since": now}
        record["boot"] = boot
        is_due = asked not in (None, annotations.get(_PROVED)) or (at_boot and annotations.get(_PROVED_BOOT) != boot)
        if "bad" in record and now - record["at"] >= _AGAIN and "again" not in record:
            record |= {"again": True, "since": now, "slow": {}, "busy": []}
        if "bad" in record and "again" not in record:
            return Answer("False", record["reason"], record["bad"], True, record)
        if "bad" not in record and not is_due:
            said = record.get("said", "")
            return Answer("True", record.get("reason", "Proven"), well + said, True, record)
        result, text = self._step(record, now)
        if result is not None:
            return self._concluded(record, result, text, well, now)
        if "bad" in record:
            return Answer("False", record["reason"], record["bad"], True, record)
        if _condition(node).get("status") == "True" and annotations.get(_PROVED_BOOT) == boot:
            # Running jobs and their successors: a node that was open stays so until something is found.
            before = _condition(node)
            return Answer("True", before.get("reason", "Proven"), before.get("message", well), False, record)
        return Answer("Unknown", "PairRunning" if "with" in record else "PairWaiting", text, False, record)

    def _step(self, record: Json, now: int) -> tuple[str | None, str]:
        """The next step; with the verdict, if there is one, else with what is waited for."""
        mine = self._api.find(self._path(self._name))
        if mine is not None and _annotations(mine).get(CANDIDATE) == self._name:
            if "with" not in record:
                # It was begun before what is asked for now.
                self._delete_both(mine)
                return None, "its rails are measured once more"
            done = self._ended(mine)
            if done is None:
                return None, f"its rails are measured with {record['with']}"
            other = record.pop("with")
            if done.kind == "good":
                return "good", f"measured with {other}: {done.text}"
            if done.kind == "none":
                record["busy"] = [*(name for name in record.get("busy", []) if name != other), other]
                record["why"] = f"with {other}: {done.text}"
            else:
                record.setdefault("slow", {})[other] = [done.kind, done.text]
                if len(record["slow"]) > 1:
                    return "bad", ""
            return None, f"a neighbour is wanted; {other}: {done.text}"
        record.pop("with", None)
        if mine is not None:
            self._discard_if_left_behind(mine)
            text = f"it serves {_annotations(mine).get(CANDIDATE, 'another node')}"
        else:
            # Those that were in use are asked again and again, but not for ever.
            late = now - record["since"] >= _GIVE_UP
            free = [name for name in self._neighbours(record) if not (late and name in record.get("busy", []))]
            for other in free[:_TRIES]:
                try:
                    if self._begin(other):
                        record["with"] = other
                        return None, f"its rails are measured with {other}"
                except self._refused as refusal:
                    # A quota of the namespace, or a policy of the cluster: no fault of the node.
                    record["why"] = f"its pods are refused: {refusal}"[:300]
                    break
            text = "no neighbour is free that is proven, or waits as this node does"
        if now - record["since"] < _GIVE_UP:
            return None, text
        record.setdefault("why", text)
        return "given up", ""

    def _concluded(self, record: Json, result: str, text: str, well: str, now: int) -> Answer:
        slow = record.pop("slow", {})
        said = "; ".join(f"with {name}: {found}" for name, (_, found) in slow.items())
        why = record.pop("why", "")
        is_repeated = "bad" in record
        record.pop("busy", None)
        record.pop("again", None)
        if result == "bad" or (result == "given up" and slow):
            record["reason"] = "PairFailed" if any(kind == "failed" for kind, _ in slow.values()) else "PairSlow"
            alone = "" if len(slow) > 1 else "; no second neighbour was free to tell which of the two nodes it is"
            record |= {"bad": f"{said}{alone}"[:900], "at": now}
            return Answer("False", record["reason"], record["bad"], True, record)
        if result == "given up" and is_repeated:
            # What was found stays until a measurement says otherwise.
            record["at"] = now
            return Answer("False", record["reason"], record["bad"], True, record)
        record.pop("bad", None)
        record.pop("at", None)
        if result == "good":
            record.pop("reason", None)
            record["said"] = f"; {text}" + (f"; look at the neighbour that was slow: {said}" if said else "")
        else:
            record |= {"reason": "NotMeasured", "said": f"; not measured within {_GIVE_UP} s: {why}"}
        record["said"] = record["said"][:600]
        return Answer("True", record.get("reason", "Proven"), well + record["said"], True, record)

    def _theirs(self, mine: Json) -> Json | None:
        """The neighbour's pod of the same pair."""
        found: Json | None = self._api.find(self._path(_annotations(mine)[NEIGHBOUR]))
        return found if found is not None and _annotations(found).get(CANDIDATE) == self._name else None

    def _delete_both(self, mine: Json) -> None:
        theirs = self._theirs(mine)
        if theirs is not None:
            self._delete(theirs)
        self._delete(mine)

    def _ended(self, mine: Json) -> Result | None:
        """What came of the pair that runs, whose pods are then deleted; None while it runs."""
        other, theirs = _annotations(mine)[NEIGHBOUR], self._theirs(mine)
        if "deletionTimestamp" in mine["metadata"]:
            return None
        result = None
        if _phase(mine) in ("Succeeded", "Failed"):
            result = result_of(_message(mine) or "cannot the pod left no results", self._rails, self._wanted["percent"])
            if _phase(mine) == "Failed" and result.kind != "none":
                result = Result("none", "its own pod was ended before all was measured")
        elif theirs is None or _phase(theirs) in ("Succeeded", "Failed") or "deletionTimestamp" in theirs["metadata"]:
            found = "" if theirs is None else _message(theirs).strip().removeprefix("cannot ")
            result = Result("none", found or "the neighbour's pod was ended, as by a job that needs its devices")
        elif _age(mine) > _WITHOUT_NODE and not (_has_node(mine) and _has_node(theirs)):
            result = Result("none", f"devices of {self._name if not _has_node(mine) else other} are in use")
        elif _age(mine) > self._seconds + _LEFT_BEHIND:
            result = Result("none", f"the pods did not end within {self._seconds} s")
        if result is not None:
            self._delete_both(mine)
        return result

    def _neighbours(self, record: Json) -> list[str]:
        """Nodes to measure with, the best first: proven ones, then those that wait; those that were busy last."""
        selector = quote(self._wanted["nodes"], safe="")
        nodes = self._api.get(f"/api/v1/nodes?labelSelector={selector}&resourceVersion=0")["items"]
        rows = []
        for node in nodes:
            name, condition = node["metadata"]["name"], _condition(node)
            is_proven = condition.get("status") == "True"
            waits = condition.get("reason") in _LOOKED_WELL
            if name == self._name or name in record.get("slow", {}) or not (is_proven or waits):
                continue
            if node["spec"].get("unschedulable") or time.time() - _seconds(condition["lastHeartbeatTime"]) > _OLD:
                continue
            # Those behind this one first, so that not all nodes want the same.
            rows.append((name in record.get("busy", []), not is_proven, name < self._name, name))
        return [row[-1] for row in sorted(rows)]

    def _begin(self, other: str) -> bool:
        """Create both pods; whether both nodes were free."""
        created: list[Json] = []
        # In the order of the names: two nodes that want each other do not both wait for the other one's second pod.
        for node in sorted((self._name, other)):
            try:
                pod = self._api.create(self._pods, self._pod(node, other))
            except self._refused:
                for entry in created:
                    self._delete(entry)
                raise
            if pod is None:
                found = self._api.find(self._path(node))
                if found is not None:
                    self._discard_if_left_behind(found)
                for entry in created:
                    self._delete(entry)
                return False
            created.append(pod)
        return True

    def _pod(self, node: str, other: str) -> Json:
        pod: Json = copy.deepcopy(self._wanted["pod"])
        is_mine = node == self._name
        marks = {CANDIDATE: self._name, NEIGHBOUR: other}
        metadata = pod["metadata"]
        metadata |= {"name": self._pod_name(node), "annotations": {**metadata.get("annotations", {}), **marks}}
        field = {"key": "metadata.name", "operator": "In", "values": [node]}
        required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
        pod["spec"] |= {
            "hostname": metadata["name"],
            "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}},
            "activeDeadlineSeconds": self._seconds,
        }
        peer = f"{self._pod_name(other)}.{pod['spec']['subdomain']}"
        values = {"MODE": "measure" if is_mine else "serve", "PEER": peer if is_mine else ""}
        pod["spec"]["containers"][0]["env"] += [{"name": name, "value": text} for name, text in values.items()]
        return pod

    @property
    def _pods(self) -> str:
        return f"/api/v1/namespaces/{self._wanted['pod']['metadata']['namespace']}/pods"

    def _pod_name(self, node: str) -> str:
        """A name for a host, too, which the names of some nodes are not."""
        digest = hashlib.sha256(node.encode()).hexdigest()[:12]
        return f"{self._wanted['pod']['metadata']['name']}-{digest}"

    def _path(self, node: str) -> str:
        return f"{self._pods}/{self._pod_name(node)}"

    def _discard_if_left_behind(self, pod: Json) -> None:
        """Delete a pod whose program is gone: it is older than a whole run."""
        if _age(pod) > self._seconds + _WITHOUT_NODE + _LEFT_BEHIND:
            self._delete(pod)

    def _delete(self, pod: Json) -> None:
        self._api.delete(f"{self._pods}/{pod['metadata']['name']}", pod["metadata"]["uid"])


def _annotations(entry: Json) -> Json:
    return dict(entry["metadata"].get("annotations") or {})


def _record(node: Json) -> Json:
    try:
        found = json.loads(_annotations(node).get(PAIR, "{}"))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _condition(node: Json) -> Json:
    found: list[Json] = node.get("status", {}).get("conditions") or []
    return next((entry for entry in found if entry["type"] == _CONDITION), {})


def _phase(pod: Json) -> str:
    return str(pod.get("status", {}).get("phase", ""))


def _has_node(pod: Json) -> bool:
    return bool(pod["spec"].get("nodeName"))


def _message(pod: Json) -> str:
    """What the pod's container left, else why Kubernetes ended the pod; may be empty."""
    for entry in pod.get("status", {}).get("containerStatuses") or ():
        if message := (entry.get("state", {}).get("terminated") or {}).get("message"):
            return str(message)
    found = pod.get("status", {}).get("message")
    return f"cannot {found}" if found else ""


def _seconds(stamp: str) -> float:
    return float(calendar.timegm(time.strptime(stamp, "%Y-%m-%dT%H:%M:%SZ")))


def _age(pod: Json) -> float:
    return time.time() - _seconds(pod["metadata"]["creationTimestamp"])
