"""The loop: when all pods of a verification run, it writes to each how it ends."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

from gpu_fabric.workloads.verification import COMPONENT, COMPONENT_LABEL
from sandbox.hardware.measuring.play import endings
from sandbox.hardware.views import Collections
from sandbox.hardware.watching import RETRY_S
from sandbox.kubernetes_api import Api, ApiError

_SELECTED = f"{COMPONENT_LABEL}={COMPONENT}"
_TICK_S = 1.0

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
