"""The guard of a run: what was applied last against the plan."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pulumi

from components.cluster.referenced import cluster_id_of
from components.stack_outputs import StackOutputsError, full_name, last_outputs
from gpu_fabric.changes.dangers import dangers
from gpu_fabric.changes.footprint import Footprint, footprint, footprint_diff, footprint_of_outputs
from gpu_fabric.changes.guard import acknowledgeable_names, explanation, group_answers, judge
from gpu_fabric.changes.model import Judgement
from gpu_fabric.cli import clock
from gpu_fabric.plan import Plan
from gpu_fabric.resources import resources
from stacks.configuration import stack_file_name
from stacks.reached import reached_cluster

# What the guard reads of the outputs; of the others, which hold a kubeconfig, it keeps nothing.
_READ = ("applied", "addressPlan", "fabric", "clusterId")


def refusal(plan: Plan, root: Path, today: date | None = None) -> str:
    """Why the plan may not be applied: what it loses that nobody has agreed to. Empty where it may be.

    Says which acknowledgements let something pass, and which ones have nothing to acknowledge. Without `today` it is
    today's date in UTC.

    Raises:
        pulumi.RunError: the engine does not say what was applied last, or a kubeconfig cannot be used.
    """
    reached = None if plan.part == "platform" or plan.cluster.provider != "existing" else reached_cluster(plan, root)
    outputs = _outputs_of_last_run()
    if not outputs:
        return ""
    last = _applied(outputs)
    if last is None:
        return ""
    new = footprint(plan, _cluster_id(plan), None if reached is None else reached.address)
    judgement = judge(
        dangers(footprint_diff(plan.stack, last, new)),
        plan.acknowledgements,
        clock.today() if today is None else today,
        _known(plan, last),
    )
    if not judgement.passes:
        ways = () if reached is None or last.known_id == new.known_id else reached.ways_back(last.known_id)
        return "\n".join([explanation(judgement, stack_file_name(root)), *ways])
    if reached is not None and last.known_id == new.known_id:
        reached.warn_of_another(last.applied.address)
    _tell(judgement)
    return ""


def _outputs_of_last_run() -> Mapping[str, Any]:
    """Outputs of the running stack as its state has them; none at all where it never ran.

    Raises:
        pulumi.RunError: the engine does not say.
    """
    try:
        outputs = last_outputs(full_name(pulumi.get_stack()))
    except StackOutputsError as error:
        raise pulumi.RunError(f"cannot tell what was applied last, and so nothing was changed: {error}") from None
    return {key: outputs[key] for key in _READ if key in outputs}


def _applied(outputs: Mapping[str, Any]) -> Footprint | None:
    """The footprint of what was applied last; None where that is not on record, which is said."""
    try:
        found = footprint_of_outputs(outputs)
    except (AttributeError, KeyError, TypeError, ValueError):
        pulumi.log.warn(
            "the output `applied` of the last run cannot be read by this version: this run is not compared with it, "
            "and "
            "overwrites it"
        )
        return None
    if found is None:
        pulumi.log.info(
            "the last run left no record of what it applied (output `applied`): this run is not compared with it, and "
            "writes one"
        )
    return found


def _cluster_id(plan: Plan) -> str | None:
    """The id of the cluster that another stack has made for this one, as far as that says so."""
    return cluster_id_of(plan.split) if plan.split is not None and plan.part == "platform" else None


def _known(plan: Plan, last: Footprint) -> set[str]:
    """What an acknowledgement can name, of the plan and of what was applied last."""
    return acknowledgeable_names((*(resources(plan) if plan.acknowledgements else ()), *last.applied.resources))


def _tell(judgement: Judgement) -> None:
    for group in group_answers(judgement.answers):
        for entry in dict.fromkeys(answer.acknowledgement for answer in group.answers):
            if entry is not None:
                pulumi.log.warn(
                    f"{group.name}: {group.happens} ({group.danger.why}). This is acknowledged by the entry "
                    f"{entry.resource}, until {entry.expires}: {entry.reason}"
                )
    for leftover in judgement.leftovers:
        pulumi.log.info(leftover.remark)
