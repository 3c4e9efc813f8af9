"""A run of the program: configuration to plan, the guard, plan to resources, resources to outputs."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pulumi

from stacks.configuration import program_plan
from stacks.gpu_cluster import gpu_cluster
from stacks.guard import refusal


def program(root: Path, today: date | None = None) -> None:
    """Register the stack; `root` is the project's folder, and without `today` it is today's date in UTC.

    What the guard refuses is refused before any resource is registered. A preview registers all the same and is refused
    at its end, so that it shows the difference that is refused.

    Raises:
        pulumi.RunError: the stack cannot be brought up, or loses something that nobody has acknowledged.
    """
    plan = program_plan(root)
    refused = refusal(plan, root, today)
    if not refused:
        gpu_cluster(plan, root).export()
        return
    if pulumi.runtime.is_dry_run():
        try:
            gpu_cluster(plan, root).export()
        except pulumi.RunError as error:
            refused = f"{refused}\n{error}"
    raise pulumi.RunError(refused)
