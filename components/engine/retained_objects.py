"""Objects of a release that stay when a newer chart has them no more: Helm reads that in the object itself."""

from __future__ import annotations

import asyncio
import time

import pulumi

from gpu_fabric.plan.records import PlannedRetention

from ..cluster.handle import ClusterHandle, Resources
from .cluster_api import ClusterApi, RequestError, api_path, find, merge
from .waiting import NodesError, api_of, delay_resources
from .waves.marks import annotations_of

# Read of the object on the cluster, not of the chart (Update in pkg/kube/client.go of Helm 3).
_POLICY = {"helm.sh/resource-policy": "keep"}
_PATIENCE, _PAUSE = 60.0, 2.0


def when_retained(planned: PlannedRetention, cluster: ClusterHandle, resources: Resources) -> Resources:
    """The resources, known when the object, if there is one, is marked to stay; a preview changes nothing."""

    async def waited(kubeconfig: str) -> None:
        await asyncio.to_thread(retain, planned, api_of(kubeconfig, cluster.context))

    return delay_resources(cluster, resources or (cluster.provider,), waited)


def retain(planned: PlannedRetention, api: ClusterApi) -> None:
    """Mark the object, so that no upgrade of its release deletes it.

    Raises:
        NodesError: the cluster refuses; the release must not be upgraded then.
    """
    path, end = api_path(planned.api_version, planned.plural, name=planned.name), time.monotonic() + _PATIENCE
    while True:
        try:
            found = find(api, path)
            if found is not None and not _POLICY.items() <= annotations_of(found).items():
                merge(api, path, {"metadata": {"annotations": _POLICY}})
                pulumi.log.info(f"{planned.kind} {planned.name} stays when its release is upgraded")
            return
        except RequestError as error:
            if not error.temporary or time.monotonic() > end:
                raise NodesError(f"{planned.kind} {planned.name} could not be marked to stay: {error}") from None
            time.sleep(_PAUSE)
