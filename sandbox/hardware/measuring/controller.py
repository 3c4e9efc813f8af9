"""The loop: when all pods of a verification run, it writes to each how it ends."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from gpu_fabric.workloads.verification import COMPONENT, COMPONENT_LABEL
from ...kubernetes_api import Api, ApiError, Object
from ..views import Collections
from ..watching import RETRY_S
from .play import ENDS_ANNOTATION, STATUS_ANNOTATION, Scheduled, begun, endings, with_entry

_SELECTED = f"{COMPONENT_LABEL}={COMPONENT}"
_TICK_S = 1.0
# A real scheduled run measures for minutes.
_MEASURES = timedelta(seconds=8)
_NEVER = datetime.max.replace(tzinfo=UTC)

log = logging.getLogger(__name__)


class _MeasuringViews(Collections):
    """The pods of verifications, their files, and the nodes that they run on."""

    def __init__(self, kubeconfig: Path, changed: threading.Event) -> None:
        super().__init__(kubeconfig, changed)
        self.pods = self._plain("/api/v1/pods", _SELECTED)
        self.config_maps = self._plain("/api/v1/configmaps", _SELECTED)


class MeasuringController:
    """Simulates the programs in the pods of verifications until it is stopped."""

    def __init__(self, kubeconfig: Path) -> None:
        self._changed = threading.Event()
        self._views = _MeasuringViews(kubeconfig, self._changed)
        self._api = Api(kubeconfig)
        self._said = ""
        self._begun: dict[tuple[str, str], tuple[Scheduled, datetime]] = {}

    def run(self, stopped: threading.Event) -> None:
        """Works until `stopped` is set; what cannot be played is logged once, errors of the API server are retried."""
        self._views.start()
        while not stopped.is_set():
            self._changed.wait(_TICK_S)
            self._changed.clear()
            if not self._views.known() or not self._views.pods.objects():
                continue
            try:
                self._look()
            except (ApiError, ValueError) as problem:
                if str(problem) != self._said:
                    log.warning("a verification cannot be played: %s", problem)
                self._said = str(problem)
                self._changed.set()
                stopped.wait(RETRY_S)

    def _look(self) -> None:
        pods, files = self._views.pods.objects().values(), self._views.config_maps.objects()
        # Nodes are many and change often; they are read when a run has begun.
        nodes = {node["metadata"]["name"]: node for node in self._api.get("/api/v1/nodes")["items"]}
        for pod, ending in endings(pods, nodes, files):
            metadata = pod["metadata"]
            path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
            self._views.pods.keep(self._api.patch(path, {"metadata": {"annotations": ending}}))
        self._measure_idle_nodes(tuple(pods), nodes, files)

    def _measure_idle_nodes(
        self, pods: tuple[Object, ...], nodes: dict[str, Object], files: Mapping[str, Object]
    ) -> None:
        """Scheduled runs: what has begun is written a few seconds later, if all of its pods still run then."""
        now = datetime.now(UTC)
        running = {
            pod["metadata"]["name"]
            for pod in pods
            if pod.get("status", {}).get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]
        }
        for run in begun(pods, nodes, files, now, self._begun):
            self._begun[run.namespace, run.job] = (run, now + _MEASURES)
        for key, (run, end) in tuple(self._begun.items()):
            if not running.issuperset(run.pods):
                # A pod lost its node to a job, or the run was ended before.
                self._begun[key] = (run, _NEVER)
            elif end <= now:
                self._end_scheduled(run)
                self._begun[key] = (run, _NEVER)

    def _end_scheduled(self, run: Scheduled) -> None:
        if run.entry is not None:
            path = f"/api/v1/namespaces/{run.namespace}/configmaps/{run.history}"
            before = self._api.get(path).get("data", {})
            written = {"history.jsonl": with_entry(before, run.entry)}
            self._api.patch(path, {"data": written, "binaryData": {"latest.tar.gz": run.latest}})
        passed = run.entry is None or run.entry["passed"]
        ending = {ENDS_ANNOTATION: "0s", STATUS_ANNOTATION: "0" if passed else "1"}
        launcher = f"/api/v1/namespaces/{run.namespace}/pods/{run.pods[0]}"
        self._views.pods.keep(self._api.patch(launcher, {"metadata": {"annotations": ending}}))
