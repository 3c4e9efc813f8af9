"""The rendered plan: a plan as a folder of files that people and tools can compare."""

from fabric.render.folder import FolderError, write_files
from fabric.render.layout import files
from fabric.render.model import RenderedPlan, RenderedRail, RenderedResource, RenderedWait
from fabric.render.reading import RenderedPlanError, read_rendered
from fabric.render.refused import RefusedPlan, has_stacks_index, read_refused, refused_files, stacks_index
from fabric.render.rendering import rendered

__all__ = [
    "FolderError",
    "RefusedPlan",
    "RenderedPlan",
    "RenderedPlanError",
    "RenderedRail",
    "RenderedResource",
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
