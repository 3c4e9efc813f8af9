"""The loop: when each operator's functions are called, and how their results are written to the cluster."""

from __future__ import annotations

import json
import logging
import math
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from ..kubernetes_api import STRATEGIC_PATCH, Object
from .device_plugins import app_of, is_plugin, readiness_patch, runs, started
from .inventory import INVENTORY_ANNOTATION
from .node_agent import play
from .node_records import Outcome, World, node_patch, status_body
from .nv_ipam import NvIpam
from .operands import CONFIG_DAEMON, DRIVER_WAIT_LABEL
from .operators import Operators
from .resource_slices import ResourceSlices
from .views import Views
from .watching import RETRY_S
from .writing import Complaints, Writer

# What a sync of the SR-IOV operator takes here; a real one takes seconds to minutes, with a reboot more.
SYNC_S = 1.0
# Nothing that is only a matter of time is looked at less often than this.
_TICK_S = 0.5
# With many nodes to write to, the operators get their turn this often.
_TURN_S = 1.0

log = logging.getLogger("sandbox.hardware")


class Controller:
    """Looks at the cluster whenever something has changed, and writes what follows from it.

    A node is only looked at again when it, its pods or something that counts for all nodes has changed.
    """

    def __init__(self, kubeconfig: Path) -> None:
        self._changed = threading.Event()
        self._views = Views(kubeconfig, self._changed)
        self._writer = Writer(kubeconfig, self._try_again)
        self._operators = Operators(self._views, self._writer)
        self._nv_ipam = NvIpam(self._views, self._writer)
        self._due = math.inf
        self._seen: dict[str, Any] = {}
        self._sync_began: dict[str, float] = {}
        self._complaints = Complaints()
        self._slices = ResourceSlices(self._views, self._writer, self._complaints)

    def run(self, stopped: threading.Event) -> None:
        """Works until `stopped` is set; errors of the API server are logged and retried."""
        self._views.start()
        while not stopped.is_set():
            left = min(_TICK_S, max(0.0, self._due - time.monotonic()))
            if not self._changed.wait(left) and time.monotonic() < self._due:
                continue
            self._changed.clear()
            self._due = math.inf
            if self._views.known():
                began = time.monotonic()
                self._look()
                # many events in a row are looked at together, and others get the processor in between
                stopped.wait(min(_TICK_S, time.monotonic() - began))

    def _try_again(self) -> None:
        self._seen.clear()
        self._slices.again()
        self._due = min(self._due, time.monotonic() + RETRY_S)

    def _look(self) -> None:
        self._due = min(self._due, self._operators.reconcile(time.monotonic()))
        self._nodes(self._operators.world())
        self._due = min(self._due, self._slices.reconcile(time.monotonic()))
        self._nv_ipam.reconcile()

    def _nodes(self, world: World) -> None:
        views, began = self._views, time.monotonic()
        pods: dict[str, dict[str, Object]] = defaultdict(dict)
        for collection in (views.operand_pods, views.sriov_pods, views.setup_pods):
            for key, pod in collection.objects().items():
                pods[pod["spec"].get("nodeName", "")][key] = pod
        states: dict[str, dict[str, Object]] = defaultdict(dict)
        for state in views.node_states.objects().values():
            states[state["metadata"]["name"]][state["metadata"]["namespace"]] = state
        common = self._operators.version()
        for name, node in views.nodes.objects().items():
            own = {key: pod for key, pod in pods[name].items() if runs(pod)}
            if INVENTORY_ANNOTATION not in (node["metadata"].get("annotations") or {}):
                # a machine without such NICs, on which a device plug-in or the SR-IOV daemon only finds nothing
                own = {key: pod for key, pod in own.items() if is_plugin(pod) or app_of(pod) == CONFIG_DAEMON}
                if not own:
                    continue
            asked = states[name]
            known = [item["metadata"]["resourceVersion"] for item in (node, *own.values(), *asked.values())]
            if self._seen.get(name) == (common, known):
                continue
            if time.monotonic() - began > _TURN_S:
                self._changed.set()
                return
            self._seen[name] = (common, known)
            self._node(name, node, own, asked, world)

    def _node(self, name: str, node: Object, pods: dict[str, Object], states: dict[str, Object], world: World) -> None:
        now = time.monotonic()
        is_over = now - self._sync_began.get(name, now) >= SYNC_S
        try:
            outcome = play(node, pods, states, world, sync_is_over=is_over)
        except ValueError as problem:
            self._complaints.note(name, str(problem))
            return
        for key in pods:
            self._complaints.note(key, outcome.failures.get(key, ""))
        if outcome.waits:
            began = now if outcome.states else self._sync_began.get(name, now)
            self._sync_began[name] = began
            self._due = min(self._due, began + SYNC_S)
            self._seen.pop(name, None)
        else:
            self._sync_began.pop(name, None)
        self._write(node, pods, states, outcome)

    def _write(self, node: Object, pods: dict[str, Object], states: dict[str, Object], outcome: Outcome) -> None:
        writer, views = self._writer, self._views
        patch = node_patch(node, outcome)
        if patch and writer.patch(views.nodes, node, patch, STRATEGIC_PATCH, status=True) and "status" in patch:
            log.info("%s offers %s", node["metadata"]["name"], json.dumps(outcome.resources, sort_keys=True))
        if DRIVER_WAIT_LABEL in outcome.labels:
            self._operators.nodes_changed(time.monotonic())
        for namespace, status in outcome.states.items():
            writer.patch(views.node_states, states[namespace], status_body(status), status=True)
        # last: when the pod is ready, the node already has its labels and resources
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        for key in {**outcome.loads, **dict.fromkeys(outcome.ready)}:
            body = started(outcome.loads[key]) if key in outcome.loads else {}
            if key in outcome.ready:
                body |= readiness_patch(pods[key], now)
            if body:
                writer.patch(views.of_pod(pods[key]), pods[key], body, STRATEGIC_PATCH, status=True)
        for key in outcome.restarts:
            writer.delete(pods[key])
