"""The loop of Volcano's player: it reads the cluster, and writes what Volcano would do.

Nothing is watched before the definition of its jobs exists. In a turn, objects that others need are created first; one
that fails is repeated.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from urllib.parse import quote

from sandbox.hardware.jobs import volcano, volcano_pods
from sandbox.hardware.jobs.room import Room
from sandbox.hardware.jobs.turns import Turn, is_deleted, owner_of
from sandbox.hardware.jobs.volcano_pods import DEFAULT_QUEUE, SCHEDULING
from sandbox.hardware.views import Collections
from sandbox.hardware.watching import Watched, key_of
from sandbox.hardware.writing import Complaints, path_of
from sandbox.kubernetes_api import Api, ApiError, Object

APP_LABEL = "app.kubernetes.io/name"
VOLCANO = "volcano"

_VOLCANO_JOBS = "jobs.batch.volcano.sh"


class JobViews(Collections):
    """Jobs, and what was made for them."""

    def __init__(self, kubeconfig: Path, changed: threading.Event) -> None:
        super().__init__(kubeconfig, changed)
        self.controllers = self._plain("/apis/apps/v1/deployments", f"{APP_LABEL}={VOLCANO}")

        self.volcano_jobs = self._custom(volcano_pods.GROUP, "jobs")
        self.pod_groups = self._custom(volcano_pods.SCHEDULING, "podgroups")
        self.queues = self._custom(volcano_pods.SCHEDULING, "queues")
        self.volcano_pods = self._with(_VOLCANO_JOBS, "/api/v1/pods", volcano_pods.JOB_LABEL)

    def _with(self, definition: str, path: str, label: str | None = None) -> Watched:
        """Objects of Kubernetes' own that have a label, watched while a custom resource's definition is there."""
        selecting = path if label is None else f"{path}?labelSelector={quote(label, safe='')}"
        return self._add(Watched(self._kubeconfig, selecting, self._changed, self._definitions, definition))


# Jobs that wait for nodes to have room are looked at as often, whatever else happens.
_TICK_S = 1.0
# After a turn that did not work.
_AGAIN_S = 0.3

log = logging.getLogger(__name__)


class JobController:
    """Simulates Volcano, while it is installed, until it is stopped."""

    def __init__(self, kubeconfig: Path) -> None:
        self._changed = threading.Event()
        self._views = JobViews(kubeconfig, self._changed)
        self._api = Api(kubeconfig)
        self._writer = TurnWriter.of(kubeconfig)
        self._complaints = Complaints()

    def run(self, stopped: threading.Event) -> None:
        """Works until `stopped` is set; errors of the API server are logged and retried."""
        self._views.start()
        while not stopped.is_set():
            self._changed.wait(_TICK_S)
            self._changed.clear()
            if not self._views.known():
                continue
            try:
                worked = [self._writer.write(turn) for turn in self._turns() if turn]
            except ApiError as error:
                log.warning("%s; again soon", error)
                worked = [False]
            if not all(worked):
                self._changed.set()
                stopped.wait(_AGAIN_S)

    def _turns(self) -> Iterator[Turn]:
        views = self._views
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        if not views.controllers.objects():
            return
        queues = {name for name, queue in views.queues.objects().items() if not is_deleted(queue)}
        if DEFAULT_QUEUE not in queues:
            queue = {"apiVersion": SCHEDULING, "kind": "Queue", "metadata": {"name": DEFAULT_QUEUE}}
            yield Turn(creates=[{**queue, "spec": {"weight": 1}}])
        pods = _by_owner(views.volcano_pods.objects().values())
        groups = _by_owner(views.pod_groups.objects().values())
        phases = [(item.get("status") or {}).get("phase", "Pending") for item in views.pod_groups.objects().values()]
        room = self._room() if "Pending" in phases else Room((), ())
        for key, job in views.volcano_jobs.objects().items():
            uid = job["metadata"]["uid"]
            own = volcano.Belongings(pods[uid], next(iter(groups[uid]), None))
            yield self._understood(key, partial(volcano.play, job, own, room, queues, now))

    def _understood(self, about: str, turn: Callable[[], Turn]) -> Turn:
        """A turn; none where the job's template is not what its controller expects, which is reported once."""
        problem = ""
        try:
            return turn()
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            problem = f"{error!r}"
            return Turn()
        finally:
            self._complaints.note(f"{about} is not understood", problem)

    def _room(self) -> Room:
        """What nodes have left now, less what pods will take that are not bound yet."""
        pods = self._api.get("/api/v1/pods")["items"]
        room = Room(self._api.get("/api/v1/nodes")["items"], pods)
        unbound = (pod["spec"] for pod in pods if not pod["spec"].get("nodeName") and not is_deleted(pod))
        room.take(spec for spec in unbound if not spec.get("schedulingGates"))
        return room


def _by_owner(items: Iterable[Object]) -> defaultdict[str, list[Object]]:
    """Objects by the uid of what controls them."""
    found: defaultdict[str, list[Object]] = defaultdict(list)
    for item in items:
        found[owner_of(item) or ""].append(item)
    return found


# Its status is written with the rest of it: Volcano's definition has no subresource.
_WITHOUT_SUBRESOURCE = ("PodGroup",)


class TurnWriter:
    """Writes turns to one cluster."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._refused: set[str] = set()

    @classmethod
    def of(cls, kubeconfig: Path) -> TurnWriter:
        """A writer with a connection of its own."""
        return cls(Api(kubeconfig))

    def write(self, turn: Turn) -> bool:
        """Write a turn; False where a write failed, and the rest of the turn was skipped.

        A status describes the created objects, so it is written last; the API server refuses the status of an object
        that has changed since it was read.
        """
        try:
            for item in turn.deletes:
                self._attempt("DELETE", f"{path_of(item)}?propagationPolicy=Background", None, 404)
            for item in turn.creates:
                self._attempt("POST", path_of(item).rpartition("/")[0], item, 409)
            for item, body in turn.patches:
                self._api.patch(path_of(item), body)
                log.info("%s %s is changed", item["kind"], key_of(item))
            for item, status in turn.statuses:
                place = "" if item["kind"] in _WITHOUT_SUBRESOURCE else "/status"
                self._api.request("PUT", path_of(item) + place, {**item, "status": status})
        except ApiError as error:
            # 409: the object has changed since it was read, so it is read again
            if error.status != 409 and str(error) not in self._refused:
                log.warning("%s; again soon, and as long as it is so", error)
                self._refused.add(str(error))
            return False
        return True

    def _attempt(self, method: str, path: str, body: Object | None, harmless: int) -> None:
        """A request that may have been made before."""
        try:
            self._api.request(method, path, body)
            log.info("%s %s", method, path if body is None else f"{body['kind']} {key_of(body)}")
        except ApiError as error:
            if error.status != harmless:
                raise
