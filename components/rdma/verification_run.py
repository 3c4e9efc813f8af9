"""One run of the verification on a cluster: its objects, its pods' results, and the ConfigMap with the verdict."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gpu_fabric.nccl.busbw import BarUnknownError
from gpu_fabric.nccl.verdict.bundle import BundleError, join_parts, read_bundle, script_messages
from gpu_fabric.nccl.verdict.judging import judge_bundle, nothing_measured
from gpu_fabric.nccl.verdict.report import Verdict, verdict_lines
from gpu_fabric.plan.records import PlannedVerification
from gpu_fabric.workloads.verification import RUN_LABEL

from ..engine.cluster_api import ClusterApi, Json, RequestError, api_path, find
from ..kept_objects import shortened

MANAGER = "gpu-fabric"
RESULTS, VERDICT, LINES = "results.tar.gz", "verdict.json", "report.txt"
"""Entries of the ConfigMap: the job's results, the verdict, and the verdict as text."""

_PLURALS = {"ConfigMap": "configmaps", "Service": "services", "Secret": "secrets", "Job": "jobs", "MPIJob": "mpijobs"}
# Seconds between two requests, for the pods' last messages after the job's end, and for the deletion of pods.
_PAUSE, _LAST_WORDS, _GONE = 2.0, 20.0, 300.0
# Bytes of results and number of reasons in the ConfigMap, whose limit is 1 MiB.
_MOST_RESULTS, _MOST_REASONS = 600_000, 300
_TOLD = 8


class Seen(NamedTuple):
    """The job: its pods, and how it ended; `end` is empty while it runs."""

    pods: Sequence[Json]
    end: str

    @property
    def messages(self) -> list[str]:
        """The termination messages of containers."""
        return [state["message"] for _, state in self._terminated() if state.get("message")]

    def problems(self) -> Iterator[str]:
        """Why pods do not run, and how others failed."""
        for pod in self.pods:
            name, node = pod["metadata"]["name"], pod["spec"].get("nodeName")
            where = f"pod {name} on node {node}" if node else f"pod {name}"
            for reason in _pending(pod):
                yield f"{where}: {reason}"
        for pod, state in self._terminated():
            if state.get("exitCode"):
                name, node = pod["metadata"]["name"], pod["spec"].get("nodeName", "")
                yield f"pod {name} on node {node}: exit status {state['exitCode']} ({state.get('reason', 'no reason')})"

    def _terminated(self) -> Iterator[tuple[Json, Json]]:
        for pod in self.pods:
            for container in pod.get("status", {}).get("containerStatuses", ()):
                if (state := container.get("state", {}).get("terminated")) is not None:
                    yield pod, state


class VerificationRun:
    """A planned run on one cluster; requests are repeated after temporary failures.

    Every method raises RequestError.
    """

    def __init__(self, api: ClusterApi, planned: PlannedVerification, say: Callable[[str], None]) -> None:
        self._api = api
        self._planned = planned
        self._say = say
        *self._before, self._job = planned.manifests

    def is_there(self) -> bool:
        """Whether the job exists, left by an interrupted run."""
        found = find(self._api, _path(self._job))
        return found is not None and "deletionTimestamp" not in found["metadata"]

    def start(self) -> None:
        """Create all of the job's objects, the job last."""
        if self._planned.keys_secret is not None:
            self._apply(_keys(self._planned.keys_secret, self._planned))
        for manifest in (*self._before, self._job):
            self._apply(manifest)

    def clear(self) -> None:
        """Delete all of the job's objects; returns when its pods are deleted, so that the next run can start."""
        paths = [_path(manifest) for manifest in (self._job, *reversed(self._before))]
        for path in paths:
            self._delete(path)
        self._forget_keys()
        end = time.monotonic() + _GONE
        while find(self._api, paths[0]) is not None or self._pods():
            if time.monotonic() > end:
                raise RequestError(0, f"the pods of {self._planned.name} are still there {_GONE:.0f} s after deletion")
            time.sleep(_PAUSE)

    def forget(self) -> None:
        """Delete the ConfigMap with the verdict."""
        self._delete(self._report_path)

    def has_ended(self) -> bool:
        """Whether a verdict is possible without waiting."""
        seen = self._look()
        return bool(seen.end) or _results(seen) is not None

    def verdict(self) -> Verdict:
        """Wait for the job's end, judge its results, and write the ConfigMap."""
        data, reasons = self._results()
        verdict = self._judged(data, reasons)
        self._publish(verdict, data)
        self._forget_keys()
        return verdict

    def _results(self) -> tuple[bytes | None, list[str]]:
        """The pods' results; without results, the reasons."""
        end = time.monotonic() + self._planned.seconds + _LAST_WORDS
        over = None
        said = ""
        while True:
            seen = self._look()
            if (data := _results(seen)) is not None:
                return data, []
            now = time.monotonic()
            over = now if seen.end and over is None else over
            if now > end or (over is not None and now > over + _LAST_WORDS):
                return None, self._reasons(seen)
            if (text := self._progress(seen)) != said:
                self._say(text)
                said = text
            time.sleep(_PAUSE)

    def _reasons(self, seen: Seen) -> list[str]:
        try:
            join_parts(seen.messages)
            lost = []
        except BundleError as error:
            lost = [str(error)]
        end = seen.end or f"the job has not ended after {self._planned.seconds} s"
        return [end, *lost, *script_messages(seen.messages), *shortened(list(seen.problems()), _TOLD)]

    def _judged(self, data: bytes | None, reasons: list[str]) -> Verdict:
        if data is None:
            return nothing_measured(reasons)
        try:
            return judge_bundle(read_bundle(data), self._planned.expectation)
        except (BundleError, BarUnknownError) as error:
            return nothing_measured([str(error)])

    def _publish(self, verdict: Verdict, data: bytes | None) -> None:
        planned = self._planned
        verdict = verdict.model_copy(update={"findings": verdict.findings[:_MOST_REASONS]})
        report: Json = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": planned.report, "namespace": planned.namespace, "labels": {RUN_LABEL: planned.name}},
            "data": {
                VERDICT: verdict.model_dump_json(by_alias=True, indent=2) + "\n",
                LINES: "".join(f"{line}\n" for line in verdict_lines(verdict)),
            },
        }
        if data is not None and len(data) <= _MOST_RESULTS:
            report["binaryData"] = {RESULTS: base64.b64encode(data).decode()}
        elif data is not None:
            report["data"][LINES] += f"{RESULTS} is left out: it has {len(data)} bytes\n"
        self._apply(report)

    def _progress(self, seen: Seen) -> str:
        running = sum(pod.get("status", {}).get("phase") == "Running" for pod in seen.pods)
        waiting = shortened(list(seen.problems()), 1)
        return f"{running} of {self._planned.pods} pods run{''.join(f'; {problem}' for problem in waiting)}"

    def _look(self) -> Seen:
        return Seen(self._pods(), _end(find(self._api, _path(self._job))))

    def _pods(self) -> list[Json]:
        path = api_path("v1", "pods", self._planned.namespace)
        return self._api.items(path, f"{RUN_LABEL}={self._planned.name}")

    def _forget_keys(self) -> None:
        if self._planned.keys_secret is not None:
            self._delete(api_path("v1", "secrets", self._planned.namespace, self._planned.keys_secret))

    def _apply(self, manifest: Mapping[str, Any]) -> None:
        self._api.apply(_path(manifest), dict(manifest), MANAGER)

    def _delete(self, path: str) -> None:
        # By default Kubernetes keeps the pods of a deleted Job.
        self._api.delete(f"{path}?propagationPolicy=Foreground")

    @property
    def _report_path(self) -> str:
        return api_path("v1", "configmaps", self._planned.namespace, self._planned.report)


def _results(seen: Seen) -> bytes | None:
    try:
        return join_parts(seen.messages)
    except BundleError:
        return None


def _path(manifest: Mapping[str, Any]) -> str:
    metadata = manifest["metadata"]
    return api_path(manifest["apiVersion"], _PLURALS[manifest["kind"]], metadata["namespace"], metadata["name"])


def _end(job: Json | None) -> str:
    """How a job ended: Kubernetes and the MPI operator report it by conditions, Volcano by a phase."""
    if job is None:
        return "the job was deleted"
    status = job.get("status", {})
    if (phase := status.get("state", {}).get("phase")) in ("Completed", "Failed", "Aborted", "Terminated"):
        return f"the job is {phase} {status['state'].get('message', '')}".rstrip()
    for condition in status.get("conditions", ()):
        if condition.get("status") == "True" and condition["type"] in ("Complete", "Succeeded", "Failed"):
            why = " ".join(filter(None, (condition.get("reason"), condition.get("message"))))
            return f"the job is {condition['type']}: {why}".rstrip(": ")
    return ""


def _pending(pod: Json) -> Iterator[str]:
    status = pod.get("status", {})
    if status.get("phase") != "Pending":
        return
    for condition in status.get("conditions", ()):
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            yield str(condition.get("message", "not scheduled"))
    for container in status.get("containerStatuses", ()):
        if (waiting := container.get("state", {}).get("waiting")) is not None:
            yield " ".join(filter(None, (waiting.get("reason"), waiting.get("message"))))


def _keys(name: str, planned: PlannedVerification) -> Json:
    """A Secret with an ssh key pair for one run; it is deleted after the run."""
    # Imported here, because the import is slow and most runs of the program need no key.
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH) + b"\n"
    entries = {"key": private, "key.pub": public}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": planned.namespace, "labels": {RUN_LABEL: planned.name}},
        "data": {entry: base64.b64encode(content).decode() for entry, content in entries.items()},
    }
