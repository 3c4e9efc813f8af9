"""Attach the fabric to workload manifests as text (YAML or JSON), and detach it again."""

from __future__ import annotations

from typing import NamedTuple

from gpu_fabric.attach.attachment import AttachOptions, attach, detach
from gpu_fabric.attach.text.manifest_text import read_manifests, refusing_depth
from gpu_fabric.contract import FabricContract
from gpu_fabric.findings import Finding


class AttachedText(NamedTuple):
    """The attached manifests in their original form, and notes for the user."""

    text: str
    notes: tuple[Finding, ...]


def attach_text(text: str, contract: FabricContract, options: AttachOptions | None = None) -> AttachedText:
    """Attach the fabric to the workloads in a text; unchanged parts stay as written, comments included.

    Raises:
        InputError: the text contains no manifests.
        AttachError: with every problem in all documents.
    """
    manifests = read_manifests(text)
    with refusing_depth():
        result = attach(manifests.documents, contract, options)
    return AttachedText(manifests.write(result.documents), result.notes)


def detach_text(text: str) -> str:
    """The manifests without the additions that their stamps record; everything else stays as written.

    Raises:
        InputError: the text contains no manifests.
        AttachError: with every stamp that cannot be read.
    """
    manifests = read_manifests(text)
    with refusing_depth():
        detached = detach(manifests.documents)
    return manifests.write(detached)
