"""What Kueue's webhook changes in a job that is being created: it waits from the beginning."""

from __future__ import annotations

from collections.abc import Container

from gpu_fabric.k8s.names import QUEUE_LABEL
from sandbox.hardware.device_plugins import labels_of
from sandbox.hardware.jobs.kueue_jobs import suspended
from sandbox.hardware.jobs.turns import owner_of
from sandbox.kubernetes_api import Object

# The queue of a job without a queue's name, where its namespace has this one.
_DEFAULT = "default"


def queued(job: Object, namespace: str, local_queues: Container[str]) -> Object:
    """The job as it is stored; `local_queues` are namespaces and names.

    What belongs to another job starts with that one. A pod without a queue's name is left alone.
    """
    if owner_of(job) is not None:
        return job
    labels = labels_of(job)
    if QUEUE_LABEL not in labels and job["kind"] != "Pod" and f"{namespace}/{_DEFAULT}" in local_queues:
        labels = {**labels, QUEUE_LABEL: _DEFAULT}
        job = {**job, "metadata": {**job["metadata"], "labels": labels}}
    return suspended(job) if QUEUE_LABEL in labels else job
