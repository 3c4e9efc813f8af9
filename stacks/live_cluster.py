"""The cluster of a run as it is: what stands in the plan's way there, before anything is registered."""

from __future__ import annotations

import shutil
from pathlib import Path

import pulumi

from components.cluster.existing import existing_kubeconfig
from components.cluster.referenced import CLUSTER, KUBECONFIG
from components.engine.cluster_api import ClusterApi, PatientClusterApi
from components.engine.live_cluster import refusal, shares_its_cluster
from components.engine.stack_outputs import StackOutputsError, full_name, last_outputs
from components.engine.waves.oke_pools import PROGRAM
from gpu_fabric.plan import Plan
from gpu_fabric.plan.records import PlannedWaves
from gpu_fabric.plan.waves import WAVES
from gpu_fabric.spec.stack import StackSpec

from .configuration import stack_file_name

_SWITCH = "Without this comparison: `guard: {preflight: false}`; what is in the way then shows itself in `up`."


def cluster_refusal(spec: StackSpec, plan: Plan, root: Path) -> str:
    """Why the plan must not be applied to the cluster as it is; empty if nothing is in the way.

    Warnings are logged.

    Raises:
        pulumi.RunError: the kubeconfig cannot be used, or `up` cannot read a cluster that the stack shares.
    """
    compares = plan.part != "platform" and plan.cluster.provider == "existing" and spec.guard.preflight
    shares = shares_its_cluster(plan)
    if not compares and not shares:
        return ""
    # Here, since a stack that is alone on a cluster that it creates asks none.
    from gpu_fabric.live.stack import Stack

    try:
        api = _api(plan, root)
    except StackOutputsError as error:
        if not pulumi.runtime.is_dry_run():
            raise pulumi.RunError(f"the cluster was not looked at, and so nothing was changed: {error}") from None
        pulumi.log.warn(f"the cluster was not looked at: {error}; `up` compares it with the plan, and may be refused")
        return ""
    stack = Stack(spec, plan, has_run=_has_run() if shares else None)
    refused = refusal(stack_file_name(root), api, stack, compares=compares)
    return f"{refused}\n{_SWITCH}" if refused and compares else refused


def missing_program(plan: Plan) -> str:
    """Which program the run would look for in vain once it has changed the cloud; empty if all are there."""
    waves = plan.record(PlannedWaves, WAVES)
    if waves is None or waves.machines is None or shutil.which(PROGRAM) is not None:
        return ""
    return (
        f"{PROGRAM} is not on PATH, by which the waves replace machines (gpu-fabric:upgrade.machines): install the OCI "
        "command line where the stack runs, and log in; or leave upgrade.machines out. Nothing was changed."
    )


def _api(plan: Plan, root: Path) -> ClusterApi:
    """The API of the plan's cluster. Raises StackOutputsError where nothing leads to it."""
    split = plan.split
    if split is None and plan.cluster.provider == "existing":
        return PatientClusterApi(existing_kubeconfig(plan.cluster, root), plan.cluster.context)
    # A cluster of the stack's own is the one of its last run.
    stack = full_name(pulumi.get_stack()) if split is None else full_name(split.cluster_stack, split.organization)
    try:
        outputs = last_outputs(stack)
    except StackOutputsError as error:
        raise StackOutputsError(f"the outputs of stack {stack} cannot be read: {error}") from None
    if not outputs.get(CLUSTER if split else KUBECONFIG):
        first = "" if split else "; a first `up` with install: true and policy: own makes it and what is shared on it"
        raise StackOutputsError(f"stack {stack} has created no cluster yet{first}")
    return PatientClusterApi(str(outputs[KUBECONFIG]), None)


def _has_run() -> bool:
    """Whether this stack has a record of an earlier `up`."""
    try:
        return bool(last_outputs(full_name(pulumi.get_stack())).get("applied"))
    except StackOutputsError:
        return False
