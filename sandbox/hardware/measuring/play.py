"""How the pods of a run end. Pure functions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gpu_fabric.workloads.verification import RUN_LABEL
from sandbox.hardware.device_plugins import annotations_of, labels_of
from sandbox.hardware.measuring.results import messages
from sandbox.hardware.measuring.run import PlayedNode, PlayedRun, ailments_of, rail_rate
from sandbox.kubernetes_api import Object

ENDS_ANNOTATION, MESSAGE_ANNOTATION = "sandbox.gpu-fabric/completes-after", "sandbox.gpu-fabric/termination-message"
"""What the Stage for pods reads: how long a pod runs on, and what its containers leave in the end."""

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
    for pod in pods:
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
