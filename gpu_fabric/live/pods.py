"""Pods of the stack's software that the API server refuses, or that exist and do not start: why, and what mends it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

from gpu_fabric.base.api_objects import condition
from gpu_fabric.base.tables import read_rows
from gpu_fabric.findings import Finding, Seen, finding
from gpu_fabric.live.cluster import Cluster, Json, api_path, called, field, name_of, namespace_of, selects
from gpu_fabric.live.examination import Examination
from gpu_fabric.model import FrozenModel
from gpu_fabric.plan import Plan
from gpu_fabric.symptoms import advice

# Kind, version, plural, and where it says how many pods it wants and how many are ready.
_WORKLOADS = (
    ("Deployment", "apps/v1", "deployments", ("spec", "replicas"), "readyReplicas"),
    ("StatefulSet", "apps/v1", "statefulsets", ("spec", "replicas"), "readyReplicas"),
    ("DaemonSet", "apps/v1", "daemonsets", ("status", "desiredNumberScheduled"), "numberReady"),
    ("Job", "batch/v1", "jobs", ("status", "active"), "ready"),
)
# Namespaces in which others have pods as well as the stack.
_SHARED = frozenset({"kube-system", "default"})
# Kubernetes tries again by itself, so that a younger pod is not worth a word; what an init container waits for takes
# longer, such as a driver that is compiled.
YOUNG_S, _LONG_S = 60.0, 600.0
_MOST_PODS = 50
# A container's states while nothing is wrong: then its pod's events say more.
_STARTING = frozenset({"ContainerCreating", "PodInitializing"})
_LONGEST = 300
_TIME = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})")


class PodTrouble(FrozenModel):
    """A row of `pod_troubles.yaml`."""

    reasons: tuple[str, ...]
    text: str = ""
    remedy: str
    is_one_of_several: bool = False


class _Trouble(NamedTuple):
    """Why a pod is not ready: Kubernetes' reason, where and what it says, and all texts by which it is judged."""

    reason: str
    place: str
    said: str
    container: str = ""
    more: tuple[Seen, ...] = ()

    def remedy(self, namespace: str, pod: str) -> str:
        texts = "\n".join([self.said, *(seen.value for seen in self.more)])
        return remedy_of(self.reason, texts).format(namespace=namespace, pod=pod, container=self.container)


def troubles() -> tuple[PodTrouble, ...]:
    """The rows of `pod_troubles.yaml`, in the order in which they are tried."""
    return read_rows(Path(__file__).with_name("pod_troubles.yaml"), PodTrouble)


def remedy_of(reason: str, text: str) -> str:
    """What mends a reason of Kubernetes with what it says, to be filled with names.

    A row for all texts of a reason knows less than the table of error texts.
    """
    fitting = [row for row in troubles() if reason in row.reasons and re.search(row.text, text, re.IGNORECASE)]
    if not any(row.text for row in fitting) and (known := advice(text)):
        return known.replace("{", "{{").replace("}", "}}")
    if not fitting:
        return "mend what the reason says; `kubectl describe pod -n {namespace} {pod}` has more"
    several = [row.remedy for row in fitting if row.is_one_of_several]
    return "; or ".join(several) or fitting[0].remedy


def refused_pod_damages(case: Examination) -> Iterator[Finding]:
    """Workloads of the stack's namespaces whose pods are refused: `up` waits for them until its limit."""
    if case.purpose == "destroy":
        return
    for kind, item in case.cluster.workloads:
        namespace = namespace_of(item)
        if namespace not in case.stack.namespaces:
            continue
        if seen := _condition(kind, item) if kind == "Deployment" else _refusal(case.cluster, kind, item):
            yield finding(
                "DOC070",
                "",
                f"the API server refuses pods of {seen.object}, which waits for them",
                remedy_of("FailedCreate", seen.value).format(namespace=namespace),
                seen=seen,
            )


def unready_pod_damages(case: Examination) -> Iterator[Finding]:
    """Workloads of the stack's software whose pods exist and do not start."""
    if case.purpose != "destroy":
        yield from unready_pods(case.stack.plan, case.cluster, case.at_s)


def unready_pods(plan: Plan, cluster: Cluster, at_s: float) -> Iterator[Finding]:
    """The pods of a plan's software that do not start: one damage for each workload and reason.

    `at_s` is the time, in seconds since 1970, by which a pod is old enough to be judged.
    """
    for kind, item, wanted, ready in _waiting(plan, cluster):
        namespace = namespace_of(item) or ""
        groups: dict[str, list[tuple[Json, _Trouble]]] = {}
        for pod in _pods(cluster, namespace, item):
            if found := _trouble(pod, at_s, partial(warnings_of, cluster, namespace, "Pod", name_of(pod))):
                groups.setdefault(found.reason, []).append((pod, found))
        for reason, entries in groups.items():
            pod, found = entries[0]
            node = field(pod, "spec", "nodeName")
            first = called("Pod", pod) + (f" on {node}" if node else "")
            yield finding(
                "DOC071",
                "",
                f"{called(kind, item)} has {ready} of {wanted} pods ready: {_number(len(entries))} {reason}, "
                f"{_first_line(found)}",
                found.remedy(namespace, name_of(pod)),
                seen=(Seen(object=first, field=found.place, value=f"{reason}: {found.said}"), *found.more[:1]),
            )


def _number(count: int) -> str:
    return f"{count} {'pods have' if count > 1 else 'has'}"


def _first_line(found: _Trouble) -> str:
    """What is said of a trouble: its own text, or that of the newest event where there is more in it."""
    texts = [found.said, *(seen.value for seen in found.more[:1])]
    text = " ".join(max(texts, key=len).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"


def _waiting(plan: Plan, cluster: Cluster) -> Iterator[tuple[str, Json, int, int]]:
    """The workloads of a plan's software that lack ready pods, with the wanted and the ready number."""
    homes = {release.namespace for release in plan.releases} - _SHARED
    kinds = {kind for kind, *_ in _WORKLOADS}
    planned = [entry for entry in plan.objects if entry.object.kind in kinds]
    named = {(entry.object.metadata.namespace or "", entry.object.kind, entry.name) for entry in planned}
    for namespace in sorted({*homes, *(place for place, _, _ in named)}):
        for kind, version, plural, wants, has in _WORKLOADS:
            for item in cluster.items(api_path(version, plural, namespace)):
                if namespace not in homes and (namespace, kind, name_of(item)) not in named:
                    continue
                wanted, ready = field(item, *wants), field(item, "status", has) or 0
                # Of a new version that does not start there is a pod more than are wanted.
                wanted = max(wanted or 0, field(item, "status", "replicas") or 0)
                if ready < wanted:
                    yield kind, item, wanted, ready


def _pods(cluster: Cluster, namespace: str, workload: Json) -> Sequence[Json]:
    """Pods of a workload, of many the first; those that do not run before others."""
    selector = field(workload, "spec", "selector") or {}
    labels = ",".join(f"{key}={value}" for key, value in (selector.get("matchLabels") or {}).items())
    if not labels:
        return ()
    asked = {"labelSelector": labels, "limit": str(_MOST_PODS)}
    for query in ({**asked, "fieldSelector": "status.phase=Pending"}, asked):
        found = cluster.items(f"{api_path('v1', 'pods', namespace)}?{urlencode(query)}")
        if found := tuple(pod for pod in found if selects(selector, field(pod, "metadata", "labels") or {})):
            return found
    return ()


def _trouble(pod: Json, at_s: float, warnings: Callable[[], tuple[Seen, ...]]) -> _Trouble | None:
    """Why a pod is not ready; None where nothing is wrong, or it is too young to tell."""
    status = field(pod, "status") or {}
    if (
        field(pod, "metadata", "deletionTimestamp")
        or status.get("phase") in ("Succeeded", "Failed")
        or age_of(field(pod, "metadata", "creationTimestamp"), at_s) < YOUNG_S
    ):
        return None
    scheduled = condition(pod, "PodScheduled")
    if scheduled.get("status") == "False":
        return _Trouble(
            str(scheduled.get("reason")), "status.conditions[PodScheduled]", str(scheduled.get("message") or "no node")
        )
    sidecars = {
        entry.get("name")
        for entry in field(pod, "spec", "initContainers") or ()
        if entry.get("restartPolicy") == "Always"
    }
    for key in ("initContainerStatuses", "containerStatuses"):
        for entry in status.get(key) or ():
            is_first = key == "initContainerStatuses" and entry.get("name") not in sidecars
            if found := _of_container(key, entry, at_s, warnings, is_first=is_first):
                return found
    events = warnings()
    # Before its network is there, a pod has no container of which anything could be said.
    return _of_event(events, "") if events and not status.get("containerStatuses") else None


def _of_container(
    key: str, entry: Json, at_s: float, warnings: Callable[[], tuple[Seen, ...]], *, is_first: bool
) -> _Trouble | None:
    """Why a container is not ready; `is_first` is one that must end before the pod's others start."""
    name, state = str(entry.get("name")), entry.get("state") or {}
    place = f"status.{key}[{name}]"
    waiting, running = state.get("waiting"), state.get("running")
    before = field(entry, "lastState", "terminated") or state.get("terminated") or {}
    if waiting is not None:
        reason = str(waiting.get("reason") or "")
        if reason in _STARTING or not reason:
            return _of_event(warnings(), name)
        ended = f" (exit status {before.get('exitCode')}, {before.get('reason')})" if before else ""
        said = f"{waiting.get('message') or reason}{ended}"
        return _Trouble(reason, f"{place}.state.waiting", said, name, warnings())
    if state.get("terminated") and entry.get("restartCount"):
        # Between two attempts: the kubelet says CrashLoopBackOff a moment later.
        said = f"ended with exit status {before.get('exitCode')}, {before.get('reason')}"
        return _Trouble("CrashLoopBackOff", f"{place}.state.terminated", said, name, warnings())
    if running is None or age_of(running.get("startedAt"), at_s) < (_LONG_S if is_first else YOUNG_S):
        return None
    if is_first:
        minutes = int(age_of(running.get("startedAt"), at_s) // 60)
        said = f"init container {name} has run for {minutes} minutes"
        return _Trouble("InitContainerRuns", f"{place}.state.running", said, name)
    return None if entry.get("ready") else _of_event(warnings(), name, "Unhealthy")


def _of_event(events: Sequence[Seen], container: str, *reasons: str) -> _Trouble | None:
    """What the newest warning says, of those with one of some reasons."""
    for seen in events:
        reason = seen.field.removeprefix("event ")
        if not reasons or reason in reasons:
            return _Trouble(reason, seen.field, seen.value, container)
    return None


def age_of(written: object, at_s: float) -> float:
    """Seconds since a time as Kubernetes writes it, `2026-05-04T10:00:00Z`; 0 where there is none."""
    if (found := _TIME.match(str(written))) is None:
        return 0.0
    hours, minutes, seconds = map(int, found.groups()[1:])
    days = date.fromisoformat(found[1]).toordinal() - date(1970, 1, 1).toordinal()
    return at_s - (((days * 24 + hours) * 60 + minutes) * 60 + seconds)


def _condition(kind: str, item: Json) -> Seen | None:
    """What a Deployment says of pods that could not be created."""
    failure = condition(item, "ReplicaFailure")
    if failure.get("status") != "True":
        return None
    message = str(failure.get("message"))
    return Seen(object=called(kind, item), field="status.conditions[ReplicaFailure]", value=message)


def _refusal(cluster: Cluster, kind: str, item: Json) -> Seen | None:
    """The newest event of a DaemonSet that lacks pods, which says so in no condition."""
    wanted, made = (field(item, "status", key) or 0 for key in ("desiredNumberScheduled", "currentNumberScheduled"))
    if wanted <= made:
        return None
    events = warnings_of(cluster, namespace_of(item) or "", kind, name_of(item))
    return next((seen for seen in events if seen.field == "event FailedCreate"), None)


def warnings_of(cluster: Cluster, namespace: str, kind: str, name: str) -> tuple[Seen, ...]:
    """The warnings of an object's events, newest first."""
    query = urlencode({"fieldSelector": f"involvedObject.kind={kind},involvedObject.name={name}"})
    found = [
        event
        for event in cluster.items(f"{api_path('v1', 'events', namespace)}?{query}")
        if event.get("type") == "Warning"
        and (field(event, "involvedObject", "kind"), field(event, "involvedObject", "name")) == (kind, name)
    ]
    found.sort(key=lambda event: str(event.get("lastTimestamp") or event.get("eventTime") or ""), reverse=True)
    item = {"metadata": {"namespace": namespace, "name": name}}
    return tuple(
        Seen(object=called(kind, item), field=f"event {event.get('reason')}", value=str(event.get("message")))
        for event in found
    )
