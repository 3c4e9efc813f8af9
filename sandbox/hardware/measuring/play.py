"""How the pods of a run end. Pure functions."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from gpu_fabric.workloads.verification import POINT_TO_POINT, RUN_LABEL
from ...kubernetes_api import Object
from ..device_plugins import annotations_of, labels_of
from .results import history_line, latest, messages
from .run import PlayedNode, PlayedRun, ailments_of, rail_rate

ENDS_ANNOTATION, MESSAGE_ANNOTATION = "sandbox.gpu-fabric/completes-after", "sandbox.gpu-fabric/termination-message"
STATUS_ANNOTATION = "sandbox.gpu-fabric/exit-status"
"""What the Stage for pods reads: how long a pod runs on, what its containers leave in the end, and their status."""

_JOB_LABEL = "batch.kubernetes.io/job-name"
# A real run waits for a minute; the entries of a history are the script's own number.
_GATHERS = timedelta(seconds=4)
_MOST_HISTORY = 200

# A real run takes minutes; a launcher that is not also a worker ends after the workers.
_TAKES, _LAUNCHER_TAKES = "2s", "4s"
_LAUNCHER = "mpimaster"


def endings(
    pods: Iterable[Object], nodes: Mapping[str, Object], config_maps: Mapping[str, Object]
) -> Iterator[tuple[Object, dict[str, str]]]:
    """Pods of runs that go on, each with the annotations by which it ends; a run whose pods do not all run waits.

    `nodes` are by name, `config_maps` by namespace and name. Raises ValueError for a run that cannot be played.
    """
    runs: dict[tuple[str, str], list[Object]] = defaultdict(list)
    for pod in filter(lambda pod: not is_scheduled(pod), pods):
        runs[pod["metadata"]["namespace"], labels_of(pod)[RUN_LABEL]].append(pod)
    for (namespace, name), own in runs.items():
        files = config_maps.get(f"{namespace}/{name}")
        if files is None or any(MESSAGE_ANNOTATION in annotations_of(pod) for pod in own):
            continue
        workers = sorted((pod for pod in own if not _launches(pod)), key=_place)
        launchers = [pod for pod in own if _launches(pod)]
        all_run = all(pod.get("status", {}).get("phase") == "Running" for pod in own)
        if not all_run or not workers or len(workers) < int(_environment(workers[0])["NODES"]):
            continue
        ordered = [*launchers, *workers]
        said = messages(_run(workers, nodes, files), len(ordered))
        for number, pod in enumerate(ordered):
            takes = _LAUNCHER_TAKES if _launches(pod) else _TAKES
            yield pod, {ENDS_ANNOTATION: takes, MESSAGE_ANNOTATION: said[number] if number < len(said) else ""}


class Scheduled(NamedTuple):
    """A scheduled run that has begun: its job, its pods, of which the first launches, and the ConfigMap it writes.

    `entry` is None where one node alone is idle, and nothing is measured.
    """

    namespace: str
    job: str
    pods: tuple[str, ...]
    history: str
    entry: dict[str, Any] | None
    latest: str


def is_scheduled(pod: Mapping[str, Any]) -> bool:
    """Whether a pod is of a scheduled run."""
    return any("scheduled" in container.get("command", ()) for container in pod["spec"]["containers"])


def begun(
    pods: Iterable[Object],
    nodes: Mapping[str, Object],
    config_maps: Mapping[str, Object],
    now: datetime,
    known: Container[tuple[str, str]] = (),
) -> Iterator[Scheduled]:
    """Scheduled runs, but those that are `known` by namespace and job, whose pods have found each other.

    They are those that run when the first one has run for a while.

    Raises ValueError for a run that cannot be played.
    """
    runs: dict[tuple[str, str], list[Object]] = defaultdict(list)
    for pod in filter(is_scheduled, pods):
        if pod.get("status", {}).get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]:
            runs[pod["metadata"]["namespace"], labels_of(pod)[_JOB_LABEL]].append(pod)
    for (namespace, job), own in runs.items():
        first = min(own, key=lambda pod: (pod["status"]["startTime"], _place(pod)))
        together = sorted(own, key=lambda pod: (pod is not first, _place(pod)))
        if now - datetime.fromisoformat(first["status"]["startTime"]) < _GATHERS or (namespace, job) in known:
            continue
        volumes = {volume["name"]: volume for volume in first["spec"]["volumes"]}
        files = config_maps.get(f"{namespace}/{volumes['verification']['configMap']['name']}")
        if files is None:
            continue
        environment = _environment(first)
        run = _run(sorted(own, key=_place), nodes, files)
        time, bar = now.strftime("%Y-%m-%dT%H:%M:%SZ"), float(environment["BAR"])
        yield Scheduled(
            namespace=namespace,
            job=job,
            pods=tuple(pod["metadata"]["name"] for pod in together),
            history=environment["HISTORY"],
            entry=history_line(run, job, time, bar) if len(own) > 1 else None,
            latest=latest(run) if len(own) > 1 else "",
        )


def with_entry(history: Mapping[str, str], entry: Mapping[str, Any]) -> str:
    """The history with a new entry before the others."""
    lines = [json.dumps(entry, separators=(",", ":")), *history.get("history.jsonl", "").splitlines()]
    return "".join(f"{line}\n" for line in lines[:_MOST_HISTORY])


def _run(workers: list[Object], nodes: Mapping[str, Object], files: Object) -> PlayedRun:
    environment = _environment(workers[0])
    machines = [nodes[pod["spec"]["nodeName"]] for pod in workers]
    rails = tuple(int(line.split()[0]) for line in files["data"]["rails"].splitlines())
    rates = [rail_rate(machine) for machine in machines]
    lines = (line.partition("=") for line in files["data"]["settings"].splitlines())
    return PlayedRun(
        nodes=tuple(
            PlayedNode(_host(pod), machine["metadata"]["name"], ailments_of(machine))
            for pod, machine in zip(workers, machines, strict=True)
        ),
        gpus=int(environment["GPUS"]),
        rails=rails,
        all_rails=max((count for _, count in rates), default=0) or len(rails) or 1,
        settings={key: value for key, _, value in lines},
        program=environment["PROGRAM"],
        rate=min(rate for rate, _ in rates),
        rail_bar=float(environment["RAIL_BAR"]),
        ucx_options=next(iter(files["data"].get(POINT_TO_POINT, "").splitlines()[1:]), None),
    )


def _host(pod: Mapping[str, Any]) -> str:
    spec = pod["spec"]
    return str(spec["nodeName"] if spec.get("hostNetwork") else spec.get("hostname") or pod["metadata"]["name"])


def _launches(pod: Mapping[str, Any]) -> bool:
    return any(container["name"] == _LAUNCHER for container in pod["spec"]["containers"])


def _place(pod: Mapping[str, Any]) -> tuple[int, str]:
    """A pod's number in its job, by which its host is named."""
    number = _host(pod).rpartition("-")[2] if not pod["spec"].get("hostNetwork") else ""
    index = annotations_of(pod).get("batch.kubernetes.io/job-completion-index", number)
    return (int(index) if index.isdecimal() else 0, pod["metadata"]["name"])


def _environment(pod: Mapping[str, Any]) -> dict[str, str]:
    (container, *_) = pod["spec"]["containers"]
    return {entry["name"]: entry["value"] for entry in container.get("env", ()) if "value" in entry}
