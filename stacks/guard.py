"""The guard of a run: what was applied last against the plan, before any resource is registered."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pulumi

from components.cluster.referenced import cluster_id_of
from components.stack_outputs import StackOutputsError, full_name, last_outputs
from fabric import clock
from fabric.guard import Judgement, dangers, explanation, judged
from fabric.guard.applied import footprint_of_outputs
from fabric.guard.compared import footprint_diff
from fabric.guard.footprint import Footprint, footprint
from fabric.guard.groups import groups
from fabric.guard.judging import nameable
from fabric.plan import Plan
from fabric.resources import resources
from stacks.configuration import stack_file_name

# What the guard reads of the outputs; of the others, which hold a kubeconfig, it keeps nothing.
_READ = ("applied", "addressPlan", "fabric")


def guarded(plan: Plan, root: Path, today: date | None = None) -> Plan:
    """The plan, which loses nothing that nobody has agreed to; without `today` it is today's date in UTC.

    Says which acknowledgements let something pass, and which ones have nothing to acknowledge.

    Raises:
        pulumi.RunError: the plan loses something that no acknowledgement covers; the text says what and what to do.
    """
    outputs = _outputs_of_last_run()
    if not outputs:
        return plan
    last = _applied(outputs)
    if last is None:
        return plan
    judgement = judged(
        dangers(footprint_diff(plan.stack, last, footprint(plan, _cluster_id(plan)))),
        plan.acknowledgements,
        clock.today() if today is None else today,
        _known(plan, last),
    )
    if not judgement.passes:
        raise pulumi.RunError(explanation(judgement, stack_file_name(root)))
    _tell(judgement)
    return plan


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
            "the output `applied` of the last run cannot be read by this version: this run is not held against it, and "
            "writes it anew"
        )
        return None
    if found is None:
        pulumi.log.info(
            "the last run left no record of what it applied (output `applied`): this run is not held against it, and "
            "writes one"
        )
    return found


def _cluster_id(plan: Plan) -> str | None:
    """The id of the cluster that another stack has made for this one, as far as that says so."""
    return cluster_id_of(plan.split) if plan.split is not None and plan.part == "platform" else None


def _known(plan: Plan, last: Footprint) -> set[str]:
    """What an acknowledgement can name, of the plan and of what was applied last."""
    return nameable((*(resources(plan) if plan.acknowledgements else ()), *last.applied.resources))


def _tell(judgement: Judgement) -> None:
    for group in groups(judgement.answers):
        for entry in dict.fromkeys(answer.acknowledgement for answer in group.answers):
            if entry is not None:
                pulumi.log.warn(
                    f"{group.name}: {group.happens} ({group.why}). This is acknowledged by the entry "
                    f"{entry.resource}, until {entry.expires}: {entry.reason}"
                )
    for leftover in judgement.leftovers:
        pulumi.log.info(leftover.remark)
