"""What the controllers of jobs look at. Nothing of it is watched before the definition of a kind of job is there."""

from __future__ import annotations

import threading
from pathlib import Path
from urllib.parse import quote

from fabric.k8s.kueue import QUEUE_LABEL
from sandbox.hardware.jobs import jobset, kueue_jobs, mpi, volcano_pods
from sandbox.hardware.views import Collections
from sandbox.hardware.watching import Watched

APP_LABEL = "app.kubernetes.io/name"
VOLCANO, MPI_OPERATOR, JOBSET, KUEUE = "volcano", "mpi-operator", "jobset", "kueue"
CONTROLLERS = (VOLCANO, MPI_OPERATOR, JOBSET, KUEUE)

_VOLCANO_JOBS = "jobs.batch.volcano.sh"
_MPI_JOBS = "mpijobs.kubeflow.org"
_JOB_SETS = "jobsets.jobset.x-k8s.io"
_WORKLOADS = "workloads.kueue.x-k8s.io"


class JobViews(Collections):
    """Jobs of every kind, and what was made for them."""

    def __init__(self, kubeconfig: Path, changed: threading.Event) -> None:
        super().__init__(kubeconfig, changed)
        self.controllers = self._plain("/apis/apps/v1/deployments", f"{APP_LABEL} in ({','.join(CONTROLLERS)})")

        self.volcano_jobs = self._custom(volcano_pods.GROUP, "jobs")
        self.pod_groups = self._custom(volcano_pods.SCHEDULING, "podgroups")
        self.queues = self._custom(volcano_pods.SCHEDULING, "queues")
        self.volcano_pods = self._with(_VOLCANO_JOBS, "/api/v1/pods", volcano_pods.JOB_LABEL)

        self.mpi_jobs = self._custom(mpi.GROUP, "mpijobs")
        self.mpi_pods = self._with(_MPI_JOBS, "/api/v1/pods", mpi.JOB_LABEL)
        self.launchers = self._with(_MPI_JOBS, "/apis/batch/v1/jobs", "app")

        self.job_sets = self._custom(jobset.GROUP, "jobsets")
        self.child_jobs = self._with(_JOB_SETS, "/apis/batch/v1/jobs", jobset.SET_LABEL)

        self.workloads = self._custom(kueue_jobs.GROUP, "workloads")
        self.local_queues = self._custom(kueue_jobs.GROUP, "localqueues")
        self.cluster_queues = self._custom(kueue_jobs.GROUP, "clusterqueues")
        self.flavors = self._custom(kueue_jobs.GROUP, "resourceflavors")
        self.topologies = self._custom(kueue_jobs.GROUP, "topologies")
        self.namespaces = self._with(_WORKLOADS, "/api/v1/namespaces")
        self.queued_jobs = self._with(_WORKLOADS, "/apis/batch/v1/jobs", QUEUE_LABEL)
        self.queued_pods = self._with(_WORKLOADS, "/api/v1/pods", QUEUE_LABEL)

    def _with(self, definition: str, path: str, label: str | None = None) -> Watched:
        """Objects of Kubernetes' own that have a label, watched while a custom resource's definition is there."""
        selecting = path if label is None else f"{path}?labelSelector={quote(label, safe='')}"
        return self._add(Watched(self._kubeconfig, selecting, self._changed, self._definitions, definition))
