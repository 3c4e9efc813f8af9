"""The rendered plan: a plan as a folder of files that users and tools can compare."""

from gpu_fabric.render.folder import (
    FolderError,
    RenderedPlanError,
    has_stacks_index,
    read_refused,
    read_rendered,
    write_files,
)
from gpu_fabric.render.layout import files, refused_files, stacks_index
from gpu_fabric.render.model import (
    RefusedPlan,
    RenderedPlan,
    RenderedRail,
    RenderedResource,
    RenderedStep,
    RenderedWait,
)
from gpu_fabric.render.rendering import rendered

__all__ = [
    "FolderError",
    "RefusedPlan",
    "RenderedPlan",
    "RenderedPlanError",
    "RenderedRail",
    "RenderedResource",
    "RenderedStep",
    "RenderedWait",
    "files",
    "has_stacks_index",
    "read_refused",
    "read_rendered",
    "refused_files",
    "rendered",
    "stacks_index",
    "write_files",
]
