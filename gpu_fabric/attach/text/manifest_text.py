"""Manifests as text, YAML or JSON: their documents, and the same text with other contents."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from gpu_fabric.attach.text.yaml_documents import YamlDocument, read_yaml
from gpu_fabric.attach.text.yaml_text import rewrite
from gpu_fabric.findings import InputError

_MARK = "\ufeff"
# An expression of a chart's template. Workflows of Argo have such words too, but as text of valid YAML.
_TEMPLATE = re.compile(
    r"\{\{-?\s*(?:/\*|\$|\.|\(|(?:if|else|end|with|range|define|include|template|toYaml|required)\b)"
)
_INDENT = re.compile(r"[{\[]\r?\n([ \t]+)")


@contextmanager
def refusing_depth() -> Iterator[None]:
    """Raise an InputError in the place of a RecursionError."""
    try:
        yield
    except RecursionError:
        raise InputError("ATT001", "mappings and lists are nested too deeply for manifests") from None


@dataclass(frozen=True)
class ManifestText:
    """A text and its documents, with their positions in it: as JSON objects, or as YAML."""

    text: str
    documents: list[Any]
    objects: list[tuple[Any, int, int]] | None
    yaml: list[YamlDocument]

    def write(self, contents: Sequence[Any]) -> str:
        """The text with new contents of its documents; unchanged parts stay as written, comments included.

        Raises:
            InputError: the form of a document does not allow the edit.
        """
        mark = self.text[: self.text.startswith(_MARK)]
        text = self.text[len(mark) :]
        with refusing_depth():
            if self.objects is not None:
                return mark + _json_text(text, self.objects, contents)
            end = _line_end(text)
            return mark + rewrite(text.replace(end, "\n"), self.yaml, list(contents)).replace("\n", end)


def read_manifests(text: str) -> ManifestText:
    """The documents of a text, empty ones included.

    Raises:
        InputError: the text contains no manifests.
    """
    plain = text.removeprefix(_MARK)
    with refusing_depth():
        if (found := _json_documents(plain)) is not None:
            return ManifestText(text, [content for content, _, _ in found], found, [])
        try:
            read = read_yaml(plain.replace(_line_end(plain), "\n"))
        except InputError as error:
            if _TEMPLATE.search(plain) is None:
                raise
            raise InputError(
                "ATT001",
                f"{error.finding.message}; it looks like a template of a chart and not a manifest: render it first, "
                "and attach the fabric to what `helm template` prints, or by Helm's post-renderer (docs/attach.md)",
            ) from None
        return ManifestText(text, [document.content for document in read], None, read)


def _line_end(text: str) -> str:
    """What ends every line of a text; a line feed where its lines end in different ways."""
    feeds, returns, both = text.count("\n"), text.count("\r"), text.count("\r\n")
    if not feeds:
        return "\r" if returns else "\n"
    return "\r\n" if feeds == returns == both else "\n"


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
        result += text[position:start] + (text[start:end] if before == after else _dump(after, text[start:end]))
        position = end
    return result + text[position:]


def _dump(content: Any, written: str) -> str:
    """JSON in the indentation and line ends of the original."""
    indent = _INDENT.match(written)
    compact = (",", ":") if indent is None and '": ' not in written else None
    escaped = written.isascii() or "\\u" in written
    text = json.dumps(
        content, indent=None if indent is None else indent.group(1), separators=compact, ensure_ascii=escaped
    )
    return text.replace("\n", "\r\n") if "\r\n" in written else text
