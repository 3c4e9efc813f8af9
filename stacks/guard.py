"""The guard of a run: compares the plan with the last applied one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pulumi

from components.cluster.existing import existing_kubeconfig
from components.cluster.referenced import cluster_id_of
from components.engine.stack_outputs import StackOutputsError, full_name, last_outputs
from gpu_fabric.base import clock
from gpu_fabric.changes.footprint import Footprint, footprint, footprint_diff, footprint_of_outputs
from gpu_fabric.plan import Plan
from gpu_fabric.resources import resources
from gpu_fabric.spec.kubeconfig import Reached, cluster_identity, contexts_of, open_choice, reached

from .configuration import stack_file_name

if TYPE_CHECKING:
    from gpu_fabric.changes.model import Judgement

# The outputs that the guard reads; it keeps none of the others, which include a kubeconfig.
_READ = ("applied", "addressPlan", "fabric", "clusterId")


class _ReachedCluster(NamedTuple):
    """The cluster of a run: the context and server of its kubeconfig, and the id derived from them (`address`)."""

    place: Reached
    address: str
    kubeconfig: str

    def ways_back(self, last_id: str | None) -> tuple[str, ...]:
        """What to write so that this run uses the last run's cluster."""
        if last_id is None:
            return ()
        there = contexts_of(self.kubeconfig, last_id)
        return (
            f"This run's kubeconfig leads to {self.place}.",
            *(f"The last run's cluster is this: write `context: {name}` under `gpu-fabric:cluster`." for name in there),
            f"If both are one cluster, at another address: write `id: {last_id}` under `gpu-fabric:cluster`.",
        )

    def warn_of_another(self, last_address: str | None) -> None:
        """Warn if the address has changed, so that only `cluster.id` identifies this as the last run's cluster."""
        if last_address not in (None, self.address):
            pulumi.log.warn(
                f"the kubeconfig leads to another address than in the last run: {self.place}. By `cluster.id` it "
                "is the same cluster; where it is not, stop here, since nothing else distinguishes them"
            )


def refusal(plan: Plan, root: Path, today: date | None = None) -> str:
    """Why the plan must not be applied: its losses that are not acknowledged. Empty if there are none.

    Also logs the acknowledgements that allowed a loss, and those that are not needed. `today` is by default today's
    date in UTC.

    Raises:
        pulumi.RunError: the last run's outputs cannot be read, or a kubeconfig cannot be used.
    """
    here = None if plan.part == "platform" or plan.cluster.provider != "existing" else _reached_cluster(plan, root)
    outputs = _outputs_of_last_run()
    if not outputs:
        return ""
    last = _applied(outputs)
    if last is None:
        return ""
    # Here, since a first run has nothing to judge.
    from gpu_fabric.changes.dangers import dangers
    from gpu_fabric.changes.guard import explanation, judge

    new = footprint(plan, _cluster_id(plan), None if here is None else here.address)
    judgement = judge(
        dangers(footprint_diff(plan.stack, last, new)),
        plan.acknowledgements,
        clock.today() if today is None else today,
        _known(plan, last),
    )
    if not judgement.passes:
        ways = () if here is None or last.known_id == new.known_id else here.ways_back(last.known_id)
        return "\n".join([explanation(judgement, stack_file_name(root)), *ways])
    if here is not None and last.known_id == new.known_id:
        here.warn_of_another(last.applied.address)
    _tell(judgement)
    return ""


def _reached_cluster(plan: Plan, root: Path) -> _ReachedCluster:
    """The cluster of the running program; it is also logged.

    Raises:
        pulumi.RunError: the kubeconfig cannot be used.
    """
    cluster = plan.cluster
    text = existing_kubeconfig(cluster, root)
    place = reached(text, cluster.context)
    pulumi.log.info(f"cluster: {place}")
    if cluster.kubeconfig_secret is not None:
        # A kubeconfig file was checked with the stack file.
        for entry in open_choice(text, cluster.context, f"the secret {cluster.kubeconfig_secret}"):
            pulumi.log.warn(entry.one_line)
    return _ReachedCluster(place, cluster_identity(text, cluster.context), text)


def _outputs_of_last_run() -> Mapping[str, Any]:
    """Outputs of the running stack's last run; empty if it never ran.

    Raises:
        pulumi.RunError: they cannot be read.
    """
    try:
        outputs = last_outputs(full_name(pulumi.get_stack()))
    except StackOutputsError as error:
        raise pulumi.RunError(f"cannot tell what was applied last, and so nothing was changed: {error}") from None
    return {key: outputs[key] for key in _READ if key in outputs}


def _applied(outputs: Mapping[str, Any]) -> Footprint | None:
    """The footprint of the last run; None if there is no readable record of it, which is logged."""
    try:
        found = footprint_of_outputs(outputs)
    except (AttributeError, KeyError, TypeError, ValueError):
        pulumi.log.warn(
            "the output `applied` of the last run cannot be read by this version: this run is not compared with it, "
            "and overwrites it"
        )
        return None
    if found is None:
        pulumi.log.info(
            "the last run left no record of what it applied (output `applied`): this run is not compared with it, and "
            "writes one"
        )
    return found


def _cluster_id(plan: Plan) -> str | None:
    """The id of the cluster stack's cluster; None in other parts, or if that stack's outputs do not have it."""
    return cluster_id_of(plan.split) if plan.split is not None and plan.part == "platform" else None


def _known(plan: Plan, last: Footprint) -> set[str]:
    """The names that an acknowledgement can use, of the plan and of the last run."""
    from gpu_fabric.changes.guard import acknowledgeable_names

    return acknowledgeable_names((*(resources(plan) if plan.acknowledgements else ()), *last.applied.resources))


def _tell(judgement: Judgement) -> None:
    from gpu_fabric.changes.guard import group_answers

    for group in group_answers(judgement.answers):
        for entry in dict.fromkeys(answer.acknowledgement for answer in group.answers):
            if entry is not None:
                pulumi.log.warn(
                    f"{group.name}: {group.happens} ({group.danger.why}). This is acknowledged by the entry "
                    f"{entry.resource}, until {entry.expires}: {entry.reason}"
                )
    for leftover in judgement.leftovers:
        pulumi.log.info(leftover.remark)
