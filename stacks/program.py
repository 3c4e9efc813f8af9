"""A run of the program: configuration to plan, the guard, plan to resources, resources to outputs."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pulumi

from .configuration import program_stack
from .gpu_cluster import gpu_cluster
from .guard import refusal
from .live_cluster import cluster_refusal, missing_program


def program(root: Path, today: date | None = None) -> None:
    """Register the stack; `root` is the project's folder, and `today` is by default today's date in UTC.

    The guard refuses a run before any resource is registered, and so does what stands in the way on the cluster. A
    preview registers the resources nonetheless and fails at its end, so that it shows the refused difference.

    Raises:
        pulumi.RunError: the stack cannot be brought up, the plan has losses that are not acknowledged, or the cluster
            has something in its way.
    """
    spec, plan = program_stack(root)
    reasons = refusal(plan, root, today), cluster_refusal(spec, plan, root), missing_program(plan)
    refused = "\n".join(filter(None, reasons))
    if not refused:
        gpu_cluster(plan, root).export()
        return
    if pulumi.runtime.is_dry_run():
        try:
            gpu_cluster(plan, root).export()
        except pulumi.RunError as error:
            refused = f"{refused}\n{error}"
    raise pulumi.RunError(refused)
