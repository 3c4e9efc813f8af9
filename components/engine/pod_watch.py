"""What keeps pods of the stack's software from starting, said while a run waits for them.

Helm waits for a chart until its limit and then names no workload. So the program looks at the pods meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pulumi

from gpu_fabric.plan import Plan

from ..cluster.handle import ClusterHandle, Resources
from .cluster_api import ClusterApi, RequestError, find
from .waiting import applied

# Seconds between two looks.
_PAUSE = 30.0


def watch_pods(plan: Plan, cluster: ClusterHandle, resources: Resources) -> None:
    """Log each reason for which pods of a plan's charts do not start, once, until the resources are applied.

    A preview does not look. What cannot be read is not worth a word: the run itself says so.
    """
    if pulumi.runtime.is_dry_run() or not plan.releases:
        return
    every: pulumi.Output[list[Any]] = pulumi.Output.all(*map(applied, resources))

    async def watched(kubeconfig: str) -> bool:
        def look() -> Mapping[str, str]:
            return start_problems(plan, kubeconfig, cluster.context)

        await watch_until(asyncio.ensure_future(every.future()), look, pulumi.log.warn)
        return True

    _: pulumi.Output[bool] = cluster.kubeconfig.apply(watched)


async def watch_until(
    ended: asyncio.Future[Any], look: Callable[[], Mapping[str, str]], say: Callable[[str], None]
) -> None:
    """Look again and again until something has ended, well or not, and say each text that is found once, by its key."""
    said: set[str] = set()
    while not (await asyncio.wait({ended}, timeout=_PAUSE))[0]:
        found = await asyncio.to_thread(look)
        for text in (text for key, text in found.items() if key not in said):
            say(text)
        said.update(found)
    # What failed is an error of its own.
    ended.exception()


def start_problems(plan: Plan, kubeconfig: str, context: str | None) -> dict[str, str]:
    """What keeps pods of a plan's software from starting, with what mends it, by workload and reason.

    Nothing where the cluster cannot be read.
    """
    # Here, since most runs end before the first look.
    from gpu_fabric.live.cluster import Cluster
    from gpu_fabric.live.pods import unready_pods

    try:
        api = ClusterApi(kubeconfig, context, 1)
        # The cluster's own time: pods are judged by their age.
        api.request("GET", "/version")
        if api.date is None:
            return {}
        cluster = Cluster(lambda path: find(api, path), lambda path, manifest: {})
        found = tuple(unready_pods(plan, cluster, api.date.timestamp()))
    except RequestError:
        return {}
    # The message has numbers that change, and names of pods. Of a text of several lines Pulumi shows the first alone
    # until the run has ended.
    return {
        f"{entry.message.partition(' has ')[0]} {entry.seen[0].value.partition(':')[0]}": entry.one_line
        for entry in found
    }
