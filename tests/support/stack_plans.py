"""The plan of a stack by its name."""

from pathlib import Path

from changes import Changes, changed

from gpu_fabric.plan import Plan
from gpu_fabric.prepare import prepare
from gpu_fabric.progress import NO_PROGRESS, Progress
from gpu_fabric.spec.load import read_document


def stack_plan(
    name: str, root: Path, changes: Changes | None = None, *, for_up: bool = False, progress: Progress = NO_PROGRESS
) -> Plan:
    """The plan of `Pulumi.NAME.yaml` in a folder, or in its folder examples, with values at some places changed."""
    return prepare(changed(read_document(name, root), changes or {}), for_up=for_up, progress=progress).plan
