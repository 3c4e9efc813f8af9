"""The cluster of a run as it is: what stands in the plan's way there, before anything is registered."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pulumi

from components.cluster.existing import existing_kubeconfig
from components.engine.cluster_api import ClusterApi, PatientClusterApi, RequestError
from components.engine.waves.oke_pools import PROGRAM
from gpu_fabric.findings import Severity
from gpu_fabric.plan import Plan
from gpu_fabric.plan.records import PlannedWaves
from gpu_fabric.plan.waves import WAVES
from gpu_fabric.spec.stack import StackSpec
from stacks.configuration import stack_file_name

Json = dict[str, Any]
_FORBIDDEN = 403
# Differences that an operator or a run leaves behind that has ended: a deletion without an end, a silent webhook.
_LEFT_BEHIND = frozenset({"PRE020", "PRE021", "PRE031", "PRE041", "PRE090"})
_DOCTOR = "What an ended operator or run has left: `gpu-fabric doctor -s {stack}` names and mends it."


def hindrance(spec: StackSpec, plan: Plan, root: Path) -> str:
    """Why the plan must not be applied to the cluster as it is; empty if nothing is in the way.

    Warnings are logged. A cluster that cannot be asked is a warning as well: whether the run needs it shows itself, and
    a preview does not.

    Raises:
        pulumi.RunError: the kubeconfig cannot be used.
    """
    if plan.part == "platform" or plan.cluster.provider != "existing" or not spec.guard.preflight:
        return ""
    # Here, since a stack that creates its cluster asks none.
    from gpu_fabric.preflight.cluster import Cluster
    from gpu_fabric.preflight.judging import differences
    from gpu_fabric.preflight.text import difference_lines

    text = existing_kubeconfig(plan.cluster, root)
    try:
        asked = _Asked(PatientClusterApi(text, plan.cluster.context))
        found = differences(spec, plan, Cluster(asked.get, asked.create))
    except RequestError as error:
        pulumi.log.warn(f"the plan was not compared with the cluster as it is: {error}")
        return ""
    for entry in found:
        if entry.severity is not Severity.ERROR:
            pulumi.log.warn("\n".join(difference_lines(entry)))
    wrong = [entry for entry in found if entry.severity is Severity.ERROR]
    if not wrong:
        return ""
    count = f"{len(wrong)} difference{'s' if len(wrong) != 1 else ''}"
    return "\n".join(
        [
            f"{stack_file_name(root)}: {count} between the plan and the cluster, nothing was created.",
            *(f"  {line}" for entry in wrong for line in difference_lines(entry)),
            *([_DOCTOR.format(stack=plan.stack)] if any(entry.id in _LEFT_BEHIND for entry in wrong) else ()),
            "Without this comparison: `guard: {preflight: false}`; what is in the way then shows itself in `up`.",
        ]
    )


def missing_program(plan: Plan) -> str:
    """Which program the run would look for in vain once it has changed the cloud; empty if all are there."""
    waves = plan.record(PlannedWaves, WAVES)
    if waves is None or waves.machines is None or shutil.which(PROGRAM) is not None:
        return ""
    return (
        f"{PROGRAM} is not on PATH, by which the waves replace machines (gpu-fabric:upgrade.machines): install the OCI "
        "command line where the stack runs, and log in; or leave upgrade.machines out. Nothing was changed."
    )


class _Asked:
    """Requests to the cluster; those that are not allowed differ from those without an answer."""

    def __init__(self, api: ClusterApi) -> None:
        self._api = api

    def get(self, path: str) -> Json | None:
        return self._request("GET", path, None)

    def create(self, path: str, manifest: Json) -> Json:
        return self._request("POST", path, manifest) or {}

    def _request(self, method: str, path: str, manifest: Json | None) -> Json | None:
        from gpu_fabric.preflight.cluster import NotAllowed

        headers = {"Content-Type": "application/json"} if manifest else {}
        try:
            return self._api.request(method, path, manifest, headers)
        except RequestError as error:
            if error.status == 404:
                return None
            if error.status == _FORBIDDEN:
                raise NotAllowed(str(error)) from None
            raise
