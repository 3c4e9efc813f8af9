"""Attach and detach manifests as text: YAML with any number of documents, or JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from gpu_fabric.attach.attachment import Wishes, attach, detach
from gpu_fabric.attach.place import Note
from gpu_fabric.attach.yaml_documents import read_yaml
from gpu_fabric.attach.yaml_text import rewritten
from gpu_fabric.contract import FabricContract
from gpu_fabric.findings import InputError

_INDENT = re.compile(r"[{\[]\r?\n([ \t]+)")


class AttachedText(NamedTuple):
    """The attached manifests in their original form, and notes for the user."""

    text: str
    notes: tuple[Note, ...]


def attach_text(text: str, contract: FabricContract, wishes: Wishes | None = None) -> AttachedText:
    """Attach the fabric to the workloads in a text; unchanged parts stay as written, comments included.

    Raises:
        InputError: the text contains no manifests.
        AttachError: with every problem in all documents.
    """
    notes: list[Note] = []

    def attached(documents: list[Any]) -> Sequence[Any]:
        result = attach(documents, contract, wishes)
        notes.extend(result.notes)
        return result.documents

    return AttachedText(_changed(text, attached), tuple(notes))


def detach_text(text: str) -> str:
    """The manifests without the additions that their stamps record; everything else stays as written.

    Raises:
        InputError: the text contains no manifests.
        AttachError: with every stamp that cannot be read.
    """
    return _changed(text, detach)


def _changed(text: str, change: Callable[[list[Any]], Sequence[Any]]) -> str:
    mark = text[: text.startswith("\ufeff")]
    text = text[len(mark) :]
    try:
        if (documents := _json_documents(text)) is not None:
            return mark + _json_text(text, documents, change([content for content, _, _ in documents]))
        read = read_yaml(text)
        return mark + rewritten(text, read, list(change([document.content for document in read])))
    except RecursionError:
        raise InputError("ATT001", "mappings and lists are nested too deeply for manifests") from None


def _json_documents(text: str) -> list[tuple[Any, int, int]] | None:
    """The consecutive objects of a JSON text, each with its start and end offset; None if the text is not JSON.

    Raises:
        InputError: an object contains a key twice.
    """
    decoder = json.JSONDecoder(object_pairs_hook=_object)
    found, position = [], 0
    while (rest := text[position:].lstrip("\ufeff \t\r\n")) != "":
        start = len(text) - len(rest)
        if not rest.startswith("{"):
            return None
        try:
            content, end = decoder.raw_decode(text, start)
        except json.JSONDecodeError:
            return None
        found.append((content, start, end))
        position = end
    return found or None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        raise InputError("ATT002", f"the key {next(name for name in names if names.count(name) > 1)} is there twice")
    return content


def _json_text(text: str, documents: list[tuple[Any, int, int]], contents: Sequence[Any]) -> str:
    result, position = "", 0
    for (before, start, end), after in zip(documents, contents, strict=True):
        result += text[position:start] + (text[start:end] if before == after else _dumped(after, text[start:end]))
        position = end
    return result + text[position:]


def _dumped(content: Any, written: str) -> str:
    """JSON in the indentation and line ends of the original."""
    indent = _INDENT.match(written)
    compact = (",", ":") if indent is None and '": ' not in written else None
    escaped = written.isascii() or "\\u" in written
    text = json.dumps(
        content, indent=None if indent is None else indent.group(1), separators=compact, ensure_ascii=escaped
    )
    return text.replace("\n", "\r\n") if "\r\n" in written else text
