"""The cluster of a run as it is, read before anything is registered: what is in the plan's way there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pulumi

from gpu_fabric.findings import Finding, errors
from gpu_fabric.findings.finding import refusal as text_of_refusal
from gpu_fabric.plan import Plan
from gpu_fabric.plan.records import PlannedSharing

from .cluster_api import ClusterApi, RequestError

if TYPE_CHECKING:
    from gpu_fabric.live.stack import Stack

Json = dict[str, Any]
_FORBIDDEN = 403


def refusal(place: str, api: ClusterApi, stack: Stack, *, compares: bool) -> str:
    """What is in a stack's way on a cluster; without `compares` only what protects others that share it.

    `place` is the stack's file or component. Empty if nothing is in the way; warnings are logged. A cluster that cannot
    be read is a warning: whether the run needs it shows itself, and a preview does not. A stack that shares it must
    read it.

    Raises:
        pulumi.RunError: `up` could not read what others have on the cluster.
    """
    found = tuple(_found(api, stack, compares=compares))
    wrong = errors(found)
    for entry in found:
        if entry not in wrong:
            pulumi.log.warn("\n".join(entry.lines()))
    return text_of_refusal(wrong, place, "created") if wrong else ""


def _found(api: ClusterApi, stack: Stack, *, compares: bool) -> Iterator[Finding]:
    # Here, since a stack that is alone on a cluster that it creates asks none.
    from gpu_fabric.live.cluster import Cluster
    from gpu_fabric.live.examination import Examination
    from gpu_fabric.live.judging import differences, judged

    cluster = Cluster(_Asked(api).get, _Asked(api).create)
    shares, is_preview = shares_its_cluster(stack.plan), pulumi.runtime.is_dry_run()
    try:
        found = judged(Examination(stack, cluster, phase="before"), protecting=True) if shares else ()
        if cluster.refused and not is_preview:
            raise RequestError(_FORBIDDEN, next(iter(cluster.refused.values())))
        yield from differences(stack, cluster) if compares else found
    except RequestError as error:
        if shares and not is_preview:
            raise pulumi.RunError(f"the cluster was not looked at, and so nothing was changed: {error}") from None
        later = "; `up` compares them, and may be refused" if shares else ""
        pulumi.log.warn(f"the plan was not compared with the cluster as it is: {error}{later}")


def shares_its_cluster(plan: Plan) -> bool:
    """Whether a plan builds on what others have on its cluster."""
    return bool(plan.records(PlannedSharing))


class _Asked:
    """Requests to the cluster; those that are not allowed differ from those without an answer."""

    def __init__(self, api: ClusterApi) -> None:
        self._api = api

    def get(self, path: str) -> Json | None:
        return self._request("GET", path, None)

    def create(self, path: str, manifest: Json) -> Json:
        return self._request("POST", path, manifest) or {}

    def _request(self, method: str, path: str, manifest: Json | None) -> Json | None:
        from gpu_fabric.live.cluster import NotAllowed

        headers = {"Content-Type": "application/json"} if manifest else {}
        try:
            return self._api.request(method, path, manifest, headers)
        except RequestError as error:
            if error.status == 404:
                return None
            if error.status == _FORBIDDEN:
                raise NotAllowed(str(error)) from None
            raise
