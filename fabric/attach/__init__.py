"""Attaching workloads to the fabric: manifests in, the same with everything that the contract asks for out."""

from fabric.attach.attachment import Attached, Wishes, attach, is_for_gpus
from fabric.attach.contract import read_contract
from fabric.attach.manifests import AttachedText, attach_text
from fabric.attach.problem import AttachError, InputError, Note, Problem, said_place

__all__ = [
    "AttachError",
    "Attached",
    "AttachedText",
    "InputError",
    "Note",
    "Problem",
    "Wishes",
    "attach",
    "attach_text",
    "is_for_gpus",
    "read_contract",
    "said_place",
]
