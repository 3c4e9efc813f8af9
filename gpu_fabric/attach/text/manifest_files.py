"""Attach the fabric to the workloads of several files at once, as one input: what one asks for holds for all."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from gpu_fabric.attach.attachment import AttachOptions, attach
from gpu_fabric.attach.place import AttachError
from gpu_fabric.attach.text.manifest_text import ManifestText, read_manifests, refusing_depth
from gpu_fabric.contract import FabricContract
from gpu_fabric.findings import Finding, InputError

# A text that cannot be read, but whose outermost keys are those of a Kubernetes object.
_OBJECT = [re.compile(rf"""^(?:- |\s*\{{?\s*["'])?{key}["']?\s*:""", re.M) for key in ("apiVersion", "kind")]
# What is not found in the files that can be read may be in one that cannot.
_OF_ALL_FILES = ("ATT009", "ATT010")


class AttachedFiles(NamedTuple):
    """The attached manifests of each file in their original form, and notes with their files.

    The file of a note is None where it is about several of them. `skipped` are files without any Kubernetes object.
    """

    texts: dict[str, str]
    notes: tuple[tuple[str | None, Finding], ...]
    skipped: tuple[str, ...] = ()


class FilesError(Exception):
    """Nothing was attached to any of the files. `reasons` has every reason, by file; None is several of them."""

    def __init__(self, reasons: Mapping[str | None, AttachError | InputError]) -> None:
        self.reasons = dict(reasons)
        super().__init__(f"{len(self.reasons)} files to which the fabric cannot be attached")


def attach_files(
    texts: Mapping[str, str],
    contract: FabricContract,
    options: AttachOptions | None = None,
    doubtful: Collection[str] = (),
) -> AttachedFiles:
    """Attach the fabric to the workloads of all files; a wish is met where one of the files meets it.

    Files of `doubtful` are skipped where they contain no Kubernetes object: values of a chart, other settings.

    Raises:
        FilesError: with every problem of every file.
    """
    manifests: dict[str, ManifestText] = {}
    reasons: dict[str | None, AttachError | InputError] = {}
    skipped = []
    for file, text in texts.items():
        try:
            read = read_manifests(text)
        except InputError as error:
            if file not in doubtful or all(key.search(text) for key in _OBJECT):
                reasons[file] = error
                continue
            skipped.append(file)
            continue
        if file in doubtful and not any(map(_is_object, read.documents)):
            skipped.append(file)
        else:
            manifests[file] = read
    places = [(file, number) for file, one in manifests.items() for number, _ in enumerate(one.documents, start=1)]
    try:
        with refusing_depth():
            attached = attach([document for one in manifests.values() for document in one.documents], contract, options)
    except InputError as error:
        raise FilesError({**reasons, next(iter(manifests)) if len(manifests) == 1 else None: error}) from None
    except AttachError as error:
        problems = [one for one in error.problems if not (reasons and one.id in _OF_ALL_FILES)]
        reasons |= {file: AttachError(own) for file, own in _by_file(problems, places).items()}
        raise FilesError(reasons) from None
    contents = iter(attached.documents)
    written = {}
    for file, one in manifests.items():
        own = [next(contents) for _ in one.documents]
        try:
            written[file] = one.write(own)
        except InputError as error:
            reasons[file] = error
    if reasons:
        raise FilesError(reasons)
    notes = [(file, note) for file, own in _by_file(attached.notes, places).items() for note in own]
    return AttachedFiles(written, tuple(notes), tuple(skipped))


def _by_file(said: Iterable[Finding], places: list[tuple[str, int]]) -> dict[str | None, list[Finding]]:
    """What is said of documents, by file, with the numbers of the documents in it."""
    found: dict[str | None, list[Finding]] = {}
    files = {file for file, _ in places}
    only = files.pop() if len(files) == 1 else None
    for one in said:
        file, number = places[one.document - 1] if one.document else (only, 0)
        found.setdefault(file, []).append(one.model_copy(update={"document": number}))
    return found


def _is_object(document: Any) -> bool:
    return isinstance(document, dict) and all(isinstance(document.get(key), str) for key in ("apiVersion", "kind"))
