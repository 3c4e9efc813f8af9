"""Steps between the deletion of Kueue's queues and of its chart.

Only Kueue's controller removes its finalizers, and it keeps a queue that a job uses. Helm deletes the controller and
the definitions together, so a definition whose objects still have a finalizer would never be deleted.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import pulumi
from pulumi.dynamic import CreateResult

from gpu_fabric.base.api_objects import is_true
from gpu_fabric.base.enumeration import first_names
from gpu_fabric.k8s.kueue import API_VERSION
from gpu_fabric.resources.dynamic import queue_drain, queue_release

from ..engine.cluster_api import PATIENCE, ClusterApi, Json, RequestError, api_path, counts_as_deleted, find, merge
from ..engine.registration import DynamicProvider, DynamicResource

_QUEUES = f"/apis/{API_VERSION}"
_CONNECTIONS = 2
_LOOK_AGAIN = 1.0
# Seconds for jobs to free their resources, and for the controller to end; pods have half a minute by default.
_DRAINING, _STOPPING = 300.0, 120.0
_NAMED = 10

# Kueue's kinds that have a finalizer; none of them is needed by one that comes later.
_KINDS = ("workloads", "localqueues", "clusterqueues", "resourceflavors", "topologies", "admissionchecks")
_POD_FINALIZER, _POD_LABEL = "kueue.x-k8s.io/managed", "kueue.x-k8s.io/managed=true"
_WEBHOOKS = tuple(
    f"/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations/kueue-{kind}-webhook-configuration"
    for kind in ("validating", "mutating")
)


class QueueTeardownError(pulumi.RunError):
    """The queues could not be emptied; Pulumi prints the message without a traceback."""


class _Teardown(DynamicProvider, ABC):
    """Does nothing but at its deletion, which subclasses define."""

    identity = ("cluster", "queue")

    def create(self, props: dict[str, Any]) -> CreateResult:
        return CreateResult(props.get("queue", props["controller"]), props)

    def delete(self, _id: str, props: dict[str, Any]) -> None:
        """Raises QueueTeardownError."""
        try:
            self._take_down(ClusterApi(props["kubeconfig"], props.get("context"), _CONNECTIONS, PATIENCE), props)
        except RequestError as error:
            if counts_as_deleted(error):
                return
            raise QueueTeardownError(f"Kueue's queues could not be emptied: {error}") from None

    @abstractmethod
    def _take_down(self, api: ClusterApi, props: Mapping[str, Any]) -> None:
        """Requests to the cluster before the resource is deleted. Raises RequestError."""

    def _patch(self, api: ClusterApi, path: str, body: Json) -> Json | None:
        """Merge fields into an object; None if it does not exist."""
        try:
            return merge(api, path, body)
        except RequestError as error:
            if error.status == 404:
                return None
            raise

    def _release(self, api: ClusterApi, props: Mapping[str, Any]) -> None:
        """End the controller, and remove the finalizers that it would have removed."""
        # Without the controller, the webhooks would refuse every change below.
        for path in _WEBHOOKS:
            api.delete(path)
        if find(api, _deployment(props)) is not None:
            # It would add the finalizers again.
            self._patch(api, _deployment(props), {"spec": {"replicas": 0}})
            _until(lambda: not _replicas(find(api, _deployment(props))), _STOPPING)
        for kind in _KINDS:
            for item in api.items(f"{_QUEUES}/{kind}"):
                if item["metadata"].get("finalizers"):
                    self._patch(api, _path(kind, item), {"metadata": {"finalizers": []}})
        for pod in api.items("/api/v1/pods", _POD_LABEL):
            metadata = pod["metadata"]
            kept = [name for name in metadata.get("finalizers", []) if name != _POD_FINALIZER]
            if kept != metadata.get("finalizers", []):
                path = api_path("v1", "pods", metadata["namespace"], metadata["name"])
                self._patch(api, path, {"metadata": {"finalizers": kept}})


class QueueDrainProvider(_Teardown):
    """Empties a queue before it is deleted: it admits no job, and all running jobs are stopped and held."""

    def _take_down(self, api: ClusterApi, props: Mapping[str, Any]) -> None:
        queue, path = props["queue"], f"{_QUEUES}/clusterqueues/{props['queue']}"
        if self._patch(api, path, {"spec": {"stopPolicy": "HoldAndDrain"}}) is None:
            return
        if not props.get("shared") and not _available(find(api, _deployment(props))):
            # Without the controller, no job is stopped and no finalizer removed.
            self._release(api, props)
            return
        _until(lambda: not self._holding(api, queue), _DRAINING)
        if holding := self._holding(api, queue):
            raise QueueTeardownError(
                f"these workloads still hold resources of the queue {queue} {_DRAINING:.0f} s after it was stopped: "
                f"{first_names(holding, _NAMED)}; delete their jobs, and try again"
            )

    def _holding(self, api: ClusterApi, queue: str) -> list[str]:
        """The workloads that use resources of the queue, as namespace/name."""
        return sorted(
            f"{item['metadata']['namespace']}/{item['metadata']['name']}"
            for item in api.items(f"{_QUEUES}/workloads")
            if _admitted_by(item) == queue and not is_true(item, "Finished")
        )


class QueueReleaseProvider(_Teardown):
    """Ends Kueue before its chart is deleted, so that no finalizer keeps objects of the chart's definitions."""

    def _take_down(self, api: ClusterApi, props: Mapping[str, Any]) -> None:
        self._release(api, props)


class QueueDrain(DynamicResource, name="QueueDrain", provider=QueueDrainProvider, planned=queue_drain):
    """Registered after a queue, and so deleted before it; see QueueDrainProvider."""


class QueueRelease(DynamicResource, name="QueueRelease", provider=QueueReleaseProvider, planned=queue_release):
    """Registered between Kueue's chart and its queues, and so deleted between them; see QueueReleaseProvider."""


def _deployment(props: Mapping[str, Any]) -> str:
    return api_path("apps/v1", "deployments", props["namespace"], props["controller"])


def _path(kind: str, item: Json) -> str:
    metadata = item["metadata"]
    return api_path(API_VERSION, kind, metadata.get("namespace"), metadata["name"])


def _available(deployment: Json | None) -> bool:
    return deployment is not None and bool(deployment.get("status", {}).get("availableReplicas"))


def _replicas(deployment: Json | None) -> int:
    return 0 if deployment is None else int(deployment.get("status", {}).get("replicas", 0))


def _admitted_by(workload: Json) -> str | None:
    admission: Mapping[str, Any] = workload.get("status", {}).get("admission") or {}
    return admission.get("clusterQueue")


def _until(done: Callable[[], bool], seconds: float) -> None:
    """Poll until it is done, or the time is over."""
    end = time.monotonic() + seconds
    while not done() and time.monotonic() < end:
        time.sleep(_LOOK_AGAIN)
