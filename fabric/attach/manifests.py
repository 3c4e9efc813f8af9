"""Manifests as text: YAML with any number of documents, or JSON."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from fabric.attach.attachment import Wishes, attach
from fabric.attach.problem import InputError, Note
from fabric.attach.yaml_documents import read_yaml
from fabric.attach.yaml_text import rewritten
from fabric.plan import FabricContract

_INDENT = re.compile(r"[{\[]\r?\n([ \t]+)")


class AttachedText(NamedTuple):
    """The same manifests with the fabric attached, in the form they came in, and what should be known."""

    text: str
    notes: tuple[Note, ...]


def attach_text(text: str, contract: FabricContract, wishes: Wishes | None = None) -> AttachedText:
    """Attach the fabric to the workloads in a text; what is not changed stays as written, comments and all.

    Raises:
        InputError: the text holds no manifests.
        AttachError: with every problem in all documents.
    """
    try:
        return _attached(text, contract, wishes)
    except RecursionError:
        raise InputError("ATT001", "mappings and lists lie too deep in each other for manifests") from None


def _attached(text: str, contract: FabricContract, wishes: Wishes | None) -> AttachedText:
    if (documents := _json_documents(text)) is not None:
        result = attach([content for content, _, _ in documents], contract, wishes)
        return AttachedText(_json_text(text, documents, result.documents), result.notes)
    read = read_yaml(text)
    result = attach([document.content for document in read], contract, wishes)
    return AttachedText(rewritten(text, read, list(result.documents)), result.notes)


def _json_documents(text: str) -> list[tuple[Any, int, int]] | None:
    """The objects of a JSON text, one behind another, with where each begins and ends; None where it is none.

    Raises:
        InputError: an object has a key twice.
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


def _json_text(text: str, documents: list[tuple[Any, int, int]], contents: tuple[Any, ...]) -> str:
    result, position = "", 0
    for (before, start, end), after in zip(documents, contents, strict=True):
        result += text[position:start] + (text[start:end] if before == after else _dumped(after, text[start:end]))
        position = end
    return result + text[position:]


def _dumped(content: Any, written: str) -> str:
    """JSON indented as it was written."""
    indent = _INDENT.match(written)
    compact = (",", ":") if indent is None and '": ' not in written else None
    escaped = written.isascii() or "\\u" in written
    text = json.dumps(
        content, indent=None if indent is None else indent.group(1), separators=compact, ensure_ascii=escaped
    )
    return text.replace("\n", "\r\n") if "\r\n" in written else text
