"""The loop of the controllers of jobs: it reads the cluster, asks each of them, and has their turns written."""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from fabric.k8s.kueue import QUEUE_LABEL
from sandbox.hardware.device_plugins import labels_of
from sandbox.hardware.jobs import jobset, kueue, mpi, mpi_status, volcano
from sandbox.hardware.jobs.room import Room
from sandbox.hardware.jobs.turns import Turn, condition_of, holds, is_deleted, owner_of
from sandbox.hardware.jobs.views import APP_LABEL, JOBSET, KUEUE, MPI_OPERATOR, VOLCANO, JobViews
from sandbox.hardware.jobs.volcano_pods import DEFAULT_QUEUE, SCHEDULING
from sandbox.hardware.jobs.writing import TurnWriter
from sandbox.kubernetes_api import Api, ApiError, Object

# Jobs that wait for nodes to have room are looked at as often, whatever else happens.
_TICK_S = 1.0
# After a turn that did not work.
_AGAIN_S = 0.3

log = logging.getLogger(__name__)


class JobController:
    """Plays the controllers that are installed, until it is told to stop."""

    def __init__(self, kubeconfig: Path) -> None:
        self._changed = threading.Event()
        self._views = JobViews(kubeconfig, self._changed)
        self._api = Api(kubeconfig)
        self._writer = TurnWriter.of(kubeconfig)
        self._complaints: dict[str, str] = {}

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
        names = {labels_of(item)[APP_LABEL] for item in views.controllers.objects().values()}
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        if KUEUE in names:
            yield self._understood("the queues", lambda: self._kueue(now))
        if VOLCANO in names:
            yield from self._volcano(now)
        if MPI_OPERATOR in names:
            yield from self._mpi(now)
        if JOBSET in names:
            own = _by_owner(views.child_jobs.objects().values())
            for key, item in views.job_sets.objects().items():
                yield self._understood(key, partial(jobset.play, item, own[item["metadata"]["uid"]], now))

    def _volcano(self, now: str) -> Iterator[Turn]:
        views = self._views
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

    def _mpi(self, now: str) -> Iterator[Turn]:
        views = self._views
        pods, launchers = list(views.mpi_pods.objects().values()), list(views.launchers.objects().values())
        for key, job in views.mpi_jobs.objects().items():
            own = mpi.belongings(job, pods, launchers)
            yield self._understood(key, partial(mpi_status.play, job, own, now))

    def _kueue(self, now: str) -> Turn:
        views = self._views
        kinds = (views.mpi_jobs, views.job_sets, views.queued_jobs, views.queued_pods)
        jobs = [item for kind in kinds for item in kind.objects().values() if QUEUE_LABEL in labels_of(item)]
        # what belongs to another job waits with that one
        jobs = [item for item in jobs if owner_of(item) is None]
        workloads = list(views.workloads.objects().values())
        waiting = [item for item in workloads if condition_of(item, "Finished") is None]
        waiting = [item for item in waiting if not holds(item, "QuotaReserved")]
        queues = kueue.Queues(
            local=views.local_queues.objects(),
            cluster=views.cluster_queues.objects(),
            flavors=views.flavors.objects(),
            topologies=views.topologies.objects(),
            namespaces=views.namespaces.objects(),
        )
        room = self._room() if waiting else Room((), ())
        return kueue.play(kueue.Admissions(jobs, workloads), queues, room, now)

    def _understood(self, about: str, turn: Callable[[], Turn]) -> Turn:
        """A turn; none where the job's template is not what its controller expects, which is said once."""
        problem = ""
        try:
            return turn()
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            problem = f"{error!r}"
            return Turn()
        finally:
            if problem and self._complaints.get(about) != problem:
                log.error("%s is not understood: %s", about, problem)
            self._complaints[about] = problem

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
