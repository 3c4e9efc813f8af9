"""Attach workloads to the fabric: complete their manifests with everything that the contract requires."""

from gpu_fabric.attach.attachment import (
    Attached,
    AttachedText,
    Wishes,
    attach,
    attach_text,
    detach,
    detach_text,
    is_for_gpus,
)
from gpu_fabric.attach.place import AttachError, Note, Problem, describe_place

__all__ = [
    "AttachError",
    "Attached",
    "AttachedText",
    "Note",
    "Problem",
    "Wishes",
    "attach",
    "attach_text",
    "detach",
    "detach_text",
    "is_for_gpus",
    "describe_place",
]
