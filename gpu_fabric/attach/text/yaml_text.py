"""Edit YAML text: add, change or remove single values; everything else stays as written, to the byte.

A YAML library that serializes a whole document moves comments and breaks lines at other places. So additions are
inserted into the text at the positions that PyYAML's composer reports.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any

import yaml

from gpu_fabric.attach.text.yaml_documents import (
    Alias,
    YamlDocument,
    entries,
    is_merge_key,
    key_of,
    merged_in,
    read_plain,
    read_yaml,
    scalar,
    value_of,
)
from gpu_fabric.findings import InputError

_BLOCK = ("|", ">")
# Keys by which two entries of a list are the same.
_NAMES = ("manager", "name", "groupName", "mountPath", "key", "effect")
# The colon of a key whose value begins on a later line, and the comments between them.
_BEFORE_LINES = re.compile(r":(?:[ \t]+#[^\n]*|[ \t\r]*)(?:\n[ \t]*(?:#[^\n]*|\r)?)*\n[ \t]*\Z")


def rewrite(text: str, documents: list[YamlDocument], contents: list[Any]) -> str:
    """The text with new contents: they may add to mappings and to the end of lists, and change and remove values.

    Raises:
        InputError: the form of a document does not allow the edit.
    """
    edits = _Edits(text)
    for document, content in zip(documents, contents, strict=True):
        edits.change(document, content)
    if documents:
        edits.close(documents[-1].node)
    result = edits.applied()
    try:
        same = _equal([document.content for document in read_yaml(result)], contents)
    except InputError:
        same = False
    if not same:
        message = "written in a way that cannot be added to; write the workloads in block style, no merge keys"
        raise InputError("ATT003", message)
    return result


@dataclass
class _Edits:
    """The replacements to apply to a text, each as start offset, end offset and new text."""

    text: str
    pieces: list[tuple[int, int, str]] = field(default_factory=list)
    newline: str = "\n"
    step: int = 2
    dash: int = 0
    gap: int = 2
    becomes: dict[int, Any] = field(default_factory=dict)
    gone: set[int] = field(default_factory=set)
    ends_open: bool = False

    def __post_init__(self) -> None:
        first, _, _ = self.text.partition("\n")
        self.newline = "\r\n" if first.endswith("\r") else "\n"

    def applied(self) -> str:
        """The text with all replacements applied."""
        result, position = [], 0
        for start, end, new in sorted(self.pieces, key=lambda piece: piece[:2]):
            result += [self.text[position:start], new.replace("\n", self.newline)]
            position = end
        whole = "".join([*result, self.text[position:]])
        return whole.removesuffix("\n").removesuffix("\r") if self.ends_open else whole

    def close(self, node: yaml.Node) -> None:
        """Preserve the value of a block scalar that ends the file without a line end, if text is now added after it."""
        while isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
            last = node.value[-1]
            node = last[1] if isinstance(last, tuple) else last
        if not isinstance(node, yaml.ScalarNode) or node.style not in _BLOCK or not node.value:
            return
        start, end = node.start_mark.index, node.end_mark.index
        if node.value.endswith("\n") or all(position < end for position, _, _ in self.pieces):
            return
        header = self.text[start : self.text.find("\n", start)].partition("#")[0]
        chomping = start + max(map(header.rfind, _BLOCK)) + 1
        for position, sign in enumerate(header[chomping - start :].strip(), start=chomping):
            if sign == "-":
                return
            if sign == "+":
                self.pieces.append((position, position + 1, "-"))
                return
        self.pieces.append((chomping, chomping, "-"))

    def change(self, document: YamlDocument, content: Any) -> None:
        """Record the replacements that give a document its new content; none if it is unchanged."""
        if document.content == content:
            return
        self.step, self.dash, self.gap = _indentation(document.node)
        self.becomes = dict(_node_values(document.node, content))
        in_flow = not _in_block(document.node)
        self._change(document.node, document.content, content, parent=0, in_flow=in_flow)

    def _change(self, node: yaml.Node, before: Any, after: Any, *, parent: int, in_flow: bool) -> None:
        """`parent` is the column of the mapping or list that contains the node."""
        if isinstance(node, Alias):
            if after != self._now(node):
                self._replace(node, after, parent, in_flow)
        elif before != after and not in_flow and self._can_be_opened(node, after) and _only_grows(before, after):
            self._put(node, parent, after, lambda column: self._block(after, column, node, before))
        elif isinstance(node, yaml.MappingNode) and isinstance(after, dict) and self._is_kept(node, before, after):
            self._change_mapping(node, before, after, in_flow or bool(node.flow_style))
        elif isinstance(node, yaml.SequenceNode) and isinstance(after, list) and self._is_kept(node, before, after):
            self._change_list(node, before, after, in_flow or bool(node.flow_style))
        elif not _equal(before, after):
            self._replace(node, after, parent, in_flow)

    def _change_mapping(self, node: yaml.MappingNode, before: Any, after: Any, in_flow: bool) -> None:
        column = self._column(self._start(node.value[0][0]))
        there = merged_in(node, self._now)
        kept = [is_merge_key(key) or key_of(key) in after for key, _ in node.value]
        self._remove([(self._start(key), value) for key, value in node.value], kept, in_flow)
        for key, value in node.value:
            if not is_merge_key(key) and (name := key_of(key)) in after:
                self._change(value, before[name], after[name], parent=column, in_flow=in_flow)
                there[name] = after[name]
        added = {name: value for name, value in after.items() if name not in there or there[name] != value}
        self._add(node, kept, added, column, in_flow)

    def _change_list(self, node: yaml.SequenceNode, before: Any, after: Any, in_flow: bool) -> None:
        column = self._column(self._dash(node.value[0]))
        places, added = _same_entries(before, after)
        kept = [place is not None for place in places]
        starts = [entry.start_mark.index if in_flow else self._dash(entry) for entry in node.value]
        self._remove(list(zip(starts, node.value, strict=True)), kept, in_flow)
        for index, (entry, place) in enumerate(zip(node.value, places, strict=True)):
            if place is not None:
                self._change(entry, before[index], after[place], parent=column, in_flow=in_flow)
        self._add(node, kept, added, column, in_flow)

    def _is_kept(self, node: yaml.CollectionNode, before: Any, after: Any) -> bool:
        """Whether a mapping or list keeps an entry, so that removed entries can be cut out of the text."""
        if not node.value or not after:
            return False
        if isinstance(after, dict):
            gone = [key for key, _ in node.value if not is_merge_key(key) and key_of(key) not in after]
            return len(gone) < len(node.value)
        places, _ = _same_entries(before, after)
        return any(place is not None for place in places)

    def _remove(self, parts: list[tuple[int, yaml.Node]], kept: list[bool], in_flow: bool) -> None:
        """Cut entries: in brackets, each with the comma before it; in block style, each with all of its lines."""
        first = kept.index(True)
        if in_flow:
            if first:
                self.pieces.append((parts[0][0], parts[first][0], ""))
            for number in range(first + 1, len(parts)):
                if not kept[number]:
                    begin, value = parts[number]
                    self.pieces.append((self._end(parts[number - 1][1]), max(begin, self._end(value)), ""))
            return
        start = parts[0][0]
        in_line = bool(self.text[self.text.rfind("\n", 0, start) + 1 : start].strip(" "))
        if first and in_line:
            # Text before the first entry, such as a dash, is kept before the first entry that stays.
            self.pieces.append((start, parts[first][0], ""))
        for (begin, value), stays in zip(
            parts[first if in_line else 0 :], kept[first if in_line else 0 :], strict=True
        ):
            if stays:
                continue
            self._cut(begin, max(begin, self._end(value)))
        self.gone |= {id(value) for (_, value), stays in zip(parts, kept, strict=True) if not stays}

    def _cut(self, begin: int, end: int) -> None:
        """Cut all lines from the line of `begin` to the line of `end`."""
        line = self.text.rfind("\n", 0, begin) + 1
        end = self.text.find("\n", end) + 1
        if not end:
            end, self.ends_open = len(self.text), True
        self.pieces.append((line, end, ""))

    def _start(self, key: yaml.Node) -> int:
        start: int = key.start_mark.index
        before = self.text[:start].rstrip(" ")
        return len(before) - 1 if before.endswith("?") else start

    def _dash(self, entry: yaml.Node) -> int:
        return self.text.rfind("-", 0, entry.start_mark.index)

    def _add(self, node: yaml.CollectionNode, kept: list[bool], added: Any, column: int, in_flow: bool) -> None:
        """Insert new entries after the last entry of a mapping or list that is kept."""
        if not added:
            return
        end = self._end_of_entry([entry for entry, stays in zip(node.value, kept, strict=True) if stays][-1])
        if in_flow:
            self.pieces.append((end, end, f", {entries(added)}"))
        else:
            self._add_lines(end, self._block(added, column))

    def _add_lines(self, position: int, lines: list[str]) -> None:
        end = self.text.find("\n", position)
        end = len(self.text) if end < 0 else end
        if end > position and self.text[end - 1] == "\r":
            end -= 1
        self.pieces.append((end, end, "".join(f"\n{line}" for line in lines)))

    def _replace(self, node: yaml.Node, after: Any, parent: int, in_flow: bool) -> None:
        start, end = node.start_mark.index, self._end(node)
        if not after and _in_block(node) and (key := _BEFORE_LINES.search(self.text, max(0, start - 4000), start)):
            behind = key.start() + 1
            self.pieces.append((behind, behind, "" if after is None else f" {scalar(after)}"))
            self._cut(start, end)
            return
        if in_flow or not isinstance(after, dict | list) or not after:
            quote = node.style if isinstance(node, yaml.ScalarNode) and node.style == '"' else None
            space = " " if start > 0 and self.text[start - 1] == ":" else ""
            self.pieces.append((start, end, space + scalar(after, quote)))
            return
        self._put(node, parent, after, lambda column: self._block(after, column, node))

    def _put(self, node: yaml.Node, parent: int, after: Any, lines_at: Callable[[int], list[str]]) -> None:
        """Replace a node in a block-style mapping or list by lines."""
        start, end = node.start_mark.index, self._end(node)
        before = self.text[:start].rstrip(" ")
        if before.endswith("-"):
            self.pieces.append((start, end, "\n".join(lines_at(node.start_mark.column)).lstrip(" ")))
            return
        self.pieces.append((len(before), end, ""))
        self._add_lines(end, lines_at(parent + (self.step if isinstance(after, dict) else self.dash)))

    def _can_be_opened(self, node: yaml.Node, after: Any) -> bool:
        """Whether a one-line flow collection can be rewritten in block style: additions would make that line long."""
        if not isinstance(node, yaml.CollectionNode) or not node.flow_style or not node.value or _merges(node):
            return False
        return isinstance(after, dict | list) and not set("\n#&*!") & set(self._written(node))

    def _written(self, node: yaml.Node) -> str:
        return self.text[node.start_mark.index : node.end_mark.index]

    def _now(self, node: yaml.Node) -> Any:
        """The value of an alias, or of the source of a merge, after all edits."""
        target = node.target if isinstance(node, Alias) else node
        return self.becomes[id(target)] if id(target) in self.becomes else value_of(target)

    def _block(self, value: Any, column: int, source: yaml.Node | None = None, opened: Any = None) -> list[str]:
        """The lines of a non-empty mapping or list.

        `source` is the node that it replaces, which may contain less: unchanged values are written as in `source`. If
        `source` is a flow collection that is opened, `opened` is its content: unchanged entries stay as written.
        """
        parts = {} if source is None else _parts(source)
        written: dict[Any, str] = {}
        if opened is not None and isinstance(source, yaml.MappingNode):
            written = {key_of(key): self._written(key) for key, _ in source.value}
            value = opened | value
        lines: list[str] = []
        in_list = isinstance(value, list)
        for key, inner in enumerate(value) if in_list else value.items():
            head = " " * column + ("-" if in_list else f"{written.get(key) or scalar(key)}:")
            part = parts.get(key)
            before = None if opened is None or part is None else opened[key]
            if opened is not None and part is not None and before == inner:
                lines.append(f"{head} {self._written(part)}".rstrip(" "))
            elif not isinstance(inner, dict | list) or not inner:
                lines.append(f"{head} {_same_plain(part, inner) or scalar(inner)}")
            elif in_list:
                below = self._block(inner, column + self.gap, part, before)
                lines += [head + " " * (self.gap - 1) + below[0].lstrip(" "), *below[1:]]
            else:
                step = self.step if isinstance(inner, dict) else self.dash
                lines += [head, *self._block(inner, column + step, part, before)]
        return lines

    def _column(self, position: int) -> int:
        return position - (self.text.rfind("\n", 0, position) + 1)

    def _end(self, node: yaml.Node) -> int:
        """The end offset of a node's own text, without the comments and empty lines after it."""
        end: int = node.end_mark.index
        if isinstance(node, Alias):
            return end
        if isinstance(node, yaml.ScalarNode):
            if node.style not in _BLOCK:
                return end
            start = node.start_mark.index
            header = self.text[start : self.text.find("\n", start)]
            if "+" in header.partition("#")[0] and self.text[end - 1] == "\n":
                return end - 1
            return start + len(self.text[start:end].rstrip())
        if not isinstance(node, yaml.CollectionNode) or node.flow_style or not node.value:
            return end
        kept = [one for one in node.value if id(one[1] if isinstance(one, tuple) else one) not in self.gone]
        return self._end_of_entry((kept or node.value)[-1])

    def _end_of_entry(self, entry: Any) -> int:
        return max(map(self._end, entry)) if isinstance(entry, tuple) else self._end(entry)


def _node_values(node: yaml.Node, after: Any) -> Iterator[tuple[int, Any]]:
    """The value of every node of a document after the edit, by the node's identity; aliases are left out."""
    if isinstance(node, Alias):
        return
    yield id(node), after
    if isinstance(node, yaml.MappingNode) and isinstance(after, Mapping):
        for key, value in node.value:
            if not is_merge_key(key) and key_of(key) in after:
                yield from _node_values(value, after[key_of(key)])
    elif isinstance(node, yaml.SequenceNode) and isinstance(after, list):
        places, _ = _same_entries([value_of(entry) for entry in node.value], after)
        for entry, place in zip(node.value, places, strict=True):
            if place is not None:
                yield from _node_values(entry, after[place])


def _equal(one: Any, other: Any) -> bool:
    """Whether two contents are equal to kubectl: in Python, True equals 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and (one is other or one == other)


def _parts(node: yaml.Node) -> dict[str | int, yaml.Node]:
    """The nodes in a mapping or list by key or index, including those from merge keys."""
    if isinstance(node, Alias):
        node = node.target
    if isinstance(node, yaml.SequenceNode):
        return dict(enumerate(node.value))
    if not isinstance(node, yaml.MappingNode):
        return {}
    parts: dict[str | int, yaml.Node] = {}
    for key, value in node.value:
        if is_merge_key(key):
            target = value.target if isinstance(value, Alias) else value
            for merged in reversed(target.value) if isinstance(target, yaml.SequenceNode) else [target]:
                parts |= _parts(merged)
    return parts | {key_of(key): value for key, value in node.value if not is_merge_key(key)}


def _same_plain(node: yaml.Node | None, value: Any) -> str | None:
    """The text of a one-line plain scalar that already has the value without a tag; None for any other node."""
    if isinstance(node, Alias):
        node = node.target
    if not isinstance(node, yaml.ScalarNode) or node.style or node.start_mark.line != node.end_mark.line:
        return None
    same = read_plain(node.value)[0] == node.tag and value_of(node) == value
    return node.value if same else None


def _merges(node: yaml.Node) -> bool:
    """Whether a node contains a merge key."""
    if isinstance(node, yaml.MappingNode):
        return any(is_merge_key(key) or _merges(value) for key, value in node.value)
    return isinstance(node, yaml.SequenceNode) and any(map(_merges, node.value))


def _indentation(root: yaml.Node) -> tuple[int, int, int]:
    """The document's indentation in columns: mappings below their key, dashes below their key, entries after a dash."""
    steps: dict[str, int] = {}
    queue = [root]
    while queue:
        node = queue.pop(0)
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if _in_block(value) and value.start_mark.line > key.start_mark.line:
                    steps.setdefault(value.id, value.start_mark.column - key.start_mark.column)
                queue.append(value)
        elif isinstance(node, yaml.SequenceNode):
            if _in_block(node) and _in_block(node.value[0]) and node.value[0].start_mark.line == node.start_mark.line:
                steps.setdefault("entry", node.value[0].start_mark.column - node.start_mark.column)
            queue += node.value
    return max(1, steps.get("mapping", 2)), max(0, steps.get("sequence", 0)), max(2, steps.get("entry", 2))


def _in_block(node: yaml.Node) -> bool:
    return isinstance(node, yaml.CollectionNode) and not node.flow_style and bool(node.value)


def _same_entries(before: list[Any], after: list[Any]) -> tuple[list[int | None], list[Any]]:
    """The new index of each old entry, or None if it was removed; and the new entries, which are all at the end.

    An entry is the same if its name is the same, or if its index is and the list lost no entry.
    """
    if len(before) > len(after):
        places = _places(list(map(_whole, before)), list(map(_whole, after)))
        if sum(place is not None for place in places) == len(after):
            return places, []
    named = list(map(_named, before)), list(map(_named, after))
    if len(before) <= len(after) and named[0] == named[1][: len(before)]:
        return list(range(len(before))), after[len(before) :]
    places = _places(*named)
    kept = [place for place in places if place is not None]
    if kept != list(range(len(kept))):
        # A new entry is between old ones: compare by index, up to the shorter list's end.
        return [place if place < len(after) else None for place in range(len(before))], after[len(before) :]
    return places, after[len(kept) :]


def _only_grows(before: Any, after: Any) -> bool:
    """Whether `after` still contains everything of `before`."""
    if isinstance(before, dict) and isinstance(after, dict):
        return all(key in after and _only_grows(value, after[key]) for key, value in before.items())
    if isinstance(before, list) and isinstance(after, list):
        places, _ = _same_entries(before, after)
        return places == list(range(len(before))) and all(map(_only_grows, before, after))
    return True


def _places(before: list[str], after: list[str]) -> list[int | None]:
    places: list[int | None] = [None] * len(before)
    for block in SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks():
        for step in range(block.size):
            places[block.a + step] = block.b + step
    return places


def _whole(entry: Any) -> str:
    return json.dumps(entry, sort_keys=True, default=str)


def _named(entry: Any) -> str:
    return _whole({key: entry[key] for key in _NAMES if key in entry} if isinstance(entry, dict) else entry)
